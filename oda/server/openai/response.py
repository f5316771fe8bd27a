"""The Response object of a turn."""

from collections.abc import Sequence
from typing import Any, Literal

from openai.types.responses import (
    Response,
    ResponseError,
    ResponseOutputItem,
    ResponseStatus,
    ResponseUsage,
)
from openai.types.responses.response import Conversation
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from oda.server.openai.ids import ResponseId
from oda.turn.record import Turn, TurnError, TurnStatus

NAMED = "openai"
"""Key in a turn's metadata for what its request has said and only this face reads."""

_STATUS: dict[TurnStatus, ResponseStatus] = {
    "queued": "queued",
    "running": "in_progress",
    "waiting_input": "completed",
    "succeeded": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_LATER = frozenset({"rate_limited", "overloaded", "daily_limit", "limit_exceeded"})


def status_of(turn: Turn) -> ResponseStatus:
    """What a response's status is while its turn is in this state."""
    return _STATUS[turn.status]


def response_of(
    response_id: ResponseId,
    turn: Turn,
    output: Sequence[ResponseOutputItem],
    *,
    status: ResponseStatus,
    previous: str | None,
) -> Response:
    """Build the response, as it is when its turn has the given record."""
    said = given(turn)
    ended = status in ("completed", "failed", "cancelled", "incomplete")
    finished = turn.finished_at if status == "completed" else None
    return Response(
        id=str(response_id),
        object="response",
        created_at=turn.created_at.timestamp(),
        status=status,
        completed_at=finished.timestamp() if finished else None,
        background=bool(said.get("background")),
        error=_error(turn.error) if status == "failed" and turn.error else None,
        incomplete_details=None,
        instructions=said.get("instructions"),
        metadata={
            key: value
            for key, value in turn.metadata.items()
            if key != NAMED and isinstance(value, str)
        },
        model=model_of(turn),
        output=list(output),
        parallel_tool_calls=True,
        previous_response_id=previous,
        conversation=Conversation(id=turn.session_id),
        temperature=None,
        top_p=None,
        max_output_tokens=None,
        tool_choice=said.get("tool_choice", "auto"),
        tools=said.get("tools", []),
        usage=_usage(turn) if ended else None,
    )


def model_of(turn: Turn) -> str:
    """The name under which a turn's agent is asked: the app, or one of its agents."""
    return turn.app if turn.agent == turn.app else f"{turn.app}/{turn.agent}"


def given(turn: Turn) -> dict[str, Any]:
    """What the request of a turn has said that only this face reads."""
    said = turn.metadata.get(NAMED)
    return said if isinstance(said, dict) else {}


def _error(error: TurnError) -> ResponseError:
    code: Literal["rate_limit_exceeded", "server_error"]
    code = "rate_limit_exceeded" if error.code in _LATER else "server_error"
    return ResponseError(code=code, message=f"{error.message} ({error.code})")


def _usage(turn: Turn) -> ResponseUsage:
    used = turn.usage
    return ResponseUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens,
        input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
    )
