"""Values that every store takes: JSON, in text that PostgreSQL accepts too."""

import math
import re
from typing import Any

from pydantic_core import to_jsonable_python

_REFUSED = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(u(?:[dD][89a-fA-F][\da-fA-F]{2}|0000))|.)",
    re.DOTALL,
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable_text(text: str) -> str:
    """`text` with the characters replaced that no JSON column takes."""
    if text.isascii() and "\0" not in text:  # much faster than to search
        return text
    return _REFUSED.sub(_REPLACEMENT, text)


def storable_json(text: bytes) -> bytes:
    """Return JSON without escapes of characters that JSON columns reject."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)


def is_storable(value: Any) -> bool:
    """Check whether `storable` would keep every text in a JSON value unchanged."""
    if isinstance(value, str):
        return _REFUSED.search(value) is None
    if isinstance(value, dict):
        return all(is_storable(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return all(map(is_storable, value))
    return True


def storable(value: Any) -> Any:
    """Return `value` as plain JSON; other types become text, bytes become base64.

    Raises:
        ValueError: it contains itself, is nested too deeply, or has no text representation.
    """
    try:
        return _clean(
            to_jsonable_python(value, fallback=str, serialize_unknown=True, bytes_mode="base64")
        )
    except Exception as error:  # `fallback` calls code that is not ours
        raise ValueError(f"not storable: {type(error).__name__}: {error}") from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
