"""Isolated reading of untrusted binary files; this module never parses them itself."""

import asyncio
import json
from functools import cache
from weakref import WeakKeyDictionary

from mcp_tools.apart import ReadApart, UnconfinedError, read_apart, sources_of
from mcp_tools.resume.errors import (
    BrokenFileError,
    EncryptedFileError,
    FileTooLargeError,
    ImportedFileError,
    NothingFoundError,
    ReaderMissingError,
    ReaderUnconfinedError,
)

from .lines import MAX_CHARACTERS, Line
from .vocabulary import headings

MOST_AT_ONCE = 4
"""Maximum number of files read at once per event loop; further ones wait."""

_WALL_S = 30.0
_CPU_S = 20
_MEMORY_BYTES = 512 * 1024 * 1024
_MOST_PRINTED = 16 * MAX_CHARACTERS
_MAIN = "import sys; from importing.reader import main; main(*sys.argv[1:])"
_MODULES = ("columns", "headings", "lines", "pdf", "read_error", "reader", "word")

_turnstiles: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def read_lines(
    content: bytes, kind: str, read: ReadApart = read_apart, *, seconds: float = _WALL_S
) -> list[Line]:
    """Return the lines of a PDF or DOCX, read by `reader` in an isolated process.

    Raises:
        ImportedFileError: the file is faulty, or cannot be read safely on this system.
    """
    modules, words = await asyncio.to_thread(_program)
    async with _turnstiles.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_AT_ONCE)):
        try:
            answer = await read(
                content,
                _MAIN,
                modules=modules,
                arguments=(kind, words),
                wall_s=seconds,
                cpu_s=_CPU_S,
                memory_bytes=_MEMORY_BYTES,
                output_bytes=_MOST_PRINTED,
            )
        except TimeoutError:
            raise _too_complex(kind) from None
        except UnconfinedError as error:
            raise ReaderUnconfinedError(format=kind.upper()) from error
    return _lines(answer, kind)


@cache
def _program() -> tuple[dict[str, str], str]:
    """Return the sources of the reader and, as JSON, the headings that it recognizes."""
    known = headings()
    words = {"sections": dict(known.sections), "modifiers": sorted(known.modifiers)}
    return sources_of(__package__, *_MODULES), json.dumps(words)


def _lines(answer: str, kind: str) -> list[Line]:
    if len(answer) >= _MOST_PRINTED:
        raise _error("too_much", kind)
    try:
        found = json.loads(answer)
    except ValueError:
        raise _too_complex(kind) from None
    if "error" in found:
        raise _error(found["error"], kind)
    return [Line(*fields) for fields in found["lines"]]


def _error(code: str, kind: str) -> ImportedFileError:
    if code == "encrypted":
        return EncryptedFileError()
    if code == "missing":
        return ReaderMissingError(format=kind.upper())
    if code == "too_much":
        return FileTooLargeError(
            what={"zh": "文字过多，不像简历", "en": "it has more text than any resume"}
        )
    if code == "empty":
        return NothingFoundError(reason=_NO_TEXT[kind])
    if code == "too_complex":
        return _too_complex(kind)
    return BrokenFileError(
        format=kind.upper(),
        reason={"zh": "文件已损坏或不完整", "en": "it is damaged or incomplete"},
    )


_NO_TEXT = {
    "pdf": {
        "zh": "PDF 里没有文字，可能是扫描件或图片，请先做文字识别（OCR）",
        "en": "the PDF has no text; it may be a scan, run text recognition (OCR) first",
    },
    "docx": {"zh": "文档里没有文字", "en": "the document has no text"},
}


def _too_complex(kind: str) -> BrokenFileError:
    return BrokenFileError(
        format=kind.upper(),
        reason={"zh": "读取所需的时间或内存过多", "en": "it takes too much time or memory to read"},
    )
