"""From a turn that has ended to the response: what was said, done and understood."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from mcp_tools.resume import JsonObject, Language, ResumeError, VersionConflictError
from oda import Turn as TurnRecord
from oda.server import AppConversations

from ..dialogue.decision import ToolCall
from ..dialogue.pending import PendingEntry
from ..dialogue.reporting import ToolResult
from ..dialogue.understanding.message import language_of
from ..memory import RESUME_KEY, Layer, Memory, ReplyType, Turn, turn_in
from .models import ChatRequest, ChatResponse, Metadata, ToolAnswer, ToolCallMade
from .opening import Opened

T = TypeVar("T")

_NO_ANSWER: Mapping[str, Mapping[Language, str]] = {
    "failed": {
        "zh": "抱歉，这条消息没能处理完（{reason}），请稍后再试。已经完成的修改可以在简历里看到。",
        "en": "Sorry, I could not finish that ({reason}); please try again later. What has been "
        "changed so far is in the resume.",
    },
    "cancelled": {
        "zh": "这条消息已被取消。已经完成的修改可以在简历里看到。",
        "en": "That was cancelled. What has been changed so far is in the resume.",
    },
    "waiting_input": {
        "zh": "这条消息已用完单次处理的限额，确认后才能继续：POST /v1/turns/{turn}/input。",
        "en": "This has used up what one message may take. It goes on when that is confirmed: "
        "POST /v1/turns/{turn}/input.",
    },
}
_KIND_WITHOUT_ANSWER: Mapping[str, ReplyType] = {
    "failed": "error",
    "cancelled": "error",
    "waiting_input": "clarify",
}
"""The request has been served, so this is no HTTP problem, as with turns under `/v1`."""


async def read_turn(
    conversations: AppConversations, turn: TurnRecord
) -> tuple[TurnRecord, Turn | None]:
    """Follow a turn to its end; return its final record and the state that its message led to."""
    said: Turn | None = None
    async with aclosing(conversations.follow(turn)) as happening:
        async for item in happening:
            if isinstance(item, TurnRecord):
                turn = item
            elif item is not None:
                said = turn_in([item], item.invocation_id) or said
    return turn, said


async def response_to(
    conversations: AppConversations,
    request: ChatRequest,
    opened: Opened,
    turn: TurnRecord,
    said: Turn | None,
) -> ChatResponse:
    """The response to a request whose turn has ended, with the document as the turn left it.

    Args:
        said: The turn's state as found in its log, or None.
    """
    session = await conversations.get(opened.session.session_id)
    left = _left_by(await conversations.state_after(session, turn), said)
    call, result = left.last_step
    return ChatResponse(
        session_id=session.session_id,
        type=_kind(turn, left.said),
        reply=_words(request, turn, left.said),
        tool_call=_shown(call) if result else None,
        tool_result=_answer(result) if result else None,
        metadata=_metadata(opened, turn, left),
        resume=left.resume,
    )


def conflict_in(
    response: ChatResponse, request: ChatRequest, opened: Opened, turn: TurnRecord
) -> VersionConflictError | None:
    """Why nothing at all was done, if another message was faster and changed the version."""
    expected, actual = request.expected_version, response.metadata.version
    refused = turn.status == "succeeded" and response.type == "error" and not response.tool_result
    if expected is None or actual == expected or not refused or opened.is_replaced:
        return None
    return VersionConflictError(actual=actual, expected=expected)


@dataclass(frozen=True)
class _Left:
    """The state of the session after a turn."""

    resume: JsonObject
    version: int
    pending: PendingEntry | None
    said: Turn | None
    """The turn's own state; None if the turn failed before it was known."""

    @property
    def last_step(self) -> tuple[ToolCall | None, ToolResult | None]:
        return (self.said.tool_call, self.said.tool_result) if self.said else (None, None)


def _left_by(state: dict[str, Any], said: Turn | None) -> _Left:
    """Read a state, to which clients may have written other things than the agent does."""
    memory = Memory(state)
    resume = _sound(lambda: memory.resume)
    stored = state.get(RESUME_KEY)
    pending = _sound(lambda: memory.pending) or ()
    asked_for = pending[-1] if pending else None
    return _Left(
        resume=resume.to_json() if resume else stored if isinstance(stored, dict) else {},
        version=(_sound(lambda: resume.version) or 0) if resume else 0,
        pending=asked_for if isinstance(asked_for, PendingEntry) else None,
        said=said,
    )


def _sound(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except (ResumeError, ValidationError, ValueError):
        return None


def _kind(turn: TurnRecord, said: Turn | None) -> ReplyType:
    if turn.status != "succeeded":
        return _KIND_WITHOUT_ANSWER[turn.status]
    return said.type if said else "text"


def _words(request: ChatRequest, turn: TurnRecord, said: Turn | None) -> str:
    if turn.status == "succeeded":
        return turn.reply
    language = language_of(request.message) or (said.language if said else "zh")
    reason = turn.error.code if turn.error else ""
    return _NO_ANSWER[turn.status][language].format(reason=reason, turn=turn.turn_id)


def _shown(call: ToolCall | None) -> ToolCallMade | None:
    if call is None or call.name not in ("CVReader", "CVEditor"):
        return None
    return ToolCallMade(name=call.name, params=call.params)


def _answer(result: ToolResult) -> ToolAnswer:
    return ToolAnswer(
        success=result.success, path=result.path, value=result.value, error=result.error or ""
    )


def _metadata(opened: Opened, turn: TurnRecord, left: _Left) -> Metadata:
    said, pending = left.said, left.pending
    took = turn.finished_at - turn.created_at if turn.finished_at else None
    layer: Layer = "llm" if turn.usage.model_calls else "none"
    return Metadata(
        intent=said.intent if said else "UNKNOWN",
        section=said.section if said else None,
        confidence=said.confidence if said else 0.0,
        layer=said.layer if said else layer,
        pending_data=pending.told if pending else None,
        missing_fields=pending.missing_fields if pending else (),
        resume_data_ignored=opened.resume_data_ignored,
        version=left.version,
        trace_id=turn.trace_id,
        duration_ms=round(took.total_seconds() * 1000, 1) if took else 0.0,
    )
