"""What a client may say, as the document tells it; `parse_content` also takes ADK's other forms."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

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

    parts: Annotated[list[TextPart | InlineDataPart | FileDataPart], Field(min_length=1)]


class _DocumentedAs:
    """Lets a loosely typed field have the JSON Schema of another type."""

    def __init__(self, other: Any) -> None:
        self._core_schema = TypeAdapter(other).core_schema

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self._core_schema)


Message = Annotated[str | dict[str, Any], _DocumentedAs(_Text | UserMessage)]
"""A text, or `{"parts": […]}` in ADK's form."""
