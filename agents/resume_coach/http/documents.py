"""The resume as a file, and a coaching that begins with a file or with the resume of `cv`."""

import asyncio
import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import FormData, UploadFile

from mcp_tools.resume import JsonObject, Language, ResumeError
from mcp_tools.resume.export import Format, Template, render
from mcp_tools.resume.importing import import_resume
from oda import read_apart
from oda.message.language import language_of
from oda.server import (
    LARGE_BODY,
    Conversations,
    Refusal,
    download_headers,
    page_headers,
    problem_responses,
)

from ..files import file_name, job_text
from ..messages import Start
from ..view import View
from .sessions import BEGUN, SessionId, begin, begun, router_prefix

router = APIRouter(prefix=router_prefix, tags=["resume_coach"])

_CV = "cv"
_CV_RESUME = "resume"
"""Key of the resume in the state of a session of `cv`."""
_STATUS = {
    "file_too_large": 413,
    "unknown_file_type": 415,
    "export_not_installed": 501,
    "export_no_font": 501,
    "reader_missing": 501,
    "reader_unconfined": 501,
}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_FILES: dict[str, Any] = {
    "content": {
        "application/pdf": _BYTES,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": _BYTES,
        "text/html": _BYTES,
        "text/markdown": _BYTES,
        "application/json": {"schema": {"type": "object"}},
    }
}
_BINARY = {"type": "string", "format": "binary"}
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "description": "The resume, what is wanted of it, and the job as a text or a file",
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {
                        "file": _BINARY,
                        "intent": {"type": "string", "maxLength": 4000},
                        "job": {"type": "string", "maxLength": 20_000},
                        "job_file": _BINARY,
                    },
                }
            },
        },
    },
    **LARGE_BODY,
}


class FromCv(BaseModel):
    """A conversation of `cv` whose resume is to be coached."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cv_session_id: Annotated[
        str, Field(min_length=1, max_length=128, json_schema_extra={"format": "id"})
    ]
    intent: Annotated[str, Field(max_length=4000)] = ""
    job: Annotated[str, Field(max_length=20_000)] = ""


@router.get(
    "/{session_id}/resume",
    response_model=None,
    responses={200: _FILES, **problem_responses(404, 409, 501)},
)
async def get_coaching_resume(
    session_id: SessionId,
    conversations: Conversations,
    format: Annotated[Format, Query(description="The kind of the file")] = "json",
    template: Annotated[Template, Query(description="The look of HTML, DOCX and PDF")] = "classic",
    language: Annotated[
        Language | None, Query(description="Of headings and dates; by default the resume's")
    ] = None,
) -> Response:
    """The resume as it is now, as a file; JSON is the document itself."""
    state = begun(await conversations.get(session_id))
    resume = state.document
    try:
        rendered = await asyncio.to_thread(
            render, resume, format, template=template, language=language
        )
    except ResumeError as error:
        raise _refusal(error, state.language, "format") from error
    name = file_name(resume, rendered.suffix)
    headers = page_headers(name) if format == "html" else download_headers(name)
    if format == "json":
        headers = {}
    tag = f'"{hashlib.sha256(rendered.content).hexdigest()[:32]}"'
    return Response(
        rendered.content, media_type=rendered.media_type, headers={**headers, "ETag": tag}
    )


@router.post(
    "/import",
    status_code=201,
    response_model=View,
    openapi_extra=_UPLOAD,
    responses={201: BEGUN, **problem_responses(400, 409, 413, 415, 501)},
)
async def start_coaching_from_file(
    request: Request,
    conversations: Conversations,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Begin with a PDF, DOCX, Markdown, text or JSON file; its type is detected from its bytes."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise Refusal(415, "Send the file as multipart/form-data, in the field 'file'.")
    async with request.form(max_files=2, max_fields=4) as form:
        intent, job = _text(form, "intent", 4000), _text(form, "job", 20_000)
        language = language_of(intent)
        file = form.get("file")
        if not isinstance(file, UploadFile):
            message = "The form has no file in its field 'file'."
            raise Refusal(422, message, errors=[{"field": "file", "message": message}])
        content, name = await file.read(), file.filename
        job_file = form.get("job_file")
        described = await job_file.read() if isinstance(job_file, UploadFile) else None
    try:
        imported = await import_resume(content, filename=name, read=read_apart)
    except ResumeError as error:
        raise _refusal(error, language, "file") from error
    if described is not None:
        try:
            job = await job_text(described)
        except ResumeError as error:
            raise _refusal(error, language, "job_file") from error
    document: JsonObject = imported.resume.to_json()
    start = Start(resume=document, intent=intent, job=job)
    return await begin(start, conversations, accept, notes=imported.warnings)


@router.post(
    "/from-cv",
    status_code=201,
    response_model=View,
    responses={201: BEGUN, **problem_responses(404, 409, 413, 415)},
)
async def start_coaching_from_cv(
    body: FromCv,
    conversations: Conversations,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Begin with the resume of a conversation with `cv`, which stays as it is.

    The result goes back as `resume_data` with `replace_resume`, as one edit that can be undone.
    """
    session = await conversations.of_app(_CV).get(body.cv_session_id)
    document = session.state.to_dict().get(_CV_RESUME)
    resume = {name: one for name, one in (document or {}).items() if name != "meta"}
    return await begin(
        Start(resume=resume, intent=body.intent, job=body.job), conversations, accept
    )


def _text(form: FormData, name: str, longest: int) -> str:
    value = form.get(name)
    text = value if isinstance(value, str) else ""
    if len(text) > longest:
        message = f"'{name}' has more than {longest} characters."
        raise Refusal(422, message, errors=[{"field": name, "message": message}])
    return text


def _refusal(error: ResumeError, language: Language, field: str) -> Refusal:
    message, status = error.message(language), _STATUS.get(error.code, 422)
    errors = [{"field": field, "message": message}] if status == 422 else []
    return Refusal(status, message, code=error.code, errors=errors)
