"""Reading the text of a file, be it plain or that of a document."""

from pathlib import PurePosixPath

from oda.workspace.documents import DOCUMENT_SUFFIXES, read_document, read_plain_text
from oda.workspace.refusals import missing
from oda.workspace.sandbox.choice import Sandboxes
from oda.workspace.workspace import Workspace


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
    return await read_plain_text(workspace, info.path, offset=offset, max_chars=max_chars)
