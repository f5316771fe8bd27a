"""Pictures and recordings as they come in JSON."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

_SIGNATURES: Sequence[tuple[int, bytes, str]] = (
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1a\x45\xdf\xa3", "audio/webm"),
    (4, b"ftyp", "audio/mp4"),
)
"""Media types by the signature at an offset of the file."""


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        raise PydanticCustomError("base64", "it must be a text in base64")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise PydanticCustomError(
            "base64", "it is no base64; send the bytes alone, without `data:…,`"
        ) from None


Data = Annotated[
    bytes,
    BeforeValidator(_decoded, json_schema_input_type=str),
    Field(min_length=1, json_schema_extra={"type": "string", "format": "byte", "minLength": 2}),
]
"""Bytes in base64."""
WebAddress = Annotated[str, Field(pattern=r"^https?://[^\s/?#]", max_length=2048)]


def kind_of(data: bytes, *, default: str) -> str:
    """Return the media type of a file, detected from its first bytes."""
    for position, signature, kind in _SIGNATURES:
        if data.startswith(signature, position):
            return kind
    return default
