"""Conversion of ADK's requests to bodies of Anthropic's messages API.

Pure functions; `claude.py` makes the calls.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.adk.integrations.openai._openai_common import serialize_system_instruction
from google.adk.models._prompt_cache import resolve_cache_config, use_one_hour_ttl
from google.adk.models.llm_request import LlmRequest
from google.genai.types import (
    Content,
    FunctionCallingConfigMode,
    FunctionResponse,
    GenerateContentConfig,
    Part,
)

from oda.agent.model.chat_schemas import Json, json_schema, tool_param
from oda.agent.model.said import (
    RESULT_MISSING,
    declarations,
    json_text,
)

MOST_TOKENS = 8192
"""Default limit of an answer, as the API requires one."""

ANSWER_TOOL = "structured_output"
"""Name of the answer tool, used for structured answers: only newer models accept a schema."""

VALUE = "response"
"""Parameter of the answer tool for a value that is not an object."""

_INVALID_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_CHOICES: Mapping[Any, Json] = {
    FunctionCallingConfigMode.AUTO: {"type": "auto"},
    FunctionCallingConfigMode.ANY: {"type": "any"},
    FunctionCallingConfigMode.NONE: {"type": "none"},
}


def claude_request(request: LlmRequest, model: str, *, most_tokens: int, stream: bool) -> Json:
    """Return the body of a call.

    Args:
        request: ADK's request.
        model: The server's name of the model.
        most_tokens: Limit of the answer in tokens, unless the request has one.
        stream: Whether to stream the answer.
    """
    config = request.config or GenerateContentConfig()
    thinking = _thinking(config)
    thinks = thinking.get("thinking", {"type": "disabled"})["type"] != "disabled"
    limit = config.max_output_tokens or most_tokens
    budget = thinking.get("thinking", {}).get("budget_tokens", 0)
    # The API's limit includes thoughts, which must leave room for the answer.
    body: Json = {"model": model, "max_tokens": limit if limit > budget else budget + limit}
    if system := serialize_system_instruction(config.system_instruction):
        body["system"] = [{"type": "text", "text": system}]
    body["messages"] = _messages(request.contents)
    body |= _tools(config, may_force=not thinks) | thinking
    if not thinks and "output_config" not in thinking:  # rejected while thinking
        sampling = {name: getattr(config, name) for name in ("temperature", "top_p")}
        sampling["top_k"] = None if config.top_k is None else int(config.top_k)
        body |= {name: value for name, value in sampling.items() if value is not None}
    if config.stop_sequences:
        body["stop_sequences"] = config.stop_sequences
    if stream:
        body["stream"] = True
    if (cache := resolve_cache_config(request)) is not None:
        _set_cache_breakpoints(body, {"ttl": "1h"} if use_one_hour_ttl(cache) else {})
    if config.http_options and config.http_options.extra_body:
        body |= config.http_options.extra_body
    return body


def answer_schema(config: GenerateContentConfig | None) -> Any:
    """Return the schema for the answer tool, or None if none is used.

    Requests with tools have no answer tool: forcing the model to call it would keep it from using
    the others.
    """
    if config is None or next(declarations(config), None) is not None:
        return None
    return config.response_schema or config.response_json_schema


def _thinking(config: GenerateContentConfig) -> Json:
    """Return the body's fields that control thinking; empty if it is not configured."""
    asked = config.thinking_config
    # A field of ADK's `AnthropicGenerateContentConfig`; importing that imports Anthropic's client.
    effort = getattr(config, "effort", None)
    if asked and not effort and (level := asked.thinking_level):
        word = level.value.lower()
        effort = {"thinking_level_unspecified": None, "minimal": "low"}.get(word, word)
    fields: Json = {"output_config": {"effort": effort}} if effort else {}
    budget = asked.thinking_budget if asked else None
    if budget == 0:
        fields["thinking"] = {"type": "disabled"}
    elif budget is not None and budget > 0:
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif asked and (effort or budget or asked.include_thoughts):
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    return fields


def _tools(config: GenerateContentConfig, *, may_force: bool) -> Json:
    if schema := answer_schema(config):
        declared, _ = answer_tool(schema)
        choice: Json = {"type": "tool", "name": ANSWER_TOOL} if may_force else {"type": "auto"}
        return {
            "tools": [{"name": ANSWER_TOOL, "description": "Give the answer.", **declared}],
            "tool_choice": {**choice, "disable_parallel_tool_use": True},
        }
    tools = []
    for declaration in declarations(config):
        function = tool_param(declaration)["function"]
        schema = function.pop("parameters")
        tools.append({**function, "input_schema": schema})
    if not tools:
        return {}
    calling = config.tool_config and config.tool_config.function_calling_config
    chosen = _CHOICES.get(calling.mode) if calling else None
    return {"tools": tools, **({"tool_choice": chosen} if chosen else {})}


def answer_tool(schema: Any) -> tuple[Json, bool]:
    """Return the schema of the answer tool, and whether the answer is nested in `VALUE`."""
    wanted = json_schema(schema)
    if wanted.get("type") == "object":
        return {"input_schema": wanted}, False
    definitions = {"$defs": wanted.pop("$defs")} if "$defs" in wanted else {}
    outer = {"type": "object", "properties": {VALUE: wanted}, "required": [VALUE]}
    return {"input_schema": outer | definitions}, True


