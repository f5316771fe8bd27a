"""A message with files, sent as a form."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.routing import Match
from starlette.types import Scope

from oda.server import LARGE_FORM, Conversations, Refusal

from .chat import Upload, answered
from .models import ChatRequest

_MOST_FILES = 10
_MOST_FIELDS = 16
_TRUE = frozenset({"true", "1", "yes"})


class _FormRoute(APIRoute):
    """A route for forms only, so that another one can take JSON at the same address."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        headers: Mapping[bytes, bytes] = dict(scope.get("headers", ()))
        is_form = headers.get(b"content-type", b"").lower().startswith(b"multipart/form-data")
        return super().matches(scope) if is_form else (Match.NONE, {})


router = APIRouter(route_class=_FormRoute)


@router.post("", include_in_schema=False, openapi_extra=LARGE_FORM)
async def send_cv_form(
    request: Request,
    conversations: Conversations,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Talk about a resume, with files: the fields of a message, and files under any name."""
    async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS) as form:
        body = _message(form)
        uploads = [
            Upload(file.filename or "", file.content_type or "", await file.read())
            for _, file in form.multi_items()
            if isinstance(file, UploadFile)
        ]
    return await answered(conversations, body, accept, uploads)


def _message(form: FormData) -> ChatRequest:
    """Return the message of a form.

    Raises:
        Refusal: a field is missing or wrong.
    """
    fields: dict[str, Any] = {
        name: value for name, value in form.multi_items() if isinstance(value, str)
    }
    if isinstance(version := fields.get("expected_version"), str) and version.isdigit():
        fields["expected_version"] = int(version)
    if isinstance(replaces := fields.get("replace_resume"), str):
        fields["replace_resume"] = replaces.lower() in _TRUE
    if isinstance(name := fields.get("files"), str):
        fields["files"] = [name]
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        errors = [
            {"field": ".".join(str(step) for step in one["loc"]), "message": one["msg"]}
            for one in error.errors()
        ]
        first = f"{errors[0]['field']}: {errors[0]['message']}"
        raise Refusal(422, first, errors=errors) from error
