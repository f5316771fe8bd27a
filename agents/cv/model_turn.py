"""A turn that the model answers: what it is sent, and how its reply ends."""

import asyncio
from collections.abc import Sequence

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from mcp_tools.resume import load_resume

from .briefing import briefed, briefing
from .changes import changes, without_changes
from .files import files_of, without_files
from .memory import Memory, ReplyType, Turn, current_turn
from .settings import cv_settings
from .window import fitted


async def prepare_request(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Before the model: cut the conversation to its window and tell what the moment is."""
    memory = Memory(callback_context.state)
    contents = fitted(llm_request.contents, cv_settings().window)
    files = await files_of(callback_context)
    told = await asyncio.to_thread(_briefing, memory, files)
    llm_request.contents = briefed([without_files(content) for content in contents], told)


async def finish_reply(
    callback_context: CallbackContext, llm_response: LlmResponse
) -> LlmResponse | None:
    """Put what has changed in the turn under the model's reply, and close the turn's record."""
    memory = Memory(callback_context.state)
    turn = current_turn(callback_context)
    if turn is None or turn.layer != "llm" or not _is_reply(llm_response):
        return None
    changed = await asyncio.to_thread(_changed, memory, turn)
    kind = _kind(turn, changed=bool(changed))
    memory.turn = turn.model_copy(update={"before": None, "type": kind})
    return _ending_with(llm_response, changed)


def _briefing(memory: Memory, files: Sequence[str]) -> str:
    return briefing(memory.resume, memory.pending, memory.language, files)


def _kind(turn: Turn, *, changed: bool) -> ReplyType:
    """Return the kind of the reply: a question after a refusal by the guard, else as the tools."""
    if changed:
        return "tool_result"
    if turn.type == "clarify" or turn.tool_result is None:
        return turn.type
    return "tool_result" if turn.tool_result.success else "error"


def _changed(memory: Memory, turn: Turn) -> str:
    before = turn.before
    return changes(load_resume(before), memory.resume, turn.language) if before is not None else ""


def _is_reply(response: LlmResponse) -> bool:
    parts = (response.content.parts if response.content else None) or []
    return (
        not response.partial
        and not response.error_code
        and any(part.text and not part.thought for part in parts)
        and not any(part.function_call for part in parts)
    )


def _ending_with(response: LlmResponse, changed: str) -> LlmResponse:
    """The reply with our list of changes as its end, and none that the model has written."""
    content = response.content
    assert content is not None
    parts = list(content.parts or [])
    last = max(index for index, part in enumerate(parts) if part.text and not part.thought)
    said = without_changes(parts[last].text or "")
    text = "\n\n".join(filter(None, (said, changed))) or parts[last].text
    parts[last] = parts[last].model_copy(update={"text": text})
    return response.model_copy(update={"content": content.model_copy(update={"parts": parts})})
