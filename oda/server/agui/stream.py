"""The events of a run, at the pace of their reader."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from ag_ui.core.events import BaseEvent, MessagesSnapshotEvent, RunErrorEvent
from ag_ui.core.types import Message, ToolMessage
from ag_ui.encoder import EventEncoder
from google.adk.events import Event
from pydantic_core import to_json
from sqlalchemy.exc import SQLAlchemyError

from oda.context import OdaContext
from oda.errors import OdaError, TurnNotFoundError
from oda.message.protocol.steps import ASKS_A_PERSON
from oda.server.agui.encoder import RunEncoder, with_messages
from oda.server.agui.run import METADATA, Run
from oda.server.agui.transcript import user_message
from oda.telemetry import get_logger
from oda.turn.log import Entry, Preview
from oda.turn.record import Turn

log = get_logger(__name__)

_HEARTBEAT = b": keep-alive\n\n"
_UNEXPECTED = "Something unexpected went wrong."


async def sent(oda: OdaContext, run: Run) -> AsyncIterator[bytes]:
    """Yield the events of a run as server-sent events."""
    encoder = EventEncoder()
    try:
        async with aclosing(_Told(oda, run).events()) as told:
            async for events in told:
                yield "".join(map(encoder.encode, events)).encode() or _HEARTBEAT
    except OdaError as error:
        yield encoder.encode(RunErrorEvent(message=error.message, code=error.code)).encode()
    except SQLAlchemyError as error:
        log.error("database_failed", turn_id=run.turn.turn_id, reason=type(error).__name__)
        message = "The database cannot be reached; repeat the run."
        yield encoder.encode(RunErrorEvent(message=message, code="unavailable")).encode()
    except Exception as error:
        log.error("run_not_told", turn_id=run.turn.turn_id, exc_info=error)
        yield encoder.encode(RunErrorEvent(message=_UNEXPECTED, code="internal_error")).encode()


class _Told:
    """Reads the log of a run's turn, and what its events need besides."""

    def __init__(self, oda: OdaContext, run: Run) -> None:
        self._oda = oda
        self._run = run
        self._turn_id = run.turn.turn_id
        self._encoder = RunEncoder(
            run.thread_id, run.run_id, self._turn_id, begins_after=run.begins_after
        )
        self._has_state = False
        self._told: set[str] = set()
        """Ids of the turn's events before this run."""

    async def events(self) -> AsyncGenerator[Sequence[BaseEvent], None]:
        """Yield events that have arrived; none is a heartbeat."""
        yield [self._encoder.start()]
        follower = self._oda.turns.follow(self._turn_id, previews=True)
        turn: Turn | None = None
        while not follower.ended:
            entries = await follower.read()
            if not entries:
                yield []
            for entry in entries:
                if isinstance(entry.data, Turn):
                    turn = entry.data
                elif entry.number is not None and entry.number <= self._run.begins_after:
                    self._told.add(entry.data.id)
                if events := await self._of(entry):
                    yield events
        if turn is None or not turn.ended:
            turn = await self._oda.turns.get(self._turn_id)
        if not self._has_state:
            yield [await self._snapshot(turn)]
        yield self._encoder.finish(turn)

    async def _of(self, entry: Entry | Preview) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if not self._has_state and _is_work(entry, self._run.begins_after):
            turn = entry.data if isinstance(entry.data, Turn) else self._run.turn
            events.append(await self._snapshot(turn))
        new = self._encoder.feed(entry)
        if any(isinstance(event, MessagesSnapshotEvent) for event in new):
            before, results = await messages_before(self._oda, self._run)
            new = [*with_messages(new, before, self._encoder.transcript, results)]
        return [*events, *new]

    async def _snapshot(self, turn: Turn) -> BaseEvent:
        self._has_state = True
        state = await self._run.session.state_of_run(
            self._turn_id, told=self._told, given=self._run.state_delta, is_final=turn.final
        )
        return self._encoder.snapshot(state)


def _is_work(entry: Entry | Preview, begins_after: int) -> bool:
    """Return whether a run does not wait in a queue any more."""
    if entry.number is not None and entry.number <= begins_after:
        return False
    return not (isinstance(entry.data, Turn) and entry.data.status == "queued")


async def messages_before(
    oda: OdaContext, run: Run
) -> tuple[list[Message], dict[str, ToolMessage]]:
    """Return a conversation up to the message of a run's turn, and the results of client tools."""
    messages: list[Message] = []
    results: dict[str, ToolMessage] = {}
    told: set[str] = set()
    history = await run.session.history()
    for event in history:
        turn_id = event.invocation_id
        if event.author == "user":
            results |= _results(event)
            message_id = await _message_id(oda, turn_id)
            if (said := user_message(message_id or event.id, event.content)) is not None:
                messages.append(said)
        elif turn_id not in told:
            told.add(turn_id)
            if turn_id != run.turn.turn_id:
                mine = [one for one in history if one.invocation_id == turn_id]
                messages += await _messages_of(oda, turn_id, mine)
    return messages, results


async def _messages_of(oda: OdaContext, turn_id: str, events: Sequence[Event]) -> Sequence[Message]:
    """Return what the agents have said in an earlier turn, by its log while that is kept."""
    results: dict[str, ToolMessage] = {}
    for event in events:
        results |= _results(event)
    entries: Sequence[Entry] = await oda.turns.entries(turn_id) or [
        Entry.of(number, "event", event)
        for number, event in enumerate(events, 1)
        if event.author != "user"
    ]
    encoder = RunEncoder("", "", turn_id)
    for entry in entries:
        encoder.feed(entry)
    return encoder.transcript.messages(results)


async def _message_id(oda: OdaContext, turn_id: str) -> str | None:
    """Return the id that an AG-UI client has given to the message of a turn."""
    try:
        turn = await oda.turns.get(turn_id)
    except TurnNotFoundError:
        return None
    begun = turn.metadata.get(METADATA)
    given: Any = begun.get("message_id") if isinstance(begun, dict) else None
    return given if isinstance(given, str) and given else None


def _results(event: Event) -> dict[str, ToolMessage]:
    """Return what the client's tools have returned, by the ids of the calls."""
    if event.author != "user":
        return {}
    return {
        response.id: ToolMessage(
            id=f"{response.id}:result",
            tool_call_id=response.id,
            content=to_json(response.response).decode(),
        )
        for response in event.get_function_responses()
        if response.id and not (response.name or "").startswith(ASKS_A_PERSON)
    }
