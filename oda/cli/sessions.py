"""`oda sessions`: conversations as they are stored; no agent is loaded to look at them."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import typer
from google.adk.events import Event
from google.adk.sessions import Session

from oda.agent.resume import text_of
from oda.cli.exit_code import ExitCode
from oda.cli.listing import print_lines
from oda.cli.narration import excerpt, notes_of
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.context import OdaContext
from oda.errors import InvalidRequestError, SessionBusyError, SessionNotFoundError
from oda.identity.principal import DEFAULT_USER
from oda.session.past_state import META
from oda.session.state import visible
from oda.settings import Settings

T = TypeVar("T")

_LAST_EVENTS = 10
_CANCEL_WITHIN_S = 20.0


def list_sessions(app: str, *, user: str | None, as_json: bool) -> ExitCode:
    """Print the sessions of an app, of one user or of all, the newest first.

    Raises:
        ConfigurationError: a file or URL is wrong.
        UnavailableError: the database cannot be reached.
    """

    async def find(oda: OdaContext) -> Sequence[Session]:
        service = oda.services.session
        with oda.database.reaching():
            found = (await service.list_sessions(app_name=app, user_id=user)).sessions
        return sorted(found, key=lambda session: -session.last_update_time)

    sessions = _with_context(load_settings(agents_dir=None), find)
    if as_json:
        print(json.dumps({"sessions": [_summary(session) for session in sessions]}, indent=2))
    elif sessions:
        print_lines(_line(_summary(session)) for session in sessions)
    else:
        print("no sessions")
    return ExitCode.OK


def show_session(app: str, session_id: str, *, user: str | None, as_json: bool) -> ExitCode:
    """Print the state of a session and its latest messages.

    Raises:
        SessionNotFoundError: the user has no such session.
        ConfigurationError: a file or URL is invalid.
        UnavailableError: the database cannot be reached.
    """
    session = _with_context(
        load_settings(agents_dir=None), lambda oda: _stored(oda, app, user, session_id)
    )
    if as_json:
        print(json.dumps(_details(session), indent=2))
    else:
        print_lines(_detail_lines(session))
    return ExitCode.OK


def delete_session(
    app: str,
    session_id: str,
    *,
    user: str | None,
    agents_dir: Path | None,
    sure: bool,
    as_json: bool,
) -> ExitCode:
    """Delete a session with its turns and files; cancel its running turns first.

    Raises:
        InvalidRequestError: confirmation is needed, and the terminal is not interactive.
        SessionNotFoundError: the user has no such session.
        AgentNotFoundError, AgentLoadError: its app does not exist any more, or is broken.
        SessionBusyError: one of its turns does not end.
    """
    settings = load_settings(agents_dir=agents_dir)
    stored = _with_context(settings, lambda oda: _stored(oda, app, user, session_id))
    if not sure and not _confirmed(_summary(stored)):
        print("nothing is deleted", file=sys.stderr)
        return ExitCode.CANCELLED

    _with_context(settings, lambda oda: _delete(oda, stored))
    print(json.dumps({"deleted": session_id}) if as_json else f"session {session_id} is deleted")
    return ExitCode.OK


async def _stored(oda: OdaContext, app: str, user: str | None, session_id: str) -> Session:
    user = user or DEFAULT_USER
    service = oda.services.session
    with oda.database.reaching():
        found = await service.get_session(app_name=app, user_id=user, session_id=session_id)
    if found is None:
        raise SessionNotFoundError(
            f"There is no session {session_id!r} of {user!r} with {app!r}.",
            remedy="see `oda sessions list`; --user says whose it is",
        )
    return found


async def _delete(oda: OdaContext, stored: Session) -> None:
    key = stored.app_name, stored.user_id, stored.id
    session = await oda.sessions.get(*key)
    try:
        async with asyncio.timeout(_CANCEL_WITHIN_S):
            await oda.turns.cancel_all(session)
    except TimeoutError as error:
        raise SessionBusyError(
            "A turn of this session is asked to end, and does not.",
            remedy="try again when it has, see `oda turns list`",
        ) from error
    await oda.delete_session(session)
    await record_command(
        oda.database, "oda sessions delete", "/".join(key), user_id=session.user_id
    )


def _confirmed(summary: dict[str, Any]) -> bool:
    if not sys.stdin.isatty():
        raise InvalidRequestError(
            "Deleting a session cannot be undone, and nobody is here to confirm it.",
            remedy="add --yes",
        )
    return typer.confirm(
        f"Delete the session {summary['session_id']} of {summary['user_id']} "
        f"with {summary['turns']} turns?"
    )


def _with_context(settings: Settings, work: Callable[[OdaContext], Awaitable[T]]) -> T:
    async def run() -> T:
        async with OdaContext(settings) as oda:
            return await work(oda)

    return asyncio.run(run())


def _summary(session: Session) -> dict[str, Any]:
    meta = session.state.get(META) or {}
    return {
        "app": session.app_name,
        "user_id": session.user_id,
        "session_id": session.id,
        "turns": int(meta.get("turns") or 0),
        "updated_at": datetime.fromtimestamp(session.last_update_time, UTC).isoformat(),
    }


def _details(session: Session) -> dict[str, Any]:
    return {
        **_summary(session),
        "state_keys": sorted(visible(session.state)),
        "events": len(session.events),
        "last_events": [
            event.model_dump(mode="json", by_alias=True, exclude_none=True)
            for event in session.events[-_LAST_EVENTS:]
        ],
    }


def _line(summary: dict[str, Any]) -> str:
    updated = datetime.fromisoformat(summary["updated_at"])
    return (
        f"{summary['session_id']}  {updated:%Y-%m-%d %H:%M:%S}  {summary['user_id']}  "
        f"{summary['turns']} turns"
    )


def _detail_lines(session: Session) -> Iterator[str]:
    yield _line(_summary(session))
    yield f"  state   {', '.join(sorted(visible(session.state))) or 'nothing'}"
    yield f"  events  {len(session.events)}"
    for event in session.events[-_LAST_EVENTS:]:
        for line in _event_lines(event):
            yield f"    {line}"


def _event_lines(event: Event) -> Iterator[str]:
    yield from notes_of(event)
    if text := text_of(event):
        yield excerpt(f"{event.author}: {text}")
