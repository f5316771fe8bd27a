"""Reading Office files, PDFs, tables and web pages as Markdown; done in a sandbox."""

from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Protocol

from oda.errors import SandboxUnavailableError
from oda.workspace.documents.plain_text import read_plain_text
from oda.workspace.documents.program_answer import answer_of
from oda.workspace.sandbox.sandbox import Program, RunResult
from oda.workspace.workspace import Workspace

TEXT_SUFFIXES = frozenset({".csv", ".tsv", ".html", ".htm"})
"""Without a sandbox these are texts like others."""
DOCUMENT_SUFFIXES = frozenset({".docx", ".xlsx", ".pptx", ".pdf"}) | TEXT_SUFFIXES
"""File types supported by `read_document`."""
MAX_CHARS = 100_000

_READERS = "oda.workspace.documents.readers"
_PACKAGE = "readers"
_MAIN = f"import sys; from {_PACKAGE}.reader import main; main(*sys.argv[1:])"


class Runs(Protocol):
    """The process's sandboxes."""

    async def run(self, program: Program, workspace: Workspace) -> RunResult:
        """Run a program in a sandbox; raise `SandboxUnavailableError` if there is none."""
        ...


async def read_document(
    workspace: Workspace, path: str, sandboxes: Runs, *, max_chars: int = 20_000, offset: int = 0
) -> str:
    """Return `max_chars` characters of a document as Markdown, from character `offset` on.

    A last line in brackets tells where to go on, if there is more.

    Raises:
        WorkspaceError: it is encrypted, damaged, too large, or not what its name says.
        SandboxUnavailableError: there is no sandbox in which an Office file or a PDF may be opened.
    """
    suffix = PurePosixPath(path).suffix.lower()
    limit, start = max(1, min(max_chars, MAX_CHARS)), max(0, offset)
    code, modules = _program()
    arguments = (path, suffix.removeprefix("."), str(start), str(limit))
    program = Program(code, modules=modules, arguments=arguments)
    try:
        result = await sandboxes.run(program, workspace)
    except SandboxUnavailableError:
        if suffix not in TEXT_SUFFIXES:
            raise
        text = await read_plain_text(workspace, path, offset=start, max_chars=limit)
        return f"[as plain text: there is no sandbox]\n\n{text}"
    return _told(path, result, start)


def _told(path: str, result: RunResult, offset: int) -> str:
    answer = answer_of(path, result)
    text = str(answer.get("text", ""))
    if answer.get("more"):
        return f"{text}\n\n[more follows: go on with offset {offset + len(text)}]"
    if offset and not text:
        return f"[the document ends before offset {offset}]"
    return text


@cache
def _program() -> tuple[str, dict[str, str]]:
    """The main program, and the sources of its modules by name."""
    files = sorted(resources.files(_READERS).iterdir(), key=lambda file: file.name)
    modules = {
        f"{_PACKAGE}.{file.name.removesuffix('.py')}": file.read_text("utf-8")
        for file in files
        if file.name.endswith(".py") and file.name != "__init__.py"
    }
    return _MAIN, modules
