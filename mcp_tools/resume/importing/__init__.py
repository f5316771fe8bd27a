"""Import of a resume from a file: PDF, DOCX, text, Markdown or JSON.

The type of a file is detected from its bytes. PDF and DOCX are read in an isolated process with
limits. Rules interpret the text: nothing is invented, and text that cannot be assigned to a field
is reported.
"""

import asyncio
from dataclasses import dataclass

from mcp_tools.apart import ReadApart, read_apart
from mcp_tools.resume.document import Resume
from mcp_tools.resume.errors import FileTooLargeError, NothingFoundError
from mcp_tools.resume.naming import load_resume

from .apart import read_lines
from .archive import check_docx
from .json_file import json_resume
from .lines import MAX_CHARACTERS, MAX_LINES, Line
from .plain import text_lines
from .sniffing import Format, sniff
from .understanding import understand

__all__ = ["MAX_BYTES", "Format", "Imported", "import_resume", "read_text"]

MAX_BYTES = 5 * 1024 * 1024


@dataclass(frozen=True)
class Imported:
    """A resume from a file; `warnings` name what could not be placed, in the file's language."""

    resume: Resume
    format: Format
    warnings: tuple[str, ...]


async def import_resume(
    content: bytes,
    *,
    filename: str | None = None,
    max_bytes: int = MAX_BYTES,
    read: ReadApart = read_apart,
) -> Imported:
    """Import a resume from the bytes of a file.

    `read` runs the program that reads PDF and DOCX in isolation.

    Raises:
        ImportedFileError: the file is too large, of another type, broken, encrypted, unsafe, or
            holds no resume.
        InvalidDocumentError: JSON that is no JSON Resume.
    """
    if len(content) > max_bytes:
        raise _too_large(max_bytes)
    kind, text = await asyncio.to_thread(sniff, content, filename)
    if kind == "json":
        resume = await asyncio.to_thread(json_resume, text)
        return Imported(resume, kind, ())
    if kind in ("txt", "md"):
        return await asyncio.to_thread(_from_text, text, kind)
    if kind == "docx":
        await asyncio.to_thread(check_docx, content)
    return await asyncio.to_thread(_from_lines, await read_lines(content, kind, read), kind)


async def read_text(
    content: bytes, *, filename: str | None = None, read: ReadApart = read_apart
) -> str:
    """Return the text of a file of one of these types, line by line.

    Raises:
        ImportedFileError: as `import_resume`.
    """
    if len(content) > MAX_BYTES:
        raise _too_large(MAX_BYTES)
    kind, text = await asyncio.to_thread(sniff, content, filename)
    if kind not in ("pdf", "docx"):
        return text
    if kind == "docx":
        await asyncio.to_thread(check_docx, content)
    return "\n".join(line.text for line in await read_lines(content, kind, read))


def _too_large(max_bytes: int) -> FileTooLargeError:
    megabytes = max_bytes / 1024 / 1024
    return FileTooLargeError(
        what={"zh": f"上限为 {megabytes:g} MB", "en": f"the limit is {megabytes:g} MB"}
    )


def _from_text(text: str, kind: Format) -> Imported:
    if len(text) > MAX_CHARACTERS or text.count("\n") > MAX_LINES:
        raise FileTooLargeError(
            what={"zh": "文字过多，不像简历", "en": "it has more text than any resume"}
        )
    return _from_lines(text_lines(text, markdown=kind == "md"), kind)


def _from_lines(lines: list[Line], kind: Format) -> Imported:
    understood = understand(lines)
    resume = load_resume(understood.document)
    if resume.is_empty:
        raise NothingFoundError(
            reason={
                "zh": "没有认出姓名、经历、教育或技能",
                "en": "no name, work, education or skills were recognised",
            }
        )
    return Imported(resume, kind, understood.warnings)
