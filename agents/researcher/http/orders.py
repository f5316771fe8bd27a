"""A client's order for an article: fields as JSON, or a form with files."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Request
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
)
from starlette.datastructures import FormData, UploadFile

from oda.message.storable import storable
from oda.server import Refusal
from oda.workspace.keeping import upload_name
from oda.workspace.media_types import UNKNOWN, media_type

from ..request import LONGEST_PROMPT, MOST_FILES

_MOST_FIELDS = 16
_MOST_OPTIONS = 100
_NAMES_OF_THE_STORE = frozenset({"metadata.json"})
"""Names of files in which the store keeps metadata of artifacts."""


@dataclass(frozen=True)
class Upload:
    """A file that comes with an order."""

    name: str
    """As the client calls it, made harmless."""
    mime_type: str
    data: bytes

    @classmethod
    def of(cls, name: str | None, mime_type: str | None, data: bytes) -> "Upload":
        """Build the upload of a file.

        Its type follows from its name unless the client specifies one.
        """
        given = None if mime_type == UNKNOWN else mime_type
        safe = upload_name(name, given)
        if safe.casefold() in _NAMES_OF_THE_STORE:
            safe = f"upload-{safe}"
        return cls(safe, given or media_type(safe), data)

    @property
    def artifact(self) -> str:
        """Under which it is kept in its session: the same file has the same name."""
        return f"uploads/{hashlib.sha256(self.data).hexdigest()[:12]}/{self.name}"


class ArticleOrder(BaseModel):
    """An order for an article."""

    model_config = ConfigDict(extra="forbid", strict=True)

    template: Annotated[str, Field(max_length=64)]
    prompt: Annotated[str, Field(max_length=LONGEST_PROMPT)] = ""
    options: Annotated[
        dict[str, JsonValue],
        Field(max_length=_MOST_OPTIONS),
        WithJsonSchema({"type": "object", "maxProperties": _MOST_OPTIONS}),
    ] = {}
    session_id: Annotated[str, Field(max_length=128)] | None = None
    """The session to use; by default a new one."""


async def read_order(request: Request) -> tuple[ArticleOrder, list[Upload]]:
    """Read the body of a request.

    Raises:
        Refusal: it is neither JSON nor a form, or something in it is wrong.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json":
        return order_of(_decoded(await request.body(), "body")), []
    if kind != "multipart/form-data":
        raise Refusal(415, "Send application/json, or multipart/form-data with files.")
    async with request.form(max_files=MOST_FILES, max_fields=_MOST_FIELDS) as form:
        return order_of(_fields(form)), await _files(form)


def order_of(fields: object) -> ArticleOrder:
    """An order from its decoded fields.

    Raises:
        Refusal: something in it is wrong.
    """
    if not isinstance(fields, Mapping):
        raise Refusal(422, "The body is no JSON object.")
    try:
        return ArticleOrder.model_validate(dict(fields))
    except ValidationError as error:
        errors = [
            {"field": ".".join(str(step) for step in one["loc"]), "message": one["msg"]}
            for one in error.errors()
        ]
        message = f"{errors[0]['field']}: {errors[0]['message']}"
        raise Refusal(422, message, errors=errors) from error


def _fields(form: FormData) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        if not isinstance(value, str):
            continue
        if name in fields:
            raise Refusal(422, f"{name}: is there more than once.")
        fields[name] = _decoded(value.encode(), name) if name == "options" else value
    return fields


async def _files(form: FormData) -> list[Upload]:
    files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    return [Upload.of(one.filename, one.content_type, await one.read()) for one in files]


def _decoded(body: bytes, field: str) -> Any:
    try:
        return storable(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise Refusal(400 if field == "body" else 422, f"{field}: is no JSON.") from error
