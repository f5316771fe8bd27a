"""Gemini `generateContent` and `streamGenerateContent`."""

import re
from typing import Any
from urllib.parse import unquote

from pydantic_core import to_json

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
from .wire import event

PATH = re.compile(r"/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)$")

_FINISH: dict[Finish, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "blocked": "SAFETY",
    "prompt_blocked": "SAFETY",
    "bad_tool_call": "MALFORMED_FUNCTION_CALL",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_USUAL_WORDS = {
    "context_length_exceeded": (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    ),
    "content_policy_violation": "The request was blocked by the safety settings.",
    "insufficient_quota": (
        "You exceeded your current quota, please check your plan and billing details."
    ),
}


_SCHEMA_FIELDS = frozenset({"responseSchema", "responseJsonSchema"})


class GeminiWire:
    """`POST …/models/{model}:generateContent` and `:streamGenerateContent?alt=sse`."""

    name: ProtocolName = "gemini"

    def read(self, path: str, body: JsonObject) -> ModelCall:
        match = PATH.search(path)
        if match is None:
            raise ValueError(f"not a Gemini path: {path!r}")
        tools: list[JsonObject] = body.get("tools") or []
        return ModelCall(
            model=unquote(match["model"]),
            stream=match["method"] == "streamGenerateContent",
            system=_text((body.get("systemInstruction") or {}).get("parts") or ()),
            tools=tuple(
                declaration["name"]
                for tool in tools
                for declaration in tool.get("functionDeclarations") or ()
            ),
            raw_messages=tuple(body["contents"]),
            has_schema=bool((body.get("generationConfig") or {}).keys() & _SCHEMA_FIELDS),
        )

    def message(self, raw: JsonObject) -> Message:
        parts: list[JsonObject] = raw.get("parts") or []
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        from_user: Role = "tool" if results else "user"
        return Message(
            role="assistant" if raw.get("role") == "model" else from_user,
            text=_text(parts),
            tool_calls=tuple(
                ToolCall(id=call.get("id", ""), name=call["name"], args=call.get("args") or {})
                for call in calls
            ),
            tool_results=tuple(
                ToolResult(
                    id=result.get("id", ""),
                    name=result["name"],
                    content=to_json(result.get("response")).decode(),
                )
                for result in results
            ),
        )

    def body(self, call: ModelCall, answer: Answer) -> JsonObject:
        return _response(
            call, answer, _parts(answer, (answer.text,)), finish=answer.finish or "stop"
        )

    def pieces(self, call: ModelCall, answer: Answer) -> list[bytes]:
        parts = [[part] for part in _parts(answer, answer.chunks)]
        if answer.finish is None:
            return [event(_response(call, answer, part, finish=None)) for part in parts]
        *first, last = parts or [[]]
        return [
            *(event(_response(call, answer, part, finish=None)) for part in first),
            event(_response(call, answer, last, finish=answer.finish)),
        ]

    def error_body(self, error: Error) -> JsonObject:
        status = error.error_type or _STATUS.get(error.status, "UNKNOWN")
        usual = _USUAL_WORDS.get(error.code or "", reason_phrase(error.status))
        body: JsonObject = {
            "code": error.status,
            "message": error.message or usual,
            "status": status,
        }
        if error.retry_after is not None:
            body["details"] = [
                {
                    "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": f"{error.retry_after:g}s",
                }
            ]
        return {"error": body}

    def error_frame(self, error: Error) -> bytes:
        return event(self.error_body(error))


def _text(parts: Any) -> str:
    return "\n".join(p["text"] for p in parts if "text" in p and not p.get("thought"))


def _parts(answer: Answer, texts: tuple[str, ...]) -> list[JsonObject]:
    """A broken-off answer never shows its last tool call: Gemini sends calls whole."""
    parts: list[JsonObject] = []
    if answer.thinking:
        parts.append({"text": answer.thinking, "thought": True})
    parts.extend({"text": text} for text in texts if text)
    calls = answer.calls if answer.finish is not None else answer.calls[:-1]
    parts.extend(
        {"functionCall": {"id": call.id, "name": call.name, "args": call.args}} for call in calls
    )
    return parts


def _response(
    call: ModelCall, answer: Answer, parts: list[JsonObject], *, finish: Finish | None
) -> JsonObject:
    response: JsonObject = {
        "usageMetadata": _usage(answer.usage),
        "modelVersion": call.model,
        "responseId": answer.id,
    }
    if finish == "prompt_blocked":
        return {**response, "promptFeedback": {"blockReason": "SAFETY"}}
    candidate: JsonObject = {"index": 0}
    if finish == "bad_tool_call":
        candidate["finishMessage"] = "Malformed function call: " + answer.calls[-1].arguments
    elif parts:
        candidate["content"] = {"role": "model", "parts": parts}
    if finish is not None:
        candidate["finishReason"] = _FINISH[finish]
    return {**response, "candidates": [candidate]}


def _usage(usage: Usage) -> JsonObject:
    return {
        "promptTokenCount": usage.prompt_tokens,
        "candidatesTokenCount": usage.completion_tokens,
        "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
    }
