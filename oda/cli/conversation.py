"""One session, driven from the terminal's thread while its turns run on a loop of their own."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TypeAlias, cast

from google.adk.events import Event
from pydantic import JsonValue

from oda.agent.document_app import DocumentApp
from oda.agent.model.unconfigured import NOT_CONFIGURED
from oda.agent.outcome import OpenQuestion, Outcome, TurnOutcome, outcome_of
from oda.agent.threads import iterate
from oda.cli.exit_code import ExitCode
from oda.cli.screen import Screen
from oda.cli.state_diff import Change, changes
from oda.cli.terminal import end_process
from oda.context import OdaContext
from oda.errors import OdaError, TurnNotFoundError
from oda.identity.principal import DEFAULT_USER
from oda.message.content import Message, to_content
from oda.message.storable import storable
from oda.session.answers import Answer
from oda.session.oda_session import OdaSession
from oda.settings import Settings
from oda.turn.record import Turn
from oda.turn.rows import StoredTurn
from oda.turn.submission import Submission

_LOOK_AROUND_S = 1.0
"""How long nothing may come of a turn before we look whether one that it waits for is orphaned."""

Position: TypeAlias = tuple[str, int]
"""A turn, and the number of the last entry of its log that is not to be shown."""


@dataclass(frozen=True)
class Ended:
    """A turn that has ended or waits for a person, and its complete events that were shown."""

    turn: Turn
    events: Sequence[Event]
    changes: Mapping[str, Sequence[Change]]
    """Changes of the app's documents, by their keys."""

    @property
    def needs_model(self) -> bool:
        """Whether the reply only says that no model is configured."""
        return any(event.custom_metadata == NOT_CONFIGURED for event in self.events)

    @property
    def outcome(self) -> TurnOutcome:
        error = self.turn.error.model_dump() if self.turn.error else None
        status = cast(Outcome, self.turn.status)
        return TurnOutcome(status, self.turn.reply, error, tuple(self.turn.pending_input))


