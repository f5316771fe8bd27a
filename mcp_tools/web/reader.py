"""Conversion of documents to text, by kind of document."""

import asyncio
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from mcp_tools.apart import ReadApart, UnconfinedError, read_apart
from mcp_tools.web import reader_program
from mcp_tools.web.errors import PageUnreadableError
from mcp_tools.web.limits import WebLimits

Kind = Literal["html", "text", "pdf"]

_BYTES_OF_CHARACTER = 12
"""Maximum number of output bytes per character: the longest escape in ASCII JSON."""
_MOST_BESIDES = 16_384
"""Output bytes reserved for title, date and punctuation."""

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/json": "text",
    "application/xml": "text",
    "text/plain": "text",
    "text/markdown": "text",
    "text/csv": "text",
    "text/xml": "text",
}


def kind_of(media_type: str) -> Kind | None:
    """How to read a media type; None for what is not read."""
    if media_type.endswith(("+json", "+xml")) and media_type not in _KINDS:
        return None if media_type.startswith("image/") else "text"
    return _KINDS.get(media_type)


@dataclass(frozen=True)
class Document:
    """The response of a page."""

    url: str
    """Final URL, after redirects."""
    media_type: str
    kind: Kind
    charset: str | None
    """As its server declared it."""
    body: bytes


class Reading(BaseModel):
    """A document as text."""

    title: str | None
    published: str | None
    """A date in ISO format."""
    text: str
    cut: bool
    """Whether the text was truncated."""


async def read_document(
    document: Document, limits: WebLimits, read: ReadApart = read_apart
) -> Reading:
    """Read a document as text: plain text here, all other kinds in an isolated process with limits.

    Raises:
        PageUnreadableError: reading failed, timed out, found no text, or cannot be done safely.
    """
    task = {
        "kind": document.kind,
        "url": document.url,
        "charset": document.charset,
        "chars": limits.page_chars,
        "patience_s": limits.reading_s,
    }
    try:
        if document.kind == "text":
            answer = await asyncio.to_thread(reader_program.read, document.body, task)
        else:
            answer = await read(
                document.body,
                await asyncio.to_thread(_program),
                modules={},
                arguments=(json.dumps(task),),
                wall_s=limits.reading_most_s,
                cpu_s=math.ceil(limits.reading_most_s),
                memory_bytes=limits.reading_memory_bytes,
                output_bytes=_BYTES_OF_CHARACTER * limits.page_chars + _MOST_BESIDES,
            )
        reading = Reading.model_validate_json(answer)
    except TimeoutError as error:
        raise PageUnreadableError(
            f"the page takes longer than {limits.reading_most_s:g} s to read"
        ) from error
    except UnconfinedError as error:
        raise PageUnreadableError(str(error)) from error
    except ValueError as error:
        raise PageUnreadableError(
            f"the {document.kind} cannot be read: it is damaged or protected"
        ) from error
    if not reading.text:
        raise PageUnreadableError(
            "there is no text in the page: it may need a browser, or consist of images"
        )
    return reading


@cache
def _program() -> str:
    return Path(reader_program.__file__).read_text("utf-8")
