"""Hooks around tool calls, by which an app observes or influences each call.

An app lists its hooks in a `ToolHooks`, which is the gate itself (`oda.tools.gate`), so they run at
the same point as everything else that is applied to a call, whatever the kind of tool.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from oda.clock import Clock
from oda.message.redaction import redact
from oda.message.tool_error import reported_error
from oda.telemetry import get_logger
from oda.tools.idempotency import CallKey, call_key
from oda.tools.recording import current_recorder

log = get_logger(__name__)

_SessionKey = tuple[str, str, str]

CANCELLED = "cancelled"
"""The `error` of a call that was stopped from outside."""


@dataclass(frozen=True)
class ToolCallContext:
    """One call of a tool. The fields for its result are None until it has ended."""

    tool_call_id: str
    """As in the ADK events; of a graph's node, its path."""
    tool_name: str
    description: str
    """The tool's description as given to the model."""
    func_args: Mapping[str, Any]
    """Read-only; what the tool gets."""
    agent: str
    """Name of the agent that calls."""
    turn_id: str
    """The ADK invocation id of the turn, also in agents that run as tools."""
    start_time: float
    """Epoch seconds; before the first hook saw the call."""
    end_time: float | None = None
    """Epoch seconds."""
    result: Any = None
    """The result of the tool, before truncation and masking for the model."""
    error: str | None = None
    """Why it failed: what it raised or reported, why it was refused, or `cancelled`."""
    success: bool | None = None

    @property
    def duration(self) -> float | None:
        """Seconds from start to end."""
        return None if self.end_time is None else max(0.0, self.end_time - self.start_time)


@runtime_checkable
class ToolHook(Protocol):
    """Sees each call before it is made and after it has ended. Subclass it, or look like it.

    A call that a person must approve first is seen when it has been approved. One instance serves
    all sessions at the same time.
    """

    async def pre_tool_call(self, call: ToolCallContext) -> str | None:
        """Called before the tool runs.

        Returns:
            None to go on, or why the call must not be made, in words for the model. A hook that
            raises refuses as well.
        """
        return None

    async def post_tool_call(self, call: ToolCallContext) -> None:
        """Called once for each call that `pre_tool_call` has seen, whatever its outcome.

        Errors raised here are logged and have no effect.
        """
        return None


class LogToolCalls(ToolHook):
    """A log line before and after each call: names, times and errors, no arguments or results."""

    async def pre_tool_call(self, call: ToolCallContext) -> None:
        log.info("tool_call_started", **_named(call), arguments=sorted(call.func_args))

    async def post_tool_call(self, call: ToolCallContext) -> None:
        log.info(
            "tool_call_ended",
            **_named(call),
            success=call.success,
            error=call.error and redact(call.error),
            duration_ms=round((call.duration or 0.0) * 1000, 1),
        )


class InterruptCheck(ToolHook):
    """A cancelled turn makes no further call, even if something swallows the cancellation."""

    async def pre_tool_call(self, call: ToolCallContext) -> None:
        """Go on.

        Raises:
            asyncio.CancelledError: the turn has been cancelled.
        """
        recorder = current_recorder()
        if recorder is not None and recorder.interrupted():
            raise asyncio.CancelledError(f"the turn {call.turn_id} has been cancelled")


@dataclass
class _Watched:
    """A call that runs, and the hooks that have seen it."""

    call: ToolCallContext
    invocation_id: str
    """Id of the run that makes the call; an agent that runs as a tool has its own."""
    hooks: list[ToolHook] = field(default_factory=list)


class HookedCalls:
    """Takes calls past the hooks: in their order before, in the opposite order after.

    A call is known by its session and its key; callers may choose the ids of turns.
    """

    def __init__(self, hooks: Sequence[ToolHook], clock: Clock) -> None:
        self._hooks = tuple(hooks)
        self._clock = clock
        self._running: dict[tuple[_SessionKey, CallKey], _Watched] = {}

    async def begin(
        self, tool: BaseTool, tool_args: dict[str, Any], context: ToolContext
    ) -> str | None:
        """Why the call must not be made, if a hook says so; then it has ended."""
        if not self._hooks:
            return None
        key = call_key(context)
        watched = _Watched(self._seen(key, tool, tool_args, context), context.invocation_id)
        self._running[_key(context.session), key] = watched
        try:
            refusal = await _ask(self._hooks, watched)
        except BaseException:
            await self.end(context.session, key, error=CANCELLED)
            raise
        if refusal is not None:
            await self.end(context.session, key, error=refusal)
        return refusal

    async def end(
        self, session: Session, key: CallKey, *, result: Any = None, error: str | None = None
    ) -> None:
        """Report the end of a call to the hooks, unless it was reported or never seen."""
        watched = self._running.pop((_key(session), key), None)
        if watched is None:
            return
        error = error or _reported(result)
        ended = replace(
            watched.call,
            end_time=self._clock.now(),
            result=result,
            error=error,
            success=error is None,
        )
        for hook in reversed(watched.hooks):
            try:
                await hook.post_tool_call(ended)
            except Exception as failure:
                log.warning("tool_hook_failed", **_named(ended), hook=_name(hook), exc_info=failure)

    async def end_run(self, session: Session, invocation_id: str, *, error: str) -> None:
        """End what a run has left: the calls in which something else than the tool has failed."""
        left = [
            key
            for (home, key), watched in self._running.items()
            if home == _key(session) and watched.invocation_id == invocation_id
        ]
        for key in left:
            await self.end(session, key, error=error)

    def _seen(
        self, key: CallKey, tool: BaseTool, tool_args: dict[str, Any], context: ToolContext
    ) -> ToolCallContext:
        return ToolCallContext(
            tool_call_id=context.function_call_id or key.call_id,
            tool_name=tool.name,
            description=tool.description,
            func_args=MappingProxyType(tool_args),
            agent=context.agent_name,
            turn_id=key.turn,
            start_time=self._clock.now(),
        )


async def _ask(hooks: Sequence[ToolHook], watched: _Watched) -> str | None:
    for hook in hooks:
        watched.hooks.append(hook)
        try:
            refusal = await hook.pre_tool_call(watched.call)
        except Exception as failure:
            log.error(
                "tool_hook_failed", **_named(watched.call), hook=_name(hook), exc_info=failure
            )
            return "The call was not made, because a check before it failed."
        if refusal is not None:
            return refusal or "The call was refused."
    return None


def _reported(result: Any) -> str | None:
    """The error that a result tells of: `{"error": …}`, or an MCP result that is one."""
    if not isinstance(result, Mapping):
        return None
    if error := reported_error(result):
        return error["message"]
    if not (result.get("isError") or result.get("is_error")):
        return None
    parts = result.get("content") or ()
    texts = [str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text")]
    return "\n".join(texts) or "the tool has reported an error"


def _named(call: ToolCallContext) -> dict[str, str]:
    return {
        "tool": call.tool_name,
        "call_id": call.tool_call_id,
        "agent": call.agent,
        "turn_id": call.turn_id,
    }


def _key(session: Session) -> _SessionKey:
    return session.app_name, session.user_id, session.id


def _name(hook: ToolHook) -> str:
    return type(hook).__name__
