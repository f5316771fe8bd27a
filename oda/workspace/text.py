"""Reading the text of a file, piece by piece."""

import codecs
import re
from pathlib import PurePosixPath

from oda.errors import WorkspaceError
from oda.workspace.documents import DOCUMENT_SUFFIXES, read_document
from oda.workspace.refusals import missing
from oda.workspace.relative_path import shown
from oda.workspace.sandbox.choice import Sandboxes
from oda.workspace.workspace import Workspace

MAX_TEXT_BYTES = 20 * 2**20
"""Size of the largest file that is read as text."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_IN_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 64 * 2**10


async def read_text(
    workspace: Workspace, path: str, sandboxes: Sandboxes, *, offset: int, max_chars: int
) -> str:
    """`max_chars` characters of a text or a document, from character `offset` on.

    Documents are given as Markdown. A last line in brackets tells where to go on.

    Raises:
        WorkspaceError: there is no such file, or it is no text.
        SandboxUnavailableError: it is a document, which is opened in a sandbox only.
    """
    info = await workspace.find(path)
    if info is None:
        raise missing(path)
    if PurePosixPath(info.path).suffix.lower() in DOCUMENT_SUFFIXES:
        return await read_document(
            workspace, info.path, sandboxes, max_chars=max_chars, offset=offset
        )
    data = await workspace.read(info.path, max_bytes=MAX_TEXT_BYTES)
    return piece_of(decoded(data, path), offset=offset, max_chars=max_chars)


def decoded(data: bytes, path: str) -> str:
    """The text that bytes hold: UTF-8 or UTF-16 by their marks, else UTF-8, GB18030 or Latin.

    Raises:
        WorkspaceError: they hold none.
    """
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if _IN_NO_TEXT.search(data, 0, _LOOKED_AT):
        raise WorkspaceError(
            f"{shown(path)} is no text.", remedy="look at it with run_python and a library for it"
        )
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", errors="replace")


def piece_of(text: str, *, offset: int, max_chars: int) -> str:
    """A piece of a text; it says where to go on."""
    if offset and offset >= len(text):
        return f"[the file ends before offset {offset}: it has {len(text)} characters]"
    end = offset + max_chars
    if end >= len(text):
        return text[offset:]
    return f"{text[offset:end]}\n\n[more follows: go on with offset {end} of {len(text)}]"
