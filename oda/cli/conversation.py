"""One session, driven from the terminal's thread while its turns run on a loop of their own."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event

from oda.agent.outcome import outcome_of
from oda.agent.sync import iterate
from oda.cli.exit_code import ExitCode
from oda.cli.terminal import end_process
from oda.context import OdaContext
from oda.message.content import Message
from oda.session.manager import DEFAULT_USER
from oda.session.oda_session import OdaSession
from oda.settings import Settings

Answer = tuple[str, bool | None, Any]
"""The id of what was asked; whether it is confirmed; what is answered."""


class Conversation:
    """Sends messages and yields what comes of them."""

    def __init__(
        self, oda: OdaContext, session: OdaSession, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._oda = oda
        self._session = session
        self._loop = loop

    @property
    def session_id(self) -> str:
        return self._session.session_id

    def say(self, message: Message, *, show: Callable[[Event], None], stream: bool) -> list[Event]:
        """Run one turn, show its events as they come, and return those that are complete.

        Ctrl-C cancels the turn. A second one ends the process, which a turn survives as it does a
        crash.

        Raises:
            InvalidRequestError: the message is empty.
        """
        config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        events: list[Event] = []
        with _interrupts(self._cancel):
            for event in iterate(
                lambda: self._session.stream(message, run_config=config), self._loop
            ):
                show(event)
                if not event.partial:
                    events.append(event)
        return events

    def answer(self, answers: Sequence[Answer]) -> Message:
        """The message that answers what a turn asked.

        Raises:
            ConflictError: nothing waits for one of these answers.
        """
        message: Message = self._oda.call(self._session.answer, answers)
        return message

    def pending(self) -> Sequence[dict[str, Any]]:
        """What the session's last turn asked and nobody has answered: `{id, name, args}`."""
        history: list[Event] = self._oda.call(self._session.history)
        last = history[-1].invocation_id if history else None
        return outcome_of(e for e in history if e.invocation_id == last).pending_input

    def _cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._session.cancel)


@contextmanager
def open_conversation(
    settings: Settings, agent: str, *, user: str | None, session_id: str | None
) -> Iterator[Conversation]:
    """Open the context and a session of the agent, new or known.

    Raises:
        ConfigurationError: a file or URL is wrong, or a model's key is missing.
        UnavailableError: the database cannot be reached.
        AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
        InvalidRequestError: the user or the session id is not allowed.
    """
    with OdaContext(settings) as oda:
        oda.call(oda.warm_up, [agent])
        session = oda.session_sync(agent, user or DEFAULT_USER, session_id)
        yield Conversation(oda, session, oda.call(asyncio.get_running_loop))


@contextmanager
def _interrupts(first: Callable[[], None]) -> Iterator[None]:
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
