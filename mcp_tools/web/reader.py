"""Documents as text: which kinds there are, and the process that reads them."""

import asyncio
import json
import math
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from mcp_tools.web import reader_program
from mcp_tools.web.errors import PageUnreadableError
from mcp_tools.web.limits import WebLimits

Kind = Literal["html", "text", "pdf"]

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
    """What a page has answered."""

    url: str
    """Where it was in the end, after redirects."""
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
    """Whether there was more text than is taken."""


Read = Callable[[Document, WebLimits], Awaitable[Reading]]
"""Raises PageUnreadableError."""


async def read_in_process(document: Document, limits: WebLimits) -> Reading:
    """Read a document in a Python process of its own, with limits and an empty environment.

    Raises:
        PageUnreadableError: when that fails, takes too long, or finds no text.
    """
    task = {
        "kind": document.kind,
        "url": document.url,
        "charset": document.charset,
        "chars": limits.page_chars,
        "patience_s": limits.reading_s,
        "cpu_s": math.ceil(limits.reading_most_s),
        "memory_bytes": limits.reading_memory_bytes,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(Path(reader_program.__file__)),
        json.dumps(task),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(limits.reading_most_s):
            answer, _ = await process.communicate(document.body)
    except TimeoutError as error:
        raise PageUnreadableError(
            f"the page takes longer than {limits.reading_most_s:g} s to read"
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # a full pipe would keep `wait` from returning
    try:
        reading = Reading.model_validate_json(answer)
    except ValidationError as error:
        raise PageUnreadableError(
            f"the {document.kind} cannot be read: it is damaged or protected"
        ) from error
    if not reading.text:
        raise PageUnreadableError(
            "there is no text in the page: it may need a browser, or consist of images"
        )
    return reading
