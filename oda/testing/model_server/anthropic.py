"""Anthropic messages."""

from collections.abc import Iterator
from typing import Any

from oda.testing.script import Error, Usage

from .conversation import (
    Answer,
    Finish,
    JsonObject,
    Message,
    ModelCall,
    ProtocolName,
    Role,
    ToolCall,
    ToolResult,
)
from .http_server import reason_phrase
from .wire import event, joined

_FINISH: dict[Finish, str] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "blocked": "refusal",
    "prompt_blocked": "refusal",
    "bad_tool_call": "tool_use",
}
_TYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_USUAL_WORDS = {
    "context_length_exceeded": "prompt is too long: 210000 tokens > 200000 maximum",
    "content_policy_violation": "Output blocked by content filtering policy",
    "insufficient_quota": "Your credit balance is too low to access the Anthropic API.",
    "authentication_error": "invalid x-api-key",
    "overloaded_error": "Overloaded",
    "rate_limit_error": "This request would exceed your organization's rate limit.",
}


class AnthropicWire:
    """`POST …/messages`."""

    name: ProtocolName = "anthropic"

    def read(self, path: str, body: JsonObject) -> ModelCall:
        choice = body.get("tool_choice") or {}
        answer_tool = choice.get("name") if choice.get("type") == "tool" else None
        return ModelCall(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            system=_text(body.get("system") or ""),
            tools=tuple(tool.get("name", "") for tool in body.get("tools") or ()),
            raw_messages=tuple(body["messages"]),
            has_schema=answer_tool is not None or "format" in (body.get("output_config") or {}),
            answer_tool=answer_tool,
        )

    def message(self, raw: JsonObject) -> Message:
        blocks = raw["content"] if isinstance(raw["content"], list) else []
        results = tuple(
            ToolResult(id=block["tool_use_id"], name="", content=_text(block.get("content") or ""))
            for block in blocks
            if block["type"] == "tool_result"
        )
        from_user: Role = "tool" if results else "user"
        return Message(
            role="assistant" if raw["role"] == "assistant" else from_user,
            text=_text(raw["content"]),
            tool_calls=tuple(
                ToolCall(id=block["id"], name=block["name"], args=block["input"])
                for block in blocks
                if block["type"] == "tool_use"
            ),
            tool_results=results,
        )

    def body(self, call: ModelCall, answer: Answer) -> JsonObject:
        content: list[JsonObject] = []
        if answer.thinking:
            content.append(
                {"type": "thinking", "thinking": answer.thinking, "signature": "scripted"}
            )
        if answer.chunks:
            content.append({"type": "text", "text": answer.text})
        content.extend(_tool_use(call, call.args) for call in answer.calls)
        return {
            **_envelope(call, answer),
            "content": content,
            "stop_reason": _FINISH[answer.finish or "stop"],
            "stop_sequence": None,
            "usage": _usage(answer.usage),
        }

    def pieces(self, call: ModelCall, answer: Answer) -> list[bytes]:
        start: JsonObject = {
            **_envelope(call, answer),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**_usage(answer.usage), "output_tokens": 1},
        }
        content: list[bytes] = []
        for index, (block, deltas) in enumerate(_blocks(answer)):
            content += joined(
                _event("content_block_start", index=index, content_block=block),
                [_event("content_block_delta", index=index, delta=delta) for delta in deltas],
                _event("content_block_stop", index=index),
            )
        closing = b""
        if answer.finish is None:
            content[-1] = content[-1].rpartition(b"event: content_block_stop")[0]
        else:
            delta = {"stop_reason": _FINISH[answer.finish], "stop_sequence": None}
            usage = {"output_tokens": answer.usage.completion_tokens}
            closing = _event("message_delta", delta=delta, usage=usage) + _event("message_stop")
        return joined(_event("message_start", message=start) + _event("ping"), content, closing)

    def error_body(self, error: Error) -> JsonObject:
        kind = error.error_type or _TYPE.get(error.status, "api_error")
        usual = _USUAL_WORDS.get(error.code or kind, reason_phrase(error.status))
        detail = {"type": kind, "message": error.message or usual}
        return {"type": "error", "error": detail, "request_id": "req_scripted"}

    def error_frame(self, error: Error) -> bytes:
        return event(self.error_body(error), name="error")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, name=kind)


def _blocks(answer: Answer) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    """Each content block as it starts, and the deltas that fill it."""
    if answer.thinking:
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": answer.thinking},
                {"type": "signature_delta", "signature": "scripted"},
            ],
        )
    if answer.chunks:
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": text} for text in answer.chunks],
        )
    for call in answer.calls:
        yield (
            _tool_use(call, {}),
            [
                {"type": "input_json_delta", "partial_json": text}
                for text in answer.streamed_arguments(call)
            ],
        )


def _tool_use(call: ToolCall, arguments: JsonObject | str) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _envelope(call: ModelCall, answer: Answer) -> JsonObject:
    return {"id": answer.id, "type": "message", "role": "assistant", "model": call.model}


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
    }
