"""Conversion between the parts of A2A and those of ADK. Pure functions."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from mimetypes import guess_type
from typing import Any

from a2a import types as a2a
from a2a.helpers import new_data_part, new_raw_part, new_url_part
from google.genai.types import FunctionCall, FunctionResponse, Part
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from oda.message.json_integer import json_integer
from oda.message.storable import storable, storable_text
from oda.session.artifacts import ANY_TYPE

ADK_TYPE = "adk_type"
"""Metadata by which ADK's own A2A agents know the calls of tools and their results."""
FUNCTION_CALL, FUNCTION_RESPONSE = "function_call", "function_response"
_LONG_RUNNING = "adk_is_long_running"


def part_of(part: Part, name: str = "") -> a2a.Part | None:
    """Return an ADK part as a part of A2A; None for thoughts and what clients need not know.

    Args:
        name: Name of the file, if it is one.
    """
    if part.text is not None:
        return None if part.thought else a2a.Part(text=storable_text(part.text), filename=name)
    if (blob := part.inline_data) is not None:
        return new_raw_part(blob.data or b"", blob.mime_type, name or blob.display_name)
    if (file := part.file_data) is not None:
        return new_url_part(file.file_uri or "", file.mime_type, name or file.display_name)
    if part.function_call is not None:
        return call_part(part.function_call)
    if part.function_response is not None:
        return _data_part(part.function_response, FUNCTION_RESPONSE)
    return None


def parts_of(parts: Iterable[Part] | None) -> list[a2a.Part]:
    return [converted for part in parts or () if (converted := part_of(part)) is not None]


def call_part(call: FunctionCall, *, asks: bool = False) -> a2a.Part:
    """Return a call of a tool.

    Args:
        asks: Whether it is a question, which the client answers.
    """
    part = _data_part(call, FUNCTION_CALL)
    if asks:
        part.metadata.update({_LONG_RUNNING: True})
    return part


def _data_part(data: FunctionCall | FunctionResponse, kind: str) -> a2a.Part:
    fields = data.model_dump(mode="json", by_alias=True, exclude_none=True)
    part = new_data_part(storable(fields))
    part.metadata.update({ADK_TYPE: kind})
    return part


def written_parts(parts: Iterable[a2a.Part]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a client's message in ADK's form; data as a text of JSON."""
    for part in parts:
        match part.WhichOneof("content"):
            case "text":
                yield {"text": part.text}
            case "raw":
                kind = part.media_type or guess_type(part.filename)[0] or ANY_TYPE
                data = b64encode(part.raw).decode()
                yield {"inlineData": {"mimeType": kind, "data": data, **_named(part)}}
            case "url":
                kind = part.media_type or guess_type(part.filename or part.url)[0] or ANY_TYPE
                yield {"fileData": {"mimeType": kind, "fileUri": part.url, **_named(part)}}
            case "data":
                yield {"text": json.dumps(data_of(part), ensure_ascii=False)}


def _named(part: a2a.Part) -> dict[str, str]:
    return {"displayName": part.filename} if part.filename else {}


def data_of(part: a2a.Part) -> Any:
    """Return the data of a part as JSON."""
    return _with_integers(MessageToDict(part.data))


def metadata_of(holder: a2a.Message | a2a.SendMessageRequest | a2a.Part) -> dict[str, Any]:
    """Return the metadata of a part, a message or a request as JSON."""
    found: dict[str, Any] = _with_integers(MessageToDict(holder.metadata))
    return found


def _with_integers(value: Any) -> Any:
    """Return JSON with the integers that Protocol Buffers have made floats."""
    if isinstance(value, Mapping):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return json_integer(value)
