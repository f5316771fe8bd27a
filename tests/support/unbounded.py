"""Places of request bodies for which an OpenAPI document names no bound.

Two rules bound the rest (`LimitSettings`): a body is at most `small_body_bytes` with at most
`json_values` values in it, which is the bound of JSON of any shape, such as a state or a resume,
and of a message without its files; a file is at most `body_bytes`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_TEXTS_OF_MESSAGES = frozenset(
    {
        *("SubmitTurn.message", "TextInput.text", "TextPart.text"),
        *("FileData.fileUri", "FileData.mimeType", "InlineData.mimeType"),
    }
)
_FORMATS = frozenset({"base64", "binary", "byte", "date", "date-time"})
"""Files, and what is short by its form."""
_VARIANTS = ("anyOf", "oneOf", "allOf")


def unbounded_places(document: Schema) -> list[str]:
    """List texts, lists and maps in request bodies that may be as long as a client likes."""
    found = {
        place
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for kind, media in operation.get("requestBody", {}).get("content", {}).items()
        for place in _in(document, media.get("schema", {}), f"{method} {path} {kind}", frozenset())
    }
    return sorted(found)


def _in(document: Schema, schema: Schema, place: str, seen: frozenset[str]) -> Iterator[str]:
    if reference := schema.get("$ref"):
        if reference in seen:
            return
        seen |= {reference}
        place = reference.rpartition("/")[2]
        schema = document["components"]["schemas"][place]
    for variant in (one for kind in _VARIANTS for one in schema.get(kind, ())):
        yield from _in(document, variant, place, seen)
    match schema.get("type"):
        case "string" if _is_unbounded_text(schema) and place not in _TEXTS_OF_MESSAGES:
            yield f"{place}: a text"
        case "array":
            if "maxItems" not in schema:
                yield f"{place}: a list"
            yield from _in(document, schema.get("items", {}), f"{place}[]", seen)
        case "object":
            yield from _in_object(document, schema, place, seen)


def _is_unbounded_text(schema: Schema) -> bool:
    bounds = {"maxLength", "enum", "const"} & schema.keys()
    return not bounds and schema.get("format") not in _FORMATS


def _in_object(document: Schema, schema: Schema, place: str, seen: frozenset[str]) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield from _in(document, inner, f"{place}.{name}", seen)
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others:
        if "maxProperties" not in schema:
            yield f"{place}: a map"
        yield from _in(document, others, f"{place}.*", seen)
