"""The one ADK plugin around every tool call: recorded before it runs, answered whatever happens.

An app's hooks see each call and may refuse it. A tool's exception becomes the model's answer, and
what tools say becomes bounded, visible JSON without secrets before it reaches a model or a store.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from cachetools import LRUCache
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from oda.clock import Clock, SystemClock
from oda.errors import FatalToolError, InvalidArgumentsError
from oda.message.redaction import redact
from oda.message.storable import is_storable, storable, storable_text
from oda.secret_mask import secrets
from oda.telemetry import get_logger
from oda.tools.hooks import CANCELLED, HookedCalls, ToolHook
from oda.tools.idempotency import CallKey, call_key, enter_call, response_key
from oda.tools.limits import ToolLimits
from oda.tools.recording import Answer, current_recorder
from oda.tools.results import presentable, visible

log = get_logger(__name__)

_SPOILT_KEPT = 4096
"""Refused calls are few and short-lived; the bound guards against calls made on purpose."""


class Gate(BasePlugin):
    """A tool's exception is an answer to the model, unless it is a `FatalToolError`.

    One instance serves any number of sessions; what it knows of the running attempt comes from the
    current `CallRecorder`.
    """

    NAME = "oda_gate"

    def __init__(self, hooks: Sequence[ToolHook] = (), *, clock: Clock | None = None) -> None:
        super().__init__(name=self.NAME)
        self._hooks = HookedCalls(hooks, clock or SystemClock())
        self._spoilt: LRUCache[CallKey, str] = LRUCache(_SPOILT_KEPT)
        """Arguments that cannot be stored, by the calls that are refused because of them."""

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> Answer | None:
        """Called after the app's plugins, which may have answered the call themselves.

        Raises:
            UnavailableError: the call cannot be recorded.
        """
        if spoilt := self._spoilt.pop(call_key(tool_context), None):
            return _refused(spoilt)
        if await _is_held_back(tool, tool_args, tool_context):
            enter_call(tool_context)
            return None
        refusal = await self._hooks.begin(tool, tool_args, tool_context)
        if refusal is not None:
            return {"error": refusal, "status": "refused"}
        recorder = current_recorder()
        if recorder is None:
            enter_call(tool_context)
            return None
        try:
            return await recorder.begin(tool, tool_context)
        except BaseException as error:
            await self._hooks.end(
                tool_context.session, call_key(tool_context), error=_reason(error)
            )
            raise

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> Answer | None:
        recorder = current_recorder()
        overdue = recorder and recorder.ended(call_key(tool_context))
        answer = self._failed(tool, tool_context, error)
        await self._hooks.end(
            tool_context.session, call_key(tool_context), error=_reason(overdue or error)
        )
        return answer

    def _failed(
        self, tool: BaseTool, tool_context: ToolContext, error: BaseException
    ) -> Answer | None:
        """Record a failed call; return the message for the model if the turn goes on."""
        recorder = current_recorder()
        if isinstance(error, asyncio.CancelledError) or (recorder and recorder.failure):
            return None
        answer = {
            "error": _reason(error),
            "error_type": type(error).__name__,
        }
        if recorder is not None:
            recorder.failed(call_key(tool_context), answer)
        if isinstance(error, FatalToolError):
            return None
        log.warning(
            "tool_failed",
            tool=tool.name,
            call_id=tool_context.function_call_id,
            exc_info=error,
        )
        return answer

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> Answer | None:
        """Replace only what ADK takes for no result at all: a mapping with other keys than text.

        Everything else is left to the agent's own callbacks, and is made JSON when it is stored.
        """
        if recorder := current_recorder():
            recorder.returned(call_key(tool_context), tool, tool_context, result)
        await self._hooks.end(tool_context.session, call_key(tool_context), result=result)
        if isinstance(result, dict) and not all(isinstance(key, str) for key in result):
            return _answer(result)
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Make an event storable by every store, and mask its secrets.

        In a streamed text a secret is only recognized if it lies within one piece.
        """
        if event.partial:
            for part in (event.content and event.content.parts) or ():
                part.text = part.text and secrets.mask(part.text)
            return
        if event.error_message:
            event.error_message = secrets.mask(event.error_message)
        if event.content is None:
            return
        recorder = current_recorder()
        limit = (recorder.limits if recorder else ToolLimits()).result_chars
        of_tools = bool(event.get_function_responses())
        for part in event.content.parts or ():
            if part.text:
                text = visible(part.text)[:limit] if of_tools else part.text
                part.text = storable_text(secrets.mask(text))
            if (call := part.function_call) and call.args:
                if spoilt := _unstorable(call.args):
                    self._spoilt[response_key(event.invocation_id, call.id or "")] = spoilt
                call.args = _answer(call.args)
            if (response := part.function_response) and response.response:
                response.response = presentable(
                    _answer(response.response), max_chars=limit, mask=secrets.mask
                )
                if response.id:
                    key = response_key(event.invocation_id, response.id)
                    await self._hooks.end(invocation_context.session, key, result=response.response)
                    if recorder:
                        recorder.answered(key, response.response)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: BaseException
    ) -> None:
        await self._hooks.end_run(
            invocation_context.session, invocation_context.invocation_id, error=_reason(error)
        )

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        await self._hooks.end_run(
            invocation_context.session,
            invocation_context.invocation_id,
            error="the call has no result",
        )


class ToolHooks(Gate):
    """Calls hooks around an app's tool calls: `App(..., plugins=[..., ToolHooks([MyHook()])])`.

    List it after the app's other plugins, which may answer a call or a tool's error themselves.

    Args:
        hooks: Called in this order before a call, in reverse order after it.
        clock: Provides the times at which a call begins and ends; by default the system clock.
    """

    def __init__(self, hooks: Sequence[ToolHook], *, clock: Clock | None = None) -> None:
        super().__init__(hooks, clock=clock)


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return CANCELLED
    return redact(str(error)) or "no reason given"


async def _is_held_back(
    tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
) -> bool:
    """Return whether ADK will ask a person, or has received a refusal, and not run the tool."""
    confirmation = tool_context.tool_confirmation
    if confirmation is not None and confirmation.confirmed:
        return False
    try:
        return await tool.check_require_confirmation(tool_args, tool_context) is True
    except Exception:  # ADK asks again, and treats it as the tool's failure
        return False


def _unstorable(args: dict[str, Any]) -> str | None:
    """Return the first argument that storing would change."""
    for name, value in args.items():
        try:
            if not is_storable({name: value}):
                return storable_text(name)
        except RecursionError:
            return storable_text(name)
    return None


def _refused(argument: str) -> Answer:
    message = (
        f"The argument {argument!r} has characters that cannot be stored (NUL or half of a "
        "surrogate pair), or is nested too deeply. The tool was not called: give it without them."
    )
    return {"error": {"code": InvalidArgumentsError.code, "message": message}, "status": "refused"}


def _answer(result: dict[Any, Any]) -> Answer:
    try:
        answer: Answer = storable(result)
    except ValueError as error:
        return {"error": f"The result cannot be passed on: {redact(str(error))}"}
    return answer
