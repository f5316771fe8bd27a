"""The tools with which an agent works in the workspace of the turn that it runs in.

They are plain functions, to be listed in an agent's `tools`. What is not allowed is answered with
`{"error": {"code": …, "message": …}}`, for the model to read.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

from google.adk.tools.tool_context import ToolContext

from oda.errors import OdaError, SandboxUnavailableError, WorkspaceError
from oda.tools.idempotency import call_key, idempotent
from oda.tools.progress import tell_output
from oda.tools.recording import current_recorder
from oda.workspace.run_answer import run_answer
from oda.workspace.sandbox.choice import current_sandboxes
from oda.workspace.sandbox.sandbox import Program, Stream
from oda.workspace.text import read_text
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import current_workspaces

_MOST_LISTED = 500

Answer = dict[str, Any]
P = ParamSpec("P")


def answering_refusals(tool: Callable[P, Awaitable[Answer]]) -> Callable[P, Awaitable[Answer]]:
    """Have a tool answer with what it is refused, instead of raising it."""

    @wraps(tool)
    async def answering(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            return await tool(*args, **kwargs)
        except (WorkspaceError, SandboxUnavailableError) as error:
            return refusal(error)

    return answering


def refusal(error: OdaError) -> Answer:
    """Return a tool's answer about a refused operation, with a remedy."""
    return {"error": {"code": error.code, "message": str(error)}}


@asynccontextmanager
async def workspace_of(context: ToolContext) -> AsyncIterator[Workspace]:
    """The workspace of the turn that a tool is called in, also by an agent that runs as a tool."""
    recorder = current_recorder()
    session_id = recorder.session[2] if recorder else context.session.id
    run_id = call_key(context).turn
    async with await current_workspaces().open(session_id, run_id) as workspace:
        yield workspace


@idempotent
@answering_refusals
async def read_file(path: str, tool_context: ToolContext, offset: int = 0) -> Answer:
    """Read a file of the workspace: text, or .docx .xlsx .pptx .pdf .html .csv as Markdown.

    A long file comes in pieces; the last line then says with which offset to go on.

    Args:
        path: Relative to the workspace, such as input/report.docx.
        offset: The character to begin with.
    """
    begin = offset if isinstance(offset, int) and offset > 0 else 0
    max_chars = current_workspaces().settings.read_chars
    async with workspace_of(tool_context) as workspace:
        content = await read_text(
            workspace, path, current_sandboxes(), offset=begin, max_chars=max_chars
        )
    return {"path": path, "content": content}


@idempotent
@answering_refusals
async def write_file(path: str, content: str, tool_context: ToolContext) -> Answer:
    """Write a text file into the workspace; what was there under this path is replaced.

    Args:
        path: Relative to the workspace: output/… for results, data/… for what you work with.
        content: The whole text.
    """
    if not isinstance(content, str):
        raise WorkspaceError("The content must be a text.", remedy="write JSON as a text")
    async with workspace_of(tool_context) as workspace:
        info = await workspace.write(path, content.encode(errors="replace"))
    return {"path": info.path, "bytes": info.bytes}


@idempotent
@answering_refusals
async def edit_file(path: str, old: str, new: str, tool_context: ToolContext) -> Answer:
    """Replace a passage of a text file of the workspace; the rest stays as it is.

    Args:
        path: Relative to the workspace.
        old: The passage, exactly as it stands in the file, where it stands once.
        new: What takes its place; empty to take it out.
    """
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise WorkspaceError("old and new must be texts, and old not empty.")
    async with workspace_of(tool_context) as workspace:
        text = (await workspace.read(path)).decode("utf-8", "surrogateescape")
        times = text.count(old)
        if new and text.count(new) == 1 and times == new.count(old):
            return {"path": path, "note": "the new text stands there already"}
        if times != 1:
            there = "does not stand" if times == 0 else f"stands {times} times"
            raise WorkspaceError(
                f"The old text {there} in {path!r}.",
                remedy="give it exactly as it is, with enough around it that it stands there once",
            )
        changed = text.replace(old, new).encode("utf-8", "surrogateescape")
        info = await workspace.write(path, changed)
    return {"path": info.path, "bytes": info.bytes}


@idempotent
@answering_refusals
async def list_files(tool_context: ToolContext, path: str = "") -> Answer:
    """List the files of the workspace: input/ came with the message, output/ is for results.

    Args:
        path: A folder; by default all of them.
    """
    async with workspace_of(tool_context) as workspace:
        found = await workspace.list(path)
    answer: Answer = {
        "files": [{"path": info.path, "bytes": info.bytes} for info in found[:_MOST_LISTED]]
    }
    if len(found) > _MOST_LISTED:
        answer["more"] = f"{len(found) - _MOST_LISTED} further files; list one folder"
    return answer


@idempotent
@answering_refusals
async def run_python(code: str, tool_context: ToolContext) -> Answer:
    """Run Python code in a sandbox; its working directory is the workspace.

    It can read input/, and read and write data/ and output/. There is no network, and no other
    process can be started. numpy, pandas, matplotlib, python-docx, openpyxl and reportlab are
    there; the variable ODA_CJK_FONT, where it is set, names a TrueType font with Chinese for PDFs.
    Each run begins anew: what is to be kept must be in a file. Print what you want to see.

    Args:
        code: A whole program.

    Returns:
        exit_code, stdout, stderr, files (new or changed ones), timed_out, truncated.
    """
    if not isinstance(code, str):
        raise WorkspaceError("The code must be a text.")

    def tell(stream: Stream, text: str) -> None:
        tell_output(tool_context, text, stream=stream)

    sandboxes = current_sandboxes()
    max_chars = current_workspaces().settings.read_chars
    async with workspace_of(tool_context) as workspace:
        result = await sandboxes.run(Program(code), workspace, on_output=tell)
    return run_answer(result, max_chars=max_chars)


def needs_sandbox(tools: Iterable[str]) -> bool:
    """Return whether any of these tools runs code."""
    return run_python.__name__ in tools
