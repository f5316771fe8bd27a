"""Reading a stranger's binary file in a process of its own, which ends whatever happens."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from mcp_tools.resume.errors import (
    BrokenFileError,
    EncryptedFileError,
    FileTooLargeError,
    ImportedFileError,
    NothingFoundError,
    ReaderMissingError,
)

from .lines import MAX_CHARACTERS, Line

WALL_SECONDS = 30.0
MOST_AT_ONCE = 4
"""Processes of one event loop; each may use as much memory as `reader` allows."""
MAX_OUTPUT = 16 * MAX_CHARACTERS

_turnstiles: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_ROOT = Path(__file__).resolve().parents[3]
_KEPT = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")


async def read_apart(content: bytes, kind: str, *, seconds: float = WALL_SECONDS) -> list[Line]:
    """Return the lines of a PDF or DOCX, read by `reader` with limits on memory and time.

    A few files are read at once, the others wait. The process is killed and reaped when it takes
    too long, says too much, or the caller is cancelled. It inherits no secrets: nothing of the
    environment but where programs are.

    Raises:
        ImportedFileError: what is wrong with the file.
    """
    async with _turnstile():
        return _lines(await _answer(content, kind, seconds), kind)


def _turnstile() -> asyncio.Semaphore:
    return _turnstiles.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_AT_ONCE))


async def _answer(content: bytes, kind: str, seconds: float) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"{__package__}.reader",
        kind,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=_ROOT,
        env=_environment(),
    )
    try:
        async with asyncio.timeout(seconds):
            answer = await _converse(process, content)
            await process.wait()
            return answer
    except TimeoutError:
        raise _too_complex(kind) from None
    finally:
        await _end(process)


async def _converse(process: asyncio.subprocess.Process, content: bytes) -> bytes:
    """Hand over the file and return the answer; an answer that is too long is cut."""
    assert process.stdin is not None and process.stdout is not None
    feeding = asyncio.create_task(_feed(process.stdin, content))
    try:
        answer = b""
        while len(answer) <= MAX_OUTPUT and (chunk := await process.stdout.read(65536)):
            answer += chunk
        if len(answer) > MAX_OUTPUT:
            process.kill()
        return answer
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _feed(stdin: asyncio.StreamWriter, content: bytes) -> None:
    try:
        stdin.write(content)
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return
    finally:
        stdin.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}


def _lines(answer: bytes, kind: str) -> list[Line]:
    if len(answer) > MAX_OUTPUT:
        raise _error("too_much", kind)
    try:
        said = json.loads(answer)
    except ValueError:
        raise _too_complex(kind) from None
    if "error" in said:
        raise _error(said["error"], kind)
    return [Line(*fields) for fields in said["lines"]]


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
