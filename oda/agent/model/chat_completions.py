"""Conversion between ADK's requests and responses and OpenAI's chat completions API.

Pure functions; `openai_compatible.py` makes the calls. ADK's own conversions are used where they
exist and import no client library.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.integrations.openai._openai_common import (
    build_reasoning_effort,
    is_reasoning_model,
    map_finish_reason,
    serialize_system_instruction,
    strip_unsupported_sampling_params,
    tool_choice,
)
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import (
    Blob,
    Content,
    FileData,
    GenerateContentConfig,
    GenerateContentResponseUsageMetadata,
    Part,
)

from oda.agent.model.chat_schemas import Json, response_format, tool_param
from oda.agent.model.said import (
    RESULT_MISSING,
    CallPieces,
    declarations,
    json_text,
    said_parts,
    whole_answer,
)

_AUDIO_FORMATS = {"audio/mpeg": "mp3", "audio/mp3": "mp3"}
_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")


def chat_request(request: LlmRequest, model: str, *, is_openai: bool, stream: bool) -> Json:
    """Return the body of a call.

    Args:
        request: ADK's request.
        model: The server's name of the model.
        is_openai: Whether the server is OpenAI's own. It rejects fields that compatible servers
            need, such as `max_tokens` and `reasoning_content`, and vice versa.
        stream: Whether to stream the answer.
    """
    config = request.config or GenerateContentConfig()
    body: Json = {"model": model, "messages": list(_messages(request, is_openai))}
    if tools := [tool_param(one) for one in declarations(config)]:
        body["tools"] = tools
        if choice := tool_choice(config):
            body["tool_choice"] = choice
    if config.response_schema is not None or config.response_json_schema is not None:
        if form := response_format(config.response_schema or config.response_json_schema):
            body["response_format"] = form
    elif config.response_mime_type == "application/json":
        body["response_format"] = {"type": "json_object"}
    body |= {name: value for name in _SAMPLING if (value := getattr(config, name)) is not None}
    strip_unsupported_sampling_params(body, model)
    if config.stop_sequences:
        body["stop"] = config.stop_sequences
    if config.max_output_tokens:
        newer = is_openai or is_reasoning_model(model)
        body["max_completion_tokens" if newer else "max_tokens"] = config.max_output_tokens
    if effort := _reasoning_effort(config, model, is_openai):
        body["reasoning_effort"] = effort
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if config.http_options and config.http_options.extra_body:
        body |= config.http_options.extra_body
    return body


def _reasoning_effort(config: GenerateContentConfig, model: str, is_openai: bool) -> str | None:
    thinking = config.thinking_config
    if thinking and thinking.thinking_level and is_reasoning_model(model):
        level = thinking.thinking_level.value.lower()
        return None if level.endswith("unspecified") else level
    return build_reasoning_effort(config, model, "chat", validate=is_openai)


def _messages(request: LlmRequest, is_openai: bool) -> Iterator[Json]:
    """Yield the messages, with a result for each call that lacks one, as servers require that."""
    config = request.config
    if config and (system := serialize_system_instruction(config.system_instruction)):
        yield {"role": "system", "content": system}
    contents = request.contents
    current = _last_user_message(contents)
    unanswered: dict[str, None] = {}
    for place, content in enumerate(contents):
        # Servers that stream reasoning need it back while the turn's tools run, but not later.
        for message in _content_messages(content, with_reasoning=not is_openai and place > current):
            if message["role"] == "tool":
                unanswered.pop(message["tool_call_id"], None)
            else:
                yield from _missing_results(unanswered)
                unanswered = {call["id"]: None for call in message.get("tool_calls", ())}
            yield message
    yield from _missing_results(unanswered)


def _last_user_message(contents: list[Content]) -> int:
    """Return the index of the user's latest message, or -1."""
    for place in range(len(contents) - 1, -1, -1):
        parts = contents[place].parts or ()
        if contents[place].role == "user" and not any(part.function_response for part in parts):
            return place
    return -1


def _missing_results(call_ids: Iterable[str]) -> Iterator[Json]:
    for call_id in call_ids:
        yield {"role": "tool", "tool_call_id": call_id, "content": RESULT_MISSING}


def _content_messages(content: Content, *, with_reasoning: bool) -> Iterator[Json]:
    if content.role in ("model", "assistant"):
        yield from _model_messages(content.parts or (), with_reasoning)
        return
    said: list[Part] = []
    for part in content.parts or ():
        if result := part.function_response:
            answer = result.response
            text = answer if isinstance(answer, str) else json_text(answer)
            yield {"role": "tool", "tool_call_id": result.id or "", "content": text}
            # A tool message holds text only, so media follow in a user message.
            said += [
                Part(inline_data=Blob(mime_type=media.mime_type, data=media.data))
                for one in result.parts or ()
                if (media := one.inline_data)
            ]
        elif not part.thought:
            said.append(part)
    if pieces := [piece for part in said if (piece := _piece(part))]:
        yield {"role": "user", "content": _join_text(pieces) or pieces}


