"""The schema of a user's message; `parse_content` also accepts ADK's other forms."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from oda.message.content import MOST_PARTS
from oda.server.openapi import DocumentedAs

_Text = Annotated[str, Field(pattern=r"\S")]
_Base64 = Annotated[str, Field(min_length=2, json_schema_extra={"format": "byte"})]


class _Documented(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextPart(_Documented):
    text: _Text


class InlineData(_Documented):
    mimeType: Annotated[str, Field(min_length=1)]
    data: _Base64


class InlineDataPart(_Documented):
    """Bytes that are sent along."""

    inlineData: InlineData


class FileData(_Documented):
    fileUri: Annotated[str, Field(json_schema_extra={"format": "uri"})]
    mimeType: str | None = None


class FileDataPart(_Documented):
    """A file that the model fetches; never one of this machine."""

    fileData: FileData


class UserMessage(_Documented):
    """A message of several parts."""

    parts: Annotated[
        list[TextPart | InlineDataPart | FileDataPart], Field(min_length=1, max_length=MOST_PARTS)
    ]


Message = Annotated[str | dict[str, Any], DocumentedAs(_Text | UserMessage)]
"""A text, or `{"parts": […]}` in ADK's form."""
