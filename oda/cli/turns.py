"""`oda turns`: the state of turns, for operators; works while a server is running."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from oda.agent.resume import text_of
from oda.cli.exit_code import ExitCode
from oda.cli.listing import print_lines
from oda.cli.narration import excerpt, message_of, notes_of, printable, question_of
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.context import OdaContext
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.settings import Settings
from oda.tools.ledger import CallRecord, SqlToolLedger
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnStatus
from oda.turn.rows import StoredTurn
from oda.turn.store import TurnStore

_LAST_ENTRIES = 20
_CANCEL_WITHIN_S = 20.0
_UNKNOWN = "OUTCOME UNKNOWN: it may or may not have happened; check before you repeat it"


@dataclass(frozen=True)
class _Details:
    """All that is known of a turn."""

    stored: StoredTurn
    calls: Mapping[str, CallRecord]
    entries: Sequence[Entry]
    """The last ones."""


def list_turns(
    *,
    app: str | None,
    user: str | None,
    session_id: str | None,
    status: TurnStatus | None,
    limit: int,
    as_json: bool,
) -> ExitCode:
    """Print the newest turns that match all given criteria.

    Raises:
        UnavailableError: the database cannot be reached.
    """

    async def find() -> Sequence[Turn]:
        async with open_database(load_settings(agents_dir=None).resolved_database_url) as database:
            with database.reaching():
                await upgrade(database.engine)
                return await TurnStore(database).find(
                    app=app, user_id=user, session_id=session_id, status=status, limit=limit
                )

    found = asyncio.run(find())
    if as_json:
        print(json.dumps({"turns": [turn.model_dump(mode="json") for turn in found]}, indent=2))
    elif found:
        print_lines(map(_line, found))
    else:
        print("no turns")
    return ExitCode.OK


def show_turn(turn_id: str, *, as_json: bool) -> ExitCode:
    """Print all data of a turn, first the tool calls whose outcome is unknown.

    Raises:
        TurnNotFoundError: it does not exist, or is no longer kept.
        UnavailableError: the database cannot be reached.
    """

    async def read() -> _Details:
        async with open_database(load_settings(agents_dir=None).resolved_database_url) as database:
            with database.reaching():
                await upgrade(database.engine)
                store = TurnStore(database)
                stored = await store.stored(turn_id)
                return _Details(
                    stored,
                    await SqlToolLedger(database, SystemClock()).of_turn(turn_id),
                    await store.entries(turn_id, max(0, stored.last - _LAST_ENTRIES)),
                )

    details = asyncio.run(read())
    if as_json:
        print(json.dumps(_details_as_json(details), indent=2))
    else:
        print_lines(_detail_lines(details))
    return ExitCode.OK


def cancel_turn(turn_id: str, *, agents_dir: Path | None, as_json: bool) -> ExitCode:
    """Cancel a turn on whichever node it runs or waits; return `FAILED` if it does not end in time.

    Raises:
        TurnNotFoundError: it does not exist, or is no longer kept.
        ConfigurationError: a file or URL is invalid.
        UnavailableError: the database cannot be reached.
    """
    turn = asyncio.run(_cancel(load_settings(agents_dir=agents_dir), turn_id))
    if as_json:
        print(turn.model_dump_json(indent=2))
    elif turn.final:
        print(f"{turn.turn_id} is {turn.status}")
    else:
        print(f"{turn.turn_id} is asked to end, and is still {turn.status}")
    return ExitCode.OK if turn.final else ExitCode.FAILED


async def _cancel(settings: Settings, turn_id: str) -> Turn:
    async with OdaContext(settings) as oda:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_WITHIN_S):
                await oda.turns.cancel(turn_id)
        turn = await oda.turns.get(turn_id)
        await record_command(oda.database, "oda turns cancel", turn_id, user_id=turn.user_id)
        return turn


def _line(turn: Turn) -> str:
    said = excerpt(turn.error.message if turn.error else turn.reply)
    where = f"{turn.app}/{turn.user_id}/{turn.session_id}"
    line = f"{turn.turn_id}  {turn.created_at:%Y-%m-%d %H:%M:%S}  {turn.status:<13}  {where}"
    return f"{line}  {said}".rstrip()


def _detail_lines(details: _Details) -> Iterator[str | Text]:
    stored, turn = details.stored, details.stored.turn
    yield f"{turn.turn_id} is {turn.status}" + (
        ", and asked to end" if stored.cancel_requested and not turn.final else ""
    )
    yield f"  session   {turn.app}/{turn.user_id}/{turn.session_id}, agent {turn.agent}"
    times = {"created": turn.created_at, "started": turn.started_at, "finished": turn.finished_at}
    yield "  times     " + ", ".join(
        f"{word} {time:%Y-%m-%d %H:%M:%S}" for word, time in times.items() if time
    )
    yield f"  attempts  {turn.attempts}" + (
        f", {stored.recoveries} after the death of a process" if stored.recoveries else ""
    )
    used = turn.usage
    cost = f", {used.cost_usd:.6f} USD" if used.cost_usd is not None else ""
    yield f"  usage     {used.model_calls} model calls, {used.input_tokens} tokens in, " + (
        f"{used.output_tokens} out{cost}"
    )
    if turn.trace_id:
        yield f"  trace     {turn.trace_id}"
    if said := message_of(stored.input.message):
        yield f"  message   {said}"
    for asked in turn.pending_input:
        yield f"  waits     {question_of(asked)}"
    if turn.reply:
        yield f"  reply     {excerpt(turn.reply)}"
    if turn.error:
        yield f"  error     {turn.error.code}: {excerpt(turn.error.message)}"
    if details.calls:
        yield "tool calls"
        for call_id, call in details.calls.items():
            line = f"  {call.tool} ({call_id})  {_call_status(call)}"
            yield Text(printable(line), style="red") if call.status == "unknown" else line
    yield f"log (of {stored.last} entries)"
    for entry in details.entries:
        for line in _entry_lines(entry):
            yield f"  {entry.number:>5}  {line}"


def _call_status(call: CallRecord) -> str:
    status = _UNKNOWN if call.status == "unknown" else call.status
    again = f", started {call.runs} times" if call.runs > 1 else ""
    return f"{status}{again}" + (", idempotent" if call.idempotent else "")


def _entry_lines(entry: Entry) -> Iterator[str]:
    """Yield the lines that describe an entry; none for pieces of a text."""
    if isinstance(entry.data, Turn):
        yield f"{entry.data.status}, attempt {entry.data.attempts}"
    elif not entry.data.partial:
        yield from notes_of(entry.data)
        if text := text_of(entry.data):
            yield excerpt(f"{entry.data.author}: {text}")


def _details_as_json(details: _Details) -> dict[str, Any]:
    stored = details.stored
    return {
        **stored.turn.model_dump(mode="json"),
        "message": stored.input.message.model_dump(mode="json", by_alias=True, exclude_none=True),
        "recoveries": stored.recoveries,
        "cancel_requested": stored.cancel_requested,
        "tool_calls": [
            {"call_id": call_id, **asdict(call)} for call_id, call in details.calls.items()
        ],
        "last_entries": [
            {"id": entry.number, "event": entry.kind, "data": json.loads(entry.json)}
            for entry in details.entries
        ],
    }
