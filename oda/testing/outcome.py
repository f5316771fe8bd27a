"""Outcome of a script's step within the process: ADK responses, an exception, or silence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from .script import (
    Blocked,
    Call,
    Cue,
    Cut,
    Disconnect,
    Echo,
    Empty,
    Error,
    Hang,
    Json,
    Malformed,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
    Usage,
    words_of,
)

_CHARACTERS_PER_TOKEN = 4


class ScriptedHttpError(Exception):
    """Raised by an `Error` step; carries status and headers where LiteLLM's errors have them."""

    def __init__(self, step: Error) -> None:
        super().__init__(step.message or step.code or f"HTTP {step.status}")
        self.status_code = step.status
        self.code = step.code
        self.litellm_response_headers = dict(step.headers)
        if step.retry_after is not None:
            self.litellm_response_headers["retry-after"] = f"{step.retry_after:g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One model call as it is played: chunks, then silence, or an exception, or the responses."""

    chunks: Sequence[str] = ()
    """Sent one by one when streaming, otherwise not at all."""
    interval_s: float = 0.0
    stalls: bool = False
    failure: Exception | None = None
    responses: Sequence[LlmResponse] = ()


def outcome_of(step: Step, *, cue: Cue, prompt_characters: int) -> Outcome:
    """Return the outcome of `step`, as close to the real adapters as possible in process.

    A limit or a filter gives text and `error_code`, as `LiteLlm` does; an answer that ends too
    early without a broken connection has no `finish_reason`.
    """
    match step:
        case Hang():
            return Outcome(stalls=True)
        case Disconnect():
            return Outcome(failure=ConnectionResetError("the model closed the connection"))
        case Error():
            return Outcome(chunks=step.after_chunks, failure=ScriptedHttpError(step))
        case Malformed():
            return _malformed(step)
        case Cut():
            return _cut(step, prompt_characters)
        case Echo():
            chunks = words_of(step.prefix + cue.last_user)
            response = _response(chunks, "STOP", step.usage, prompt_characters)
            return Outcome(chunks=chunks, responses=(response,))
        case Json():
            chunks = words_of(step.text)
            response = _response(chunks, "STOP", step.usage, prompt_characters)
            return Outcome(chunks=chunks, responses=(response,))
        case Empty():
            return Outcome(responses=(_response((), "STOP", step.usage, prompt_characters),))
        case Text() | ToolCalls() | MaxTokens() | Blocked():
            return _spoken(step, prompt_characters)
        case _:
            assert_never(step)


def _spoken(step: Text | ToolCalls | MaxTokens | Blocked, prompt_characters: int) -> Outcome:
    finish = {"max_tokens": "MAX_TOKENS", "blocked": "SAFETY"}.get(step.type, "STOP")
    response = _response(
        step.chunks,
        finish,
        step.usage,
        prompt_characters,
        thinking=step.thinking,
        calls=step.calls if isinstance(step, ToolCalls) else (),
    )
    return Outcome(chunks=step.chunks, interval_s=step.interval_s, responses=(response,))


def _cut(step: Cut, prompt_characters: int) -> Outcome:
    if step.how == "stall":
        return Outcome(chunks=step.chunks, interval_s=step.interval_s, stalls=True)
    if step.how == "end":
        response = _response(
            step.chunks, None, step.usage, prompt_characters, thinking=step.thinking
        )
        return Outcome(chunks=step.chunks, interval_s=step.interval_s, responses=(response,))
    failure = ConnectionResetError("the model closed the connection in the middle of its answer")
    return Outcome(chunks=step.chunks, interval_s=step.interval_s, failure=failure)


def _malformed(step: Malformed) -> Outcome:
    if step.kind != "tool_arguments":
        return Outcome(failure=json.JSONDecodeError("Expecting value", step.kind, 0))
    response = LlmResponse(
        error_code="MALFORMED_FUNCTION_CALL",
        error_message=f"the arguments of {step.tool!r} are not JSON",
        finish_reason=types.FinishReason.MALFORMED_FUNCTION_CALL,
    )
    return Outcome(responses=(response,))


def _response(
    chunks: Sequence[str],
    finish: str | None,
    usage: Usage | None,
    prompt_characters: int,
    *,
    thinking: str = "",
    calls: Sequence[Call] = (),
) -> LlmResponse:
    text = "".join(chunks)
    parts = [types.Part(text=thinking, thought=True)] if thinking else []
    parts += [types.Part(text=text)] if text else []
    parts += [
        types.Part(function_call=types.FunctionCall(id=call.id, name=call.name, args=call.args))
        for call in calls
    ]
    usage = usage or Usage(
        prompt_tokens=prompt_characters // _CHARACTERS_PER_TOKEN,
        completion_tokens=(len(text) + len(thinking)) // _CHARACTERS_PER_TOKEN,
    )
    return LlmResponse(
        content=types.Content(role="model", parts=parts),
        finish_reason=None if finish is None else types.FinishReason(finish),
        error_code=finish if finish in ("MAX_TOKENS", "SAFETY") else None,
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=usage.prompt_tokens,
            candidates_token_count=usage.completion_tokens,
            total_token_count=usage.prompt_tokens + usage.completion_tokens,
            cached_content_token_count=usage.cached_tokens or None,
        ),
    )
