"""`OdaAgent`: one ADK Runner bound to one session, with retry, resume and cancel."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing
from typing import Any, Literal

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner

from oda.agent.history import piles_up_summaries
from oda.agent.limits import TurnLimits
from oda.agent.retry import RetryPolicy
from oda.agent.runner import bound_runner
from oda.agent.running_turn import RunningTurn, TurnRequest
from oda.agent.sync import iterate
from oda.agent.turn_loop import TurnLoop
from oda.clock import Clock, SystemClock
from oda.errors import AgentStateError, SessionBusyError
from oda.loop import running_loop
from oda.message.content import Message, to_content
from oda.tools.ledger import ToolLedger
from oda.tools.limits import ToolLimits

Status = Literal["initializing", "ready", "running", "retrying", "failed", "closing", "closed"]

RECENT_EVENTS = 100
"""How many stored events a turn loads by default; the running turn is never cut."""


class CancelReceipt:
    """What `cancel` did. Await it to know that the turn has ended and the session is clean."""

    def __init__(self, cancelled: bool, ended: asyncio.Event | None) -> None:
        self.cancelled = cancelled
        """Whether a turn was running."""
        self._ended = ended

    def __bool__(self) -> bool:
        return self.cancelled

    def __await__(self) -> Generator[Any, None, bool]:
        return self._wait().__await__()

    async def _wait(self) -> bool:
        if self._ended is not None:
            await self._ended.wait()
        return self.cancelled


class OdaAgent:
    """Runs the turns of one session, one at a time.

    The generators end with an answer or with exactly one escalating error event; a turn's failure
    is never raised. The Runner belongs to the caller, `cleanup` does not close it.

    Args:
        runner: An ADK Runner; two plugins of ours are added to it.
        app_name, user_id, session_id: The session, which must exist.
        max_retries: Retries after a turn's first attempt, when no `policy` is given.
        policy: When to retry and how long to wait.
        limits: What one turn may use up.
        recent_events: How many stored events a turn loads, more where ADK's compaction has left
            more; None for all.
        tool_limits: What a tool call may take.
        ledger: Where tool calls are recorded, so that after a crash it is known what has run.
        clock: Time and sleep, replaceable in tests.
        on_cleanup: Awaited once by `cleanup`.
    """

    def __init__(
        self,
        runner: AdkRunner,
        app_name: str,
        user_id: str,
        session_id: str,
        max_retries: int = 3,
        *,
        policy: RetryPolicy | None = None,
        limits: TurnLimits | None = None,
        recent_events: int | None = RECENT_EVENTS,
        tool_limits: ToolLimits | None = None,
        ledger: ToolLedger | None = None,
        clock: Clock | None = None,
        on_cleanup: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.runner = runner
        self.app_name = app_name
        self.user_id = user_id
        self.session_id = session_id
        self.policy = policy or RetryPolicy(max_retries=max_retries)
        self.limits = limits or TurnLimits()
        self.recent_events = None if piles_up_summaries(runner) else recent_events
        self._loop = TurnLoop(
            bound_runner(runner, user_id, session_id, self.recent_events, tool_limits),
            self.policy,
            self.limits,
            clock or SystemClock(),
            ledger,
        )
        self._on_cleanup = on_cleanup
        self._turn: RunningTurn | None = None
        self._last_turn: RunningTurn | None = None
        self._home = running_loop()
        self._life: Literal["open", "closing", "closed"] = "open"

    # --- turns

    def run_async(
        self,
        new_message: Message,
        *,
        invocation_id: str | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        limits: TurnLimits | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one turn and yield its ADK events.

        Args:
            new_message: A text or an ADK content.
            invocation_id: The turn's name in the session, by default a new one. A turn that was
                begun under this name goes on, and its message is stored once.
            state_delta: State changes that are stored with the message.
            run_config: ADK's own; for partial texts set its `streaming_mode`.
            limits: Instead of the agent's.

        Raises:
            InvalidRequestError: the message is empty.
            SessionBusyError: a turn is running.
            AgentStateError: the agent is closed.
        """
        return self.run_turn(
            TurnRequest(
                to_content(new_message),
                turn_id=invocation_id,
                state_delta=state_delta,
                run_config=run_config or RunConfig(),
                limits=limits,
            )
        )

    def resume(
        self,
        invocation_id: str,
        *,
        run_config: RunConfig | None = None,
        limits: TurnLimits | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Go on with a turn that was interrupted, by a crash for example, to its answer.

        Raises: as `run_async`.
        """
        return self.run_turn(
            TurnRequest(turn_id=invocation_id, run_config=run_config or RunConfig(), limits=limits)
        )

    async def run_turn(self, request: TurnRequest) -> AsyncGenerator[Event, None]:
        """Run one turn and yield its ADK events.

        Raises: as `run_async`.
        """
        self._refuse_unless_idle()
        turn = self._turn = self._last_turn = self._loop.start(request)
        try:
            async with aclosing(self._loop.events(turn)) as events:
                async for event in events:
                    yield event
        finally:
            self._turn = None
            turn.ended.set()

    def run(self, new_message: Message) -> Iterator[Event]:
        """`run_async` for callers without an event loop.

        The turn runs on the loop that the agent was made on, if that runs in another thread, else
        on a loop of its own.
        """
        return iterate(lambda: self.run_async(new_message), self._home)

    def cancel(self) -> CancelReceipt:
        """End the running turn, also while it waits to retry; harmless when none is running.

        Calls without a result are sealed as cancelled, and the turn's last event is an escalating
        `CANCELLED`. The result may be awaited.
        """
        if self._turn is None:
            return CancelReceipt(False, None)
        self._turn.cancel()
        return CancelReceipt(True, self._turn.ended)

    # --- life

    @property
    def agent_name(self) -> str:
        return str(getattr(self.runner.agent, "name", self.app_name))

    @property
    def status(self) -> Status:
        if self._life != "open":
            return self._life
        return "ready" if self._turn is None else self._turn.phase

    def is_ready(self) -> bool:
        """Whether a new message would be taken now."""
        return self.status == "ready"

    def get_agent_info(self) -> dict[str, Any]:
        """What the agent is and does, as plain data."""
        turn = self._last_turn
        return {
            "app_name": self.app_name,
            "user_id": self.user_id,
            "session_id": self.session_id,
            "agent_name": self.agent_name,
            "status": self.status,
            "max_retries": self.policy.max_retries,
            "retry_count": turn.retries if turn else 0,
            "invocation_id": turn.turn_id if turn else None,
            "last_error": turn.failure.message if turn and turn.failure else None,
        }

    def reset(self) -> None:
        """Forget the last turn's retries and error.

        Raises:
            SessionBusyError: a turn is running; cancel it first.
            AgentStateError: the agent is closed.
        """
        self._refuse_unless_idle()
        self._last_turn = None

    async def cleanup(self) -> None:
        """Cancel the running turn, wait for its end, and close for good. Idempotent."""
        if self._life != "open":
            return
        receipt = self.cancel()
        self._life = "closing"
        await receipt
        if self._on_cleanup is not None:
            await self._on_cleanup()
        self._life = "closed"

    @property
    def last_turn(self) -> RunningTurn | None:
        """The running turn, or the one before."""
        return self._last_turn

    def _refuse_unless_idle(self) -> None:
        if self._life != "open":
            raise AgentStateError(
                f"The agent of session {self.session_id!r} is {self._life}.",
                remedy="get a new one from the OdaAgentManager",
            )
        if self._turn is not None:
            raise SessionBusyError(
                f"A turn is running in session {self.session_id!r}.",
                remedy="wait for its end, or cancel it",
            )
