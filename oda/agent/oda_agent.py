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
from oda.agent.threads import iterate
from oda.agent.turn_loop import TurnLoop
from oda.clock import Clock, SystemClock
from oda.errors import AgentStateError, SessionBusyError
from oda.loop import running_loop
from oda.message.content import Message, to_content
from oda.tools.ledger import ToolLedger
from oda.tools.limits import ToolLimits

Status = Literal["initializing", "ready", "running", "retrying", "failed", "closing", "closed"]

RECENT_EVENTS = 100
"""Number of stored events a turn loads by default; more if the turn itself has more."""


class CancelReceipt:
    """Result of `cancel`. Await it to wait until the turn has ended and its calls are sealed."""

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
    is never raised. The caller owns the Runner; `cleanup` does not close it.

    Args:
        runner: An ADK Runner; ODA adds two plugins to it.
        app_name, user_id, session_id: The session, which must exist.
        max_retries: Retries after a turn's first attempt, if no `policy` is given.
        policy: When to retry and how long to wait.
        limits: Limits of a turn.
        recent_events: Number of stored events a turn loads, more if ADK's compaction needs them;
            None for all.
        tool_limits: Limits of tool calls.
        ledger: Records tool calls, so that it is known after a crash which ones ran.
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
        self._clock = clock or SystemClock()
        self._tool_limits = tool_limits
        self._ledger = ledger
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
            new_message: Text or ADK content.
            invocation_id: The turn's id in the session; by default a new one. A turn that has
                already begun under this id is resumed, and its message is stored only once.
            state_delta: State changes to store with the message.
            run_config: ADK's run configuration; its `streaming_mode` enables partial text.
            limits: Limits of the turn; by default the agent's.

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
        """Resume an interrupted turn, for example after a crash, and yield its remaining events.

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
        loop = TurnLoop(
            bound_runner(
                self.runner, self.user_id, self.session_id, self.recent_events, self._tool_limits
            ),
            self.policy,
            self.limits,
            self._clock,
            self._ledger,
        )
        turn = self._turn = self._last_turn = loop.start(request)
        try:
            async with aclosing(loop.events(turn)) as events:
                async for event in events:
                    yield event
        finally:
            self._turn = None
            turn.ended.set()

    def run(self, new_message: Message) -> Iterator[Event]:
        """Blocking version of `run_async`, for callers without an event loop.

        The turn runs on the event loop that created the agent, if that loop runs in another thread,
        else on a new one.
        """
        return iterate(lambda: self.run_async(new_message), self._home)

    def cancel(self) -> CancelReceipt:
        """End the running turn, if any, even while it waits for a retry.

        Open calls are sealed as cancelled, and the turn's last event is an escalating `CANCELLED`.
        Await the receipt to wait for the end of the turn.
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
        """Return whether a new message would be accepted now."""
        return self.status == "ready"

    def get_agent_info(self) -> dict[str, Any]:
        """Return the agent's session, status and last turn as plain data."""
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
        """Clear the last turn's retries and error.

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