class Conversation:
    """Submits messages as turns and shows their events.

    While a turn is shown, Ctrl-C cancels it. A second Ctrl-C ends the process; the turn survives
    that as it does a crash, and resumes when the session is next opened.
    """

    def __init__(
        self,
        oda: OdaContext,
        session: OdaSession,
        loop: asyncio.AbstractEventLoop,
        screen: Screen,
    ) -> None:
        self._oda = oda
        self._session = session
        self._loop = loop
        self._screen = screen

    @property
    def session_id(self) -> str:
        return self._session.session_id

    def say(self, message: Message, *, stream: bool) -> Ended:
        """Run a turn to its end.

        Raises:
            InvalidRequestError: the message is empty.
            OverloadedError: too many turns wait in the session.
        """
        submission = Submission(to_content(message), stream_tokens=stream)

        async def begin() -> Position:
            return (await self._oda.turns.submit(self._session, submission)).turn.turn_id, 0

        return self._show(begin)

    def answer(self, turn_id: str, answers: Sequence[Answer]) -> Ended:
        """Go on with a turn that waits for these answers.

        Raises:
            ConflictError: it does not wait for them, or not any more.
            TurnNotFoundError: it has been deleted.
        """

        async def begin() -> Position:
            return turn_id, await self._oda.turns.answer(turn_id, answers)

        return self._show(begin)

    def follow(self, unfinished: StoredTurn) -> Ended:
        """Wait for a turn that another process has begun, and go on with it if that is dead."""

        async def begin() -> Position:
            return unfinished.turn.turn_id, unfinished.last

        return self._show(begin)

    def file_names(self) -> list[str]:
        """The names of the session's files, those of the user's other sessions included."""
        return [info.name for info in self._oda.call(self._session.artifacts.list)]

    def file(self, name: str) -> bytes:
        """The newest content of a file.

        Raises:
            ArtifactNotFoundError: there is none of that name.
        """
        content: bytes = self._oda.call(self._session.artifacts.load, name).data
        return content

    def unfinished(self) -> Sequence[StoredTurn]:
        """The session's turns that have not ended, those that wait for a person included."""
        found: Sequence[StoredTurn] = self._oda.call(self._oda.turns.unfinished, self._session)
        return found

    def asked_outside_of_turns(self) -> Sequence[OpenQuestion]:
        """Return the open questions of a host application's last message to the session."""
        history: list[Event] = self._oda.call(self._session.history)
        if not history:
            return ()
        last = history[-1].invocation_id
        with suppress(TurnNotFoundError):
            self._oda.call(self._oda.turns.get, last)
            return ()
        return outcome_of(e for e in history if e.invocation_id == last).pending_input

    def answer_outside_of_turns(self, answers: Sequence[Answer], *, stream: bool) -> Ended:
        """Answer the questions `asked_outside_of_turns`; this starts a turn.

        Raises:
            ConflictError: one of the answers matches no open question.
        """
        return self.say(self._oda.call(self._session.answer, answers), stream=stream)

    # --- inside

    def _show(self, begin: Callable[[], Awaitable[Position]]) -> Ended:
        stop = asyncio.Event()
        events: list[Event] = []
        turn: Turn | None = None
        before = self._documents()
        with _interrupts(lambda: self._loop.call_soon_threadsafe(stop.set)):
            for news in iterate(lambda: self._news(begin, stop), self._loop):
                if isinstance(news, Turn):
                    turn = news
                elif isinstance(news, str):
                    self._screen.note(news)
                else:
                    self._screen.show(news)
                    if not news.partial:
                        events.append(news)
        assert turn is not None
        after = self._documents()
        changed = {key: changes(before[key], after[key]) for key in before if key in after}
        ended = Ended(turn, events, changed)
        self._screen.end(ended.outcome)
        return ended

    def _documents(self) -> dict[str, JsonValue]:
        """The documents of the app as they are stored now; none while they cannot be read."""
        app = self._oda.definitions.get(self._session.app_name).app
        if not isinstance(app, DocumentApp):
            return {}
        try:
            self._oda.call(self._session.refresh)
        except OdaError:
            return {}
        state = self._session.state
        return {key: app.to_show(storable(state.get(key))) for key in app.documents}

    async def _news(
        self, begin: Callable[[], Awaitable[Position]], stop: asyncio.Event
    ) -> AsyncGenerator[Event | Turn | str, None]:
        """Events of a turn, and lines about others; at last its record."""
        turns = self._oda.turns
        for line in await self._take_over():
            yield line
        turn_id, after = await begin()

        async def cancel_at_stop() -> None:
            await stop.wait()
            await turns.cancel(turn_id)

        cancelling = asyncio.create_task(cancel_at_stop())
        try:
            follower = turns.follow(turn_id, after, previews=True)
            while not follower.ended:
                entries = await follower.read(_LOOK_AROUND_S)
                for entry in entries:
                    if isinstance(entry.data, Event):
                        yield entry.data
                if not entries:
                    for line in await self._take_over():
                        yield line
        finally:
            cancelling.cancel()
            await asyncio.wait([cancelling])
        if not cancelling.cancelled():
            cancelling.result()
        yield await turns.get(turn_id)

    async def _take_over(self) -> Sequence[str]:
        """Go on with the session's turns that were cut off, and say so."""
        taken = await self._oda.turns.recover_session(self._session)
        return ["a turn of this session was cut off; going on with it" for _ in taken]


@contextmanager
def open_conversation(
    settings: Settings, agent: str, screen: Screen, *, user: str | None, session_id: str | None
) -> Iterator[Conversation]:
    """Open the context and a session of the agent, new or known.

    Raises:
        ConfigurationError: a file or URL is wrong, or a model's key is missing.
        UnavailableError: the database cannot be reached.
        AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
        InvalidRequestError: the user or the session id is not allowed.
    """
    with OdaContext(settings) as oda:
        oda.call(oda.turns.start)  # or refuse at once
        oda.call(oda.warm_up, [agent])
        session = oda.session_sync(agent, user or DEFAULT_USER, session_id)
        yield Conversation(oda, session, oda.call(asyncio.get_running_loop), screen)


@contextmanager
def _interrupts(first: Callable[[], object]) -> Iterator[None]:
    """Let the first Ctrl-C call `first`, and the second one end the process, whatever is stuck."""

    def again(_signal: int, _frame: FrameType | None) -> None:
        print()
        end_process(ExitCode.INTERRUPTED)

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, again)
        first()

    previous = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
