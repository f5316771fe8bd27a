"""Claude through Anthropic's messages API.

ADK's own class is not used because it treats filtered and truncated answers as complete, reports
errors in a stream as errors of the agent's code, and yields a partial event for each piece of a
function call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import (
    Content,
    FinishReason,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic import Field, SecretStr

from oda.agent.model.chat_schemas import Json
from oda.agent.model.claude_request import (
    ANSWER_TOOL,
    MOST_TOKENS,
    VALUE,
    answer_schema,
    answer_tool,
    claude_request,
)
from oda.agent.model.http_model import HttpModel
from oda.agent.model.said import CallPieces, json_text, said_parts, whole_answer

ANTHROPIC_BASE = "https://api.anthropic.com"

_VERSION = "2023-06-01"


_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.STOP,
    "pause_turn": FinishReason.STOP,
    "max_tokens": FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": FinishReason.MAX_TOKENS,
    "refusal": FinishReason.SAFETY,
}


@dataclass
class _Block:
    kind: str = ""
    said: list[str] = field(default_factory=list)
    shown: int = 0
    signature: str = ""
    call: CallPieces = field(default_factory=CallPieces)


class ClaudeAnswer:
    """Accumulates one answer from its chunks.

    Args:
        schema: The schema of the answer tool, if the request has one.
    """

    def __init__(self, schema: Any = None) -> None:
        self._is_formed = schema is not None
        self._is_nested = schema is not None and answer_tool(schema)[1]
        self._blocks: dict[int, _Block] = {}
        self._model: str | None = None
        self._usage: Json = {}
        self.finish_reason: str | None = None
        """Anthropic's stop reason; None until Anthropic has completed the answer."""

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add an event of a stream, or a whole message."""
        match chunk.get("type"):
            case "message_start":
                self._begin(chunk.get("message") or {})
            case "message":
                self._begin(chunk)
                for index, block in enumerate(chunk.get("content") or ()):
                    self._open(index, block)
            case "content_block_start":
                self._open(chunk.get("index") or 0, chunk.get("content_block") or {})
            case "content_block_delta":
                block = self._blocks.setdefault(chunk.get("index") or 0, _Block("text"))
                self._grow(block, chunk.get("delta") or {})
            case "message_delta":
                delta = chunk.get("delta") or {}
                self.finish_reason = delta.get("stop_reason") or self.finish_reason
                self._count(chunk)

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._model = message.get("model") or self._model
        self.finish_reason = message.get("stop_reason") or self.finish_reason
        self._count(message)

    def _count(self, chunk: Mapping[str, Any]) -> None:
        usage = chunk.get("usage") or {}
        self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _open(self, index: int, start: Mapping[str, Any]) -> None:
        block = self._blocks[index] = _Block(str(start.get("type")))
        match block.kind:
            case "tool_use":
                block.call = CallPieces(start.get("id") or "", start.get("name") or "")
                if given := start.get("input"):  # empty at the start of a stream
                    text = given if isinstance(given, str) else json_text(given)
                    block.call.arguments.append(text)
            case "redacted_thinking":
                block.signature = start.get("data") or ""
            case _:
                self._grow(block, start)

    def _grow(self, block: _Block, delta: Mapping[str, Any]) -> None:
        if said := delta.get("text") or delta.get("thinking"):
            block.said.append(said)
        block.signature += delta.get("signature") or ""
        if arguments := delta.get("partial_json"):
            block.call.arguments.append(arguments)

    def preview(self) -> LlmResponse | None:
        """Return the text received since the last preview, or None."""
        thoughts: list[str] = []
        text: list[str] = []
        for block in self._blocks.values():
            if self._is_answer(block):
                pieces = [] if self._is_nested else block.call.arguments
            else:
                pieces = block.said
            (thoughts if block.kind == "thinking" else text).extend(pieces[block.shown :])
            block.shown = len(pieces)
        parts = said_parts(thoughts, text)
        if not parts:
            return None
        content = Content(role="model", parts=parts)
        return LlmResponse(content=content, partial=True, model_version=self._model)

    def response(self) -> LlmResponse:
        """Return the whole answer, with an error code if it was cut off, filtered or malformed."""
        blocks = [block for _, block in sorted(self._blocks.items())]
        if any(map(self._is_answer, blocks)):  # text next to the answer tool is not the answer
            blocks = [block for block in blocks if block.kind != "text"]
        parts = [part for index, block in enumerate(blocks) for part in self._parts(index, block)]
        reason = _REASONS.get(self.finish_reason or "", FinishReason.OTHER)
        return whole_answer(parts, reason, model=self._model, usage=_usage(self._usage))

    def _is_answer(self, block: _Block) -> bool:
        return self._is_formed and block.call.name == ANSWER_TOOL

    def _parts(self, index: int, block: _Block) -> Iterator[Part | None]:
        signature = block.signature.encode() or None
        said = "".join(block.said)
        if block.kind == "tool_use":
            part = block.call.part(index)
            if part is not None and self._is_answer(block):
                args = (part.function_call and part.function_call.args) or {}
                part = Part(text=json_text(args.get(VALUE) if self._is_nested else args))
            yield part
        elif block.kind.endswith("thinking") and (said or signature):
            yield Part(text=said or None, thought=True, thought_signature=signature)
        elif said:
            yield Part(text=said)


def _usage(usage: Json) -> GenerateContentResponseUsageMetadata | None:
    if not usage:
        return None
    # Anthropic's input tokens exclude cache reads and writes, ADK's prompt tokens include them.
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = (usage.get("input_tokens") or 0) + cached
    prompt += usage.get("cache_creation_input_tokens") or 0
    said = usage.get("output_tokens") or 0
    thoughts = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=max(said - thoughts, 0),
        thoughts_token_count=thoughts or None,
        total_token_count=prompt + said,
        cached_content_token_count=cached,
    )


class Claude(HttpModel):
    """A model behind `POST <api_base>/v1/messages`."""

    api_base: str = ANTHROPIC_BASE
    auth_token: SecretStr | None = Field(default=None, exclude=True)
    """Bearer token, which some proxies and accounts require instead of a key."""

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=False)

    @property
    def url(self) -> str:
        base = self.api_base.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        return f"{base}/v1/messages"

    def credentials(self) -> Mapping[str, str]:
        headers = {"anthropic-version": _VERSION}
        if self.api_key is not None:
            headers["x-api-key"] = self.api_key.get_secret_value()
        if self.auth_token is not None:
            headers["authorization"] = f"Bearer {self.auth_token.get_secret_value()}"
        return headers

    def prepare(self, request: LlmRequest, *, stream: bool) -> tuple[dict[str, Any], ClaudeAnswer]:
        most_tokens = self.params.get("max_tokens") or MOST_TOKENS
        body = claude_request(request, self.model, most_tokens=most_tokens, stream=stream)
        return body, ClaudeAnswer(answer_schema(request.config))
