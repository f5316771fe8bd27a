"""A photo in a request: its data, as base64 or as a data URL, or where it is."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from oda.orchestration.user_input import Medium

_DATA_URL = re.compile(r"data:(?P<type>image/[\w.+-]+);base64,(?P<data>.+)", re.DOTALL)
_ADDRESS = re.compile(r"^https?://[^\s/?#]")
_MAX_BASE64 = 28_000_000
"""20 MB of data."""

_BASE64: dict[str, Any] = {
    "type": "string",
    "format": "base64",
    "minLength": 4,
    "maxLength": _MAX_BASE64,
}
_TYPE: dict[str, Any] = {"type": "string", "pattern": "^image/", "maxLength": 255}
_PLACE: dict[str, Any] = {"type": "string", "pattern": _ADDRESS.pattern, "maxLength": 2048}


class _Picture(BaseModel):
    data: Annotated[str, Field(min_length=4, max_length=_MAX_BASE64)] | None = None
    url: Annotated[str, Field(pattern=_ADDRESS.pattern, max_length=2048)] | None = None
    mime_type: Annotated[str, Field(pattern="^image/", max_length=255)] = "image/jpeg"


def _medium(value: object) -> object:
    """As the kernel reads pictures.

    Raises:
        ValueError: it is no picture, or two.
    """
    if isinstance(value, str):
        value = _written_out(value)
    picture = _Picture.model_validate(value)
    if (picture.data is None) == (picture.url is None):
        raise ValueError("an image needs either data or url")
    return picture.model_dump()


def _written_out(value: str) -> dict[str, str]:
    if found := _DATA_URL.fullmatch(value):
        return {"data": found["data"], "mime_type": found["type"]}
    return {"url": value} if _ADDRESS.match(value) else {"data": value}


Picture = Annotated[
    Medium,
    BeforeValidator(_medium),
    WithJsonSchema(
        {
            "anyOf": [
                _BASE64,
                {**_PLACE, "description": "an address, or a data URL"},
                {
                    "type": "object",
                    "properties": {"data": _BASE64, "mime_type": _TYPE},
                    "required": ["data"],
                    "not": {"required": ["url"]},
                },
                {
                    "type": "object",
                    "properties": {"url": _PLACE, "mime_type": _TYPE},
                    "required": ["url"],
                    "not": {"required": ["data"]},
                },
            ]
        },
        mode="validation",
    ),
]
"""`{data | url, mime_type?}`, or only the address, the data URL or the base64 of one."""