def _set_cache_breakpoints(body: Json, lifetime: Json) -> None:
    """Set cache breakpoints after the tools, the instructions and the messages."""
    mark = {"type": "ephemeral", **lifetime}
    said = (block for message in reversed(body["messages"]) for block in message["content"][::-1])
    cacheable = (block for block in said if not block["type"].endswith("thinking"))
    ends = [*body.get("tools", ())[-1:], *body.get("system", ()), next(cacheable, None)]
    for block in filter(None, ends):
        block["cache_control"] = mark


def _messages(contents: Iterable[Content]) -> list[Json]:
    """Return the messages with alternating roles, each call followed by its result."""
    messages: list[Json] = []
    unanswered: dict[str | None, None] = {}
    for content in contents:
        is_model = content.role in ("model", "assistant")
        blocks = list(_model_blocks(content) if is_model else _user_blocks(content))
        if not blocks:
            continue
        if is_model:
            _add(messages, "user", _missing_results(unanswered))
            unanswered = {block["id"]: None for block in blocks if block["type"] == "tool_use"}
        else:
            for block in blocks:
                unanswered.pop(block.get("tool_use_id"), None)
        _add(messages, "assistant" if is_model else "user", blocks)
    _add(messages, "user", _missing_results(unanswered))
    if messages and messages[0]["role"] == "assistant":  # the API requires a user message first
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": "…"}]})
    return messages


def _add(messages: list[Json], role: str, blocks: list[Json]) -> None:
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        said = messages[-1]["content"]
        # The API requires results before other blocks of a message.
        results = [block for block in blocks if block["type"] == "tool_result"]
        place = next((i for i, b in enumerate(said) if b["type"] != "tool_result"), len(said))
        said[place:place] = results
        said += [block for block in blocks if block["type"] != "tool_result"]
    else:
        messages.append({"role": role, "content": blocks})


def _missing_results(call_ids: Iterable[str | None]) -> list[Json]:
    return [
        {"type": "tool_result", "tool_use_id": call_id, "content": RESULT_MISSING}
        for call_id in call_ids
    ]


def _model_blocks(content: Content) -> Iterator[Json]:
    for part in content.parts or ():
        if call := part.function_call:
            # Other models, for example a fallback, may have chosen ids that Anthropic rejects.
            yield {
                "type": "tool_use",
                "id": _valid_id(call.id),
                "name": call.name,
                "input": call.args or {},
            }
        elif part.thought:
            yield from _thought_blocks(part)
        elif part.text and part.text.strip():
            yield {"type": "text", "text": part.text}


def _thought_blocks(part: Part) -> Iterator[Json]:
    """Yield a thought signed by Claude; the API rejects those of other models."""
    try:
        signature = (part.thought_signature or b"").decode("ascii")
    except UnicodeDecodeError:
        return
    if signature and part.text:
        yield {"type": "thinking", "thinking": part.text, "signature": signature}
    elif signature:
        yield {"type": "redacted_thinking", "data": signature}


def _user_blocks(content: Content) -> Iterator[Json]:
    parts = content.parts or ()
    for part in parts:
        if part.function_response:
            yield _result_block(part.function_response)
    for part in parts:
        if not part.function_response and not part.thought and (block := _block(part)):
            yield block


def _result_block(result: FunctionResponse) -> Json:
    answer = result.response
    text = answer if isinstance(answer, str) else json_text(answer)
    media = [
        block
        for one in result.parts or ()
        if (blob := one.inline_data) and blob.data and (block := _inline_block(blob.data, blob))
    ]
    return {
        "type": "tool_result",
        "tool_use_id": _valid_id(result.id),
        "content": [{"type": "text", "text": text}, *media] if media else text,
    }


def _valid_id(given: str | None) -> str:
    return _INVALID_IN_IDS.sub("_", given or "") or "call"


def _block(part: Part) -> Json | None:
    if part.text and part.text.strip():
        return {"type": "text", "text": part.text}
    if part.inline_data and part.inline_data.data:
        return _inline_block(part.inline_data.data, part.inline_data)
    if (file := part.file_data) and (uri := file.file_uri):
        kind = _kind(_mime_type(file) or "image/png")
        if uri.startswith("https://") and kind:
            return {"type": kind, "source": {"type": "url", "url": uri}}
        return _placeholder_block(file)
    return None


def _inline_block(data: bytes, blob: Any) -> Json:
    mime_type = _mime_type(blob)
    if mime_type.startswith("text/"):
        return {"type": "text", "text": data.decode(errors="replace")}
    if kind := _kind(mime_type):
        encoded = base64.b64encode(data).decode()
        source = {"type": "base64", "media_type": mime_type, "data": encoded}
        return {"type": kind, "source": source}
    return _placeholder_block(blob)


def _placeholder_block(file: Any) -> Json:
    """Return a text block in place of a file that Claude cannot read."""
    return {"type": "text", "text": f"[file: {file.display_name or file.mime_type or 'unnamed'}]"}


def _mime_type(file: Any) -> str:
    mime_type: str = (file.mime_type or "").partition(";")[0].strip().lower()
    return mime_type


def _kind(mime_type: str) -> str | None:
    if mime_type in _PICTURES:
        return "image"
    return "document" if mime_type == "application/pdf" else None
