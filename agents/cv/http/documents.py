"""The resume as a file, and a file as a resume."""

import asyncio
import hashlib
import json
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.datastructures import UploadFile

from mcp_tools.resume import JsonObject, Language, Resume, ResumeError
from mcp_tools.resume.export import Format, Rendered, Template, render
from mcp_tools.resume.importing import import_resume
from oda import read_apart
from oda.server import (
    LARGE_BODY,
    Conversations,
    Refusal,
    download_headers,
    page_headers,
    path_of,
    problem_responses,
)

from ..files import file_name
from ..memory import RESUME_KEY, Memory
from .models import RESUME, ImportResponse, ResumeDocument
from .refusals import refusal

router = APIRouter()

SessionId = Annotated[
    str, Path(max_length=128, json_schema_extra={"format": "id"}, description="Of the conversation")
]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_FILES = {
    "content": {
        "application/pdf": _BYTES,
        _DOCX: _BYTES,
        "text/html": _BYTES,
        "text/markdown": _BYTES,
    }
}
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "description": "The field of a form, or the file itself, sent as whatever it is",
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            },
            "application/octet-stream": _BYTES,
        },
    },
    **LARGE_BODY,
}


@router.get(
    "/{session_id}/resume",
    response_model=ResumeDocument,
    responses={200: _FILES, **problem_responses(404)},
)
async def get_cv_resume(
    session_id: SessionId,
    conversations: Conversations,
    format: Annotated[
        Format | None,
        Query(description="JSON as its official schema has it; by default the document itself"),
    ] = None,
    template: Annotated[Template, Query(description="The look of HTML, DOCX and PDF")] = "classic",
    language: Annotated[
        Language | None, Query(description="Of headings and dates; by default the resume's")
    ] = None,
) -> Response:
    """The resume of a conversation, as the document or as a file."""
    session = await conversations.get(session_id)
    try:
        resume = Memory(session.state.to_dict()).resume
        if format is None:
            return _plain(resume.to_json())
        rendered = await asyncio.to_thread(
            render, resume, format, template=template, language=language
        )
    except ResumeError as error:
        raise refusal(error, language, field=RESUME_KEY) from error
    if format == "json":
        headers = {"ETag": _tag(rendered.content)}
        return Response(rendered.content, media_type=rendered.media_type, headers=headers)
    return _file(resume, rendered, is_page=format == "html")


@router.post(
    "/import",
    status_code=201,
    openapi_extra=_UPLOAD,
    responses={201: {"links": RESUME}, **problem_responses(400, 413, 415, 501)},
)
async def import_cv_resume(
    request: Request,
    response: Response,
    conversations: Conversations,
    accept_language: Annotated[str, Header(include_in_schema=False)] = "",
) -> ImportResponse:
    """Start a conversation from a PDF, DOCX, TXT, Markdown or JSON file.

    The file is the field `file` of a form, or the body itself. Its type is detected from its bytes.
    """
    language: Language = "zh" if accept_language.lower().startswith("zh") else "en"
    content, name = await _uploaded(request)
    try:
        imported = await import_resume(content, filename=name, read=read_apart)
    except ResumeError as error:
        raise refusal(error, language, field="file") from error
    document = imported.resume.to_json()
    session = await conversations.begin(state={RESUME_KEY: document})
    here = path_of(request.scope).removesuffix("/import")
    response.headers["Location"] = f"{here}/{quote(session.session_id)}/resume"
    return ImportResponse(
        session_id=session.session_id,
        resume=document,
        format=imported.format,
        warnings=list(imported.warnings),
        version=imported.resume.version,
    )


async def _uploaded(request: Request) -> tuple[bytes, str | None]:
    """The bytes of a file and its name, if it has one."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        raise Refusal(415, "Send the file as multipart/form-data, or as the body itself.")
    if kind != "multipart/form-data":
        return await request.body(), None
    async with request.form(max_files=1, max_fields=8) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            message = "The form has no file in its field 'file'."
            raise Refusal(422, message, errors=[{"field": "file", "message": message}])
        return await file.read(), file.filename


def _plain(document: JsonObject) -> Response:
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(content, media_type="application/json", headers={"ETag": _tag(content)})


def _file(resume: Resume, rendered: Rendered, *, is_page: bool) -> Response:
    name = file_name(resume, "resume", rendered.suffix)
    headers = page_headers(name) if is_page else download_headers(name)
    return Response(
        rendered.content,
        media_type=rendered.media_type,
        headers={**headers, "ETag": _tag(rendered.content)},
    )


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'