def _model_messages(parts: Iterable[Part], with_reasoning: bool) -> Iterator[Json]:
    message: Json = {"role": "assistant"}
    pieces: list[Json] = []
    calls: list[Json] = []
    reasoning: list[str] = []
    for part in parts:
        if call := part.function_call:
            function = {"name": call.name, "arguments": json_text(call.args or {})}
            calls.append({"id": call.id or "", "type": "function", "function": function})
        elif part.thought:
            reasoning.append(part.text or "")
        elif piece := _piece(part):
            pieces.append(piece)
    # The API accepts only text in assistant messages.
    if text := _join_text([piece for piece in pieces if piece["type"] == "text"]):
        message["content"] = text
    if calls:
        message["tool_calls"] = calls
    if with_reasoning and reasoning and calls:
        message["reasoning_content"] = "".join(reasoning)
    if len(message) > 1:
        yield message


def _piece(part: Part) -> Json | None:
    if part.text:
        return {"type": "text", "text": part.text}
    if part.inline_data and part.inline_data.data:
        return _inline_piece(part.inline_data.data, part.inline_data)
    if part.file_data and part.file_data.file_uri:
        return _reference_piece(part.file_data.file_uri, part.file_data)
    return None


def _inline_piece(data: bytes, blob: Blob) -> Json:
    mime_type = (blob.mime_type or "application/octet-stream").partition(";")[0].strip().lower()
    family, _, subtype = mime_type.partition("/")
    if family == "text":
        return {"type": "text", "text": data.decode(errors="replace")}
    encoded = base64.b64encode(data).decode()
    if family == "audio":
        form = _AUDIO_FORMATS.get(mime_type, subtype.removeprefix("x-"))
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": form}}
    url = f"data:{mime_type};base64,{encoded}"
    if family in ("image", "video"):
        return {"type": f"{family}_url", f"{family}_url": {"url": url}}
    name = blob.display_name or f"file.{subtype}"
    return {"type": "file", "file": {"filename": name, "file_data": url}}


def _reference_piece(uri: str, file: FileData) -> Json:
    family = (file.mime_type or "").partition("/")[0]
    if uri.startswith(("https://", "http://")) and family in ("", "image", "video"):
        kind = f"{family or 'image'}_url"
        return {"type": kind, kind: {"url": uri}}
    if uri.startswith("file-"):
        return {"type": "file", "file": {"file_id": uri}}
    return {"type": "text", "text": f"[file: {file.display_name or file.mime_type or 'unnamed'}]"}


def _join_text(pieces: list[Json]) -> str | None:
    """Return the pieces as one text, or None if some are not text."""
    # Not all servers accept lists.
    if all(piece["type"] == "text" for piece in pieces):
        return "\n".join(piece["text"] for piece in pieces)
    return None


@dataclass
class Answer:
    """Accumulates one answer from its chunks."""

    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _shown: tuple[int, int] = (0, 0)
    _calls: dict[int, CallPieces] = field(default_factory=dict)
    _model: str | None = None
    _usage: Json | None = None
    finish_reason: str | None = None
    """The provider's finish reason; None until the provider has completed the answer."""

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add a chunk of a stream, or a whole body."""
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        for choice in (chunk.get("choices") or ())[:1]:
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            said = choice.get("delta") or choice.get("message") or {}
            if text := said.get("content"):
                self._text.append(text)
            # DeepSeek and vLLM use the first name, OpenRouter the second.
            reasoning = said.get("reasoning_content") or said.get("reasoning")
            if isinstance(reasoning, str) and reasoning:
                self._reasoning.append(reasoning)
            for place, delta in enumerate(said.get("tool_calls") or ()):
                self._add_call(place, delta)

    def _add_call(self, place: int, delta: Mapping[str, Any]) -> None:
        index = delta.get("index")
        call = self._calls.setdefault(place if index is None else index, CallPieces())
        function = delta.get("function") or {}
        call.id = delta.get("id") or call.id
        call.name = function.get("name") or call.name
        arguments = function.get("arguments")
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json_text(arguments))

    def preview(self) -> LlmResponse | None:
        """Return the text received since the last preview, or None."""
        reasoning, text = self._shown
        self._shown = (len(self._reasoning), len(self._text))
        parts = said_parts(self._reasoning[reasoning:], self._text[text:])
        if not parts:
            return None
        content = Content(role="model", parts=parts)
        return LlmResponse(content=content, partial=True, model_version=self._model)

    def response(self) -> LlmResponse:
        """Return the whole answer, with an error code if it was cut off, filtered or malformed."""
        calls = [call.part(index) for index, call in sorted(self._calls.items())]
        return whole_answer(
            [*said_parts(self._reasoning, self._text), *calls],
            map_finish_reason(self.finish_reason),
            model=self._model,
            usage=_usage(self._usage),
        )


def _usage(usage: Json | None) -> GenerateContentResponseUsageMetadata | None:
    if usage is None:
        return None
    # ADK's candidate tokens exclude thoughts, OpenAI's completion tokens include them.
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    said = usage.get("completion_tokens") or 0
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=usage.get("prompt_tokens"),
        candidates_token_count=max(said - thoughts, 0),
        thoughts_token_count=thoughts or None,
        total_token_count=usage.get("total_tokens"),
        cached_content_token_count=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
    )
