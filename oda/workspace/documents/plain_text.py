"""Files that are text as they are, read piece by piece."""

import asyncio
import re

from oda.errors import WorkspaceError
from oda.workspace.documents.readers.text_encoding import encoding_of_bytes, marked_encoding
from oda.workspace.relative_path import shown
from oda.workspace.workspace import Workspace

MAX_TEXT_BYTES = 20 * 2**20
"""Size of the largest file that is read as text."""

_IN_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 64 * 2**10


async def read_plain_text(workspace: Workspace, path: str, *, offset: int, max_chars: int) -> str:
    """`max_chars` characters from `offset` on; a last line in brackets tells where to go on.

    Raises:
        WorkspaceError: there is no such file, or it is no text.
        QuotaExceededError: it is larger than `MAX_TEXT_BYTES`.
    """
    data = await workspace.read(path, max_bytes=MAX_TEXT_BYTES)
    text = await asyncio.to_thread(_decoded, data, path)
    end = offset + max_chars
    if offset and offset >= len(text):
        return f"[the file ends before offset {offset}: it has {len(text)} characters]"
    if end >= len(text):
        return text[offset:]
    return f"{text[offset:end]}\n\n[more follows: go on with offset {end} of {len(text)}]"


def _decoded(data: bytes, path: str) -> str:
    if marked_encoding(data) is None and _IN_NO_TEXT.search(data, 0, _LOOKED_AT):
        raise WorkspaceError(
            f"{shown(path)} is no text.", remedy="look at it with run_python and a library for it"
        )
    return data.decode(encoding_of_bytes(data, is_whole=True), errors="replace")
