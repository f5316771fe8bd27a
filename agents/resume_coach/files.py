"""Files of the coaching: what they are called, how one is kept, and the text of a job."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import quote

from pydantic import BaseModel

from mcp_tools.resume import JsonObject, Resume, load_resume
from mcp_tools.resume.export import Format, render
from mcp_tools.resume.importing import read_text
from oda import read_apart
from oda.orchestration import StepContext, step

_NOT_IN_A_FILE_NAME = re.compile(r'[\\/:*?"<>|%\x00-\x1f\x7f]+')
_LONGEST_NAME = 60
_LONGEST_JOB = 20_000
_FORMATS: Mapping[str, Format] = {
    "pdf": "pdf",
    "doc": "docx",
    "word": "docx",
    "markdown": "md",
    "md": "md",
    "html": "html",
    "json": "json",
}


class ExportRequest(BaseModel):
    """A resume, and the kind of file that it is to become."""

    resume: JsonObject
    format: Format


class ExportedFile(BaseModel):
    """A file of the session: by its name `/save` finds it, by its link any client."""

    name: str
    link: str


@step("coach-export")
async def export(request: ExportRequest, context: StepContext) -> ExportedFile:
    """Keep a resume as a file of the session."""
    resume = load_resume(request.resume)
    rendered = await asyncio.to_thread(render, resume, request.format)
    name = file_name(resume, rendered.suffix)
    version = await context.keep(name, rendered.content, rendered.media_type)
    place = f"/v1/apps/{quote(context.app)}/sessions/{quote(context.session_id or '')}/artifacts"
    return ExportedFile(name=name, link=f"{place}/{quote(name)}?version={version}")


def format_named(message: str) -> Format:
    """Return the kind of file that a message names; PDF where it names none."""
    said = message.lower()
    return next((one for word, one in _FORMATS.items() if word in said), "pdf")


def file_name(resume: Resume, suffix: str) -> str:
    """Name a file after the person: "resume-Jane Doe.pdf"."""
    person = (resume.basics and resume.basics.name) or ""
    printable = "".join(sign for sign in person if sign.isprintable())
    fit = _NOT_IN_A_FILE_NAME.sub("_", printable)[:_LONGEST_NAME].strip(" .")
    return f"resume-{fit}{suffix}" if fit else f"resume{suffix}"


async def job_text(content: bytes) -> str:
    """Return the text of a file that describes a job.

    Raises:
        ResumeError: the file cannot be read.
    """
    return (await read_text(content, read=read_apart))[:_LONGEST_JOB]
