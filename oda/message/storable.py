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
    return _REFUSED.sub(_REPLACEMENT, text)


def storable_json(text: bytes) -> bytes:
    """JSON in which no escape stands for a character that no JSON column takes."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)


def storable(value: Any) -> Any:
    """`value` as plain JSON; what JSON does not know becomes text, bytes become base64.

    Raises:
        ValueError: it contains itself, is nested too deeply, or cannot be told as text.
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
