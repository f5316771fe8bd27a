"""The tool calls of one attempt at a turn, as they are recorded in the ledger."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Part

from oda.errors import OwnershipLostError, ToolTimeoutError, UnavailableError
from oda.message.storable import storable
from oda.secret_mask import secrets
from oda.telemetry import get_logger
from oda.tools.idempotency import CallKey, enter_call, is_idempotent, only_steers
from oda.tools.ledger import CallRecord, ToolCall, ToolLedger
from oda.tools.limits import ToolLimits
from oda.tools.results import presentable

log = get_logger(__name__)

Answer = dict[str, Any]

OUTCOME_UNKNOWN: Answer = {
    "error": (
        "Outcome unknown: the call was interrupted before its result was recorded. It may or may "
        "not have taken effect. Check before you call it again."
    ),
    "status": "outcome_unknown",
}
RESULT_LOST: Answer = {
    "status": "succeeded",
    "result": "The call has succeeded, but its result was lost when it was interrupted.",
}


@dataclass
class CallRecorder:
    """Records the calls of a session's turn while an attempt at it runs."""

    session: tuple[str, str, str]
    """App, user, session; also for calls inside of calls."""
    ledger: ToolLedger | None = None
    limits: ToolLimits = field(default_factory=ToolLimits)
    cut_off: Callable[[Exception], None] | None = None
    """Ends the attempt when a call times out; ADK offers no way to end only the call."""
    interrupted: Callable[[], bool] = lambda: False
    """Returns whether the turn has been cancelled."""
    failure: Exception | None = None
    """Why a call could not be recorded; it fails the attempt even if ADK swallows the error."""
    _deadlines: dict[CallKey, asyncio.TimerHandle] = field(default_factory=dict)
    _overdue: dict[CallKey, Exception] = field(default_factory=dict)
    _running: dict[CallKey, str | None] = field(default_factory=dict)
    """Recorded calls without an end, with the error answer of those that have failed."""

    async def begin(self, tool: BaseTool, tool_context: ToolContext) -> Answer | None:
        """Record that a call starts. None: it may run; else this is what became of it before.

        Raises:
            UnavailableError: it cannot be recorded, so it must not run.
            OwnershipLostError: the turn runs on another node by now.
        """
        key = enter_call(tool_context)
        self._limit_time(key, tool)
        if self.ledger is None or only_steers(tool) or type(tool) is BaseTool:
            return None  # `BaseTool` is ADK's stand-in for a tool that does not exist
        call = ToolCall(
            key=key,
            session=self.session,
            agent=tool_context.agent_name,
            tool=tool.name,
            idempotent=is_idempotent(tool),
            inside_another=key.turn != tool_context.invocation_id,
        )
        try:
            record = await self.ledger.begin(call)
        except (UnavailableError, OwnershipLostError) as error:
            self.failure = error
            raise
        except BaseException:
            self.ledger.withdraw(key)
            raise
        if record.status == "started":
            self._running[key] = None
            return None
        if record.status == "unknown":
            warn_of_unknown_outcome(record.tool, key, self.session)
        return told_of(record)

    def failed(self, key: CallKey, answer: Answer) -> None:
        """Record a raised error.

        `answer` is the message for the model, unless something replaces it.
        """
        self.ended(key)
        if self.ledger is not None and key in self._running:
            text = self._running[key] = self._told(answer)
            self.ledger.fail(key, text or "null")

    def returned(self, key: CallKey, tool: BaseTool, context: ToolContext, result: Any) -> None:
        """The call has a result, which the agent's own callbacks have not seen yet."""
        self.ended(key)
        if self.ledger is None or key not in self._running:
            return
        failure = self._running.pop(key)
        if _waits(tool, context, result):
            self.ledger.waiting(key)
        elif failure is None:
            self.ledger.finish(key, None if _may_be_replaced(context) else self._told(result))

    def answered(self, key: CallKey, answer: Answer) -> None:
        """The call's response is about to be stored in the session."""
        if self.ledger is not None and key in self._running and self._running.pop(key) is None:
            self.ledger.finish(key, self._told(answer))

    def ended(self, key: CallKey) -> Exception | None:
        """The tool does not run any more. Returns why, if it has taken longer than its limit."""
        if deadline := self._deadlines.pop(key, None):
            deadline.cancel()
        return self._overdue.pop(key, None)

    def _limit_time(self, key: CallKey, tool: BaseTool) -> None:
        limit = self.limits.timeout_s
        if limit is None or (cut_off := self.cut_off) is None:
            return
        error = ToolTimeoutError(
            f"The tool {tool.name!r} took longer than its limit of {limit:g} s.",
            remedy="make it quicker, or raise ODA_TOOLS__TIMEOUT_S",
        )

        def expire() -> None:
            self._overdue[key] = error
            cut_off(error)

        self._deadlines[key] = asyncio.get_running_loop().call_later(limit, expire)

    def _told(self, result: Any) -> str | None:
        """A result as JSON; None when it is not to be kept."""
        if _carries_media(result):
            return None
        answer = result if isinstance(result, dict) else {"result": result}
        try:
            plain = presentable(
                storable(answer), max_chars=self.limits.result_chars, mask=secrets.mask
            )
        except ValueError:
            return None
        return json.dumps(plain, ensure_ascii=False)


def told_of(record: CallRecord) -> Answer:
    """Return the message for the model about a call that is not made."""
    if not record.ended:
        return OUTCOME_UNKNOWN
    answer = json.loads(record.result) if record.result is not None else None
    return answer if isinstance(answer, dict) else RESULT_LOST


def warn_of_unknown_outcome(tool: str, key: CallKey, session: tuple[str, str, str]) -> None:
    """Tell the operator."""
    app, user_id, session_id = session
    log.warning(
        "tool_outcome_unknown", tool=tool, key=str(key), app=app, user=user_id, session=session_id
    )


_recorder: ContextVar[CallRecorder | None] = ContextVar("oda_call_recorder", default=None)


@contextmanager
def recording(recorder: CallRecorder) -> Iterator[None]:
    """For the running task and what it starts, agents that run as tools included."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)


def current_recorder() -> CallRecorder | None:
    """The recorder of the attempt that the current task belongs to."""
    return _recorder.get()


def _waits(tool: BaseTool, context: ToolContext, result: Any) -> bool:
    asked = context.actions.requested_tool_confirmations or context.actions.requested_auth_configs
    return bool(asked) or tool.is_long_running


def _may_be_replaced(context: ToolContext) -> bool:
    """Return whether callbacks of the agent may replace the result.

    What they hide must not be kept.
    """
    agent = context.get_invocation_context().agent
    return isinstance(agent, LlmAgent) and bool(agent.canonical_after_tool_callbacks)


def _carries_media(result: Any) -> bool:
    values = result.values() if isinstance(result, dict) else result
    if isinstance(values, Part):
        return True
    if isinstance(result, dict | list | tuple):
        return any(isinstance(value, Part) or _has_parts(value) for value in values)
    return False


def _has_parts(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list | tuple) and any(isinstance(one, Part) for one in inner)
