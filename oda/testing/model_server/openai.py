"""OpenAI chat completions."""

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
    ToolCall,
    ToolResult,
    args_of,
)
from .http_server import reason_phrase
from .wire import event, joined

_CREATED = 1_700_000_000
_SYSTEM_ROLES = frozenset({"system", "developer"})
_FINISH: dict[Finish, str] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "blocked": "content_filter",
    "prompt_blocked": "content_filter",
    "bad_tool_call": "tool_calls",
}
_CODE = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}
_USUAL_WORDS = {
    "context_length_exceeded": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in"
        " 140000 tokens. Please reduce the length of the messages."
    ),
    "content_policy_violation": (
        "Your request was rejected as a result of our safety system. Your prompt may contain text"
        " that is not allowed by our safety system."
    ),
    "insufficient_quota": (
        "You exceeded your current quota, please check your plan and billing details."
    ),
    "invalid_api_key": "Incorrect API key provided: sk-test.",
    "model_not_found": "The model does not exist or you do not have access to it.",
    "rate_limit_exceeded": "Rate limit reached for requests. Please try again later.",
}


class OpenAIWire:
    """`POST …/chat/completions`."""

    name: ProtocolName = "openai"

    def read(self, path: str, body: JsonObject) -> ModelCall:
        messages: list[JsonObject] = body["messages"]
        tools: list[JsonObject] = body.get("tools") or []
        return ModelCall(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            stream_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            system="\n".join(_text(m.get("content")) for m in messages if _is_system(m)),
            tools=tuple(tool.get("function", {}).get("name", "") for tool in tools),
            raw_messages=tuple(m for m in messages if not _is_system(m)),
            has_schema=(body.get("response_format") or {}).get("type", "text") != "text",
        )

    def message(self, raw: JsonObject) -> Message:
        text = _text(raw.get("content"))
        if raw["role"] == "tool":
            result = ToolResult(
                id=raw.get("tool_call_id", ""), name=raw.get("name") or "", content=text
            )
            return Message(role="tool", text="", tool_results=(result,))
        return Message(
            role="assistant" if raw["role"] == "assistant" else "user",
            text=text,
            tool_calls=tuple(map(_read_tool_call, raw.get("tool_calls") or ())),
        )

    def body(self, call: ModelCall, answer: Answer) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": answer.text or None}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if answer.calls:
            message["tool_calls"] = [_tool_call(c, c.arguments) for c in answer.calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return {
            **_envelope(call, answer, "chat.completion"),
            "choices": [choice],
            "usage": _usage(answer.usage),
        }

    def pieces(self, call: ModelCall, answer: Answer) -> list[bytes]:
        envelope = _envelope(call, answer, "chat.completion.chunk")

        def chunk(delta: JsonObject, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return event({**envelope, "choices": [choice]})

        content = [chunk({"reasoning_content": answer.thinking})] if answer.thinking else []
        content += [chunk({"content": text}) for text in answer.chunks]
        content += [chunk({"tool_calls": [delta]}) for delta in _tool_call_deltas(answer)]
        closing = b""
        if answer.finish is not None:
            closing = chunk({}, _finish(answer))
            if call.stream_usage:
                closing += event({**envelope, "choices": [], "usage": _usage(answer.usage)})
            closing += b"data: [DONE]\n\n"
        return joined(chunk({"role": "assistant", "content": ""}), content, closing)

    def error_body(self, error: Error) -> JsonObject:
        code = error.code or _CODE.get(error.status)
        return {
            "error": {
                "message": error.message
                or _USUAL_WORDS.get(code or "", reason_phrase(error.status)),
                "type": error.error_type or _error_type(error.status, code),
                "param": None,
                "code": code,
            }
        }

    def error_frame(self, error: Error) -> bytes:
        return event(self.error_body(error))


def _error_type(status: int, code: str | None) -> str:
    if code == "insufficient_quota":
        return code
    if status == 429:
        return "requests"
    return "server_error" if status >= 500 else "invalid_request_error"


def _is_system(message: JsonObject) -> bool:
    return message.get("role") in _SYSTEM_ROLES


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def _read_tool_call(raw: JsonObject) -> ToolCall:
    function = raw["function"]
    return ToolCall(
        id=raw.get("id", ""), name=function["name"], args=args_of(function["arguments"])
    )


def _tool_call(call: ToolCall, arguments: str) -> JsonObject:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _tool_call_deltas(answer: Answer) -> Iterator[JsonObject]:
    for index, call in enumerate(answer.calls):
        yield {"index": index, **_tool_call(call, "")}
        for text in answer.streamed_arguments(call):
            yield {"index": index, "function": {"arguments": text}}


def _envelope(call: ModelCall, answer: Answer, kind: str) -> JsonObject:
    return {"id": answer.id, "object": kind, "created": _CREATED, "model": call.model}


def _finish(answer: Answer) -> str:
    return _FINISH[answer.finish or "stop"]


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
