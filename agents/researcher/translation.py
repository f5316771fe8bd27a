"""The tools `read_segments` and `write_translations`: a document is translated round by round.

What is translated so far lies in the workspace, below data/translation/, so that a long document
may take many rounds and a crash loses none of them.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import PurePosixPath
from typing import Any, ParamSpec

from google.adk.tools.tool_context import ToolContext

from mcp_tools.translation import (
    Kind,
    Segment,
    TranslationError,
    batch,
    check_translations,
    dump_translations,
    kind_of,
    load_segments,
    load_translations,
    program,
)
from oda import idempotent, untrusted
from oda.errors import WorkspaceError
from oda.workspace.documents import answer_of
from oda.workspace.sandbox.choice import Sandboxes, current_sandboxes
from oda.workspace.sandbox.sandbox import Program
from oda.workspace.tools import answering_refusals, workspace_of
from oda.workspace.workspace import Workspace

BATCH_CHARS = 6_000
"""Most characters of the segments that are shown at once."""
_FOLDER = "data/translation"
_MARKERS = "keep markers such as <1>…</1> and <2/> around the words that they belong to"

Answer = dict[str, Any]
P = ParamSpec("P")


def answering(tool: Callable[P, Awaitable[Answer]]) -> Callable[P, Awaitable[Answer]]:
    """Refusals are answers, and so is what is wrong with a translation."""

    @wraps(tool)
    async def answered(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            return await tool(*args, **kwargs)
        except TranslationError as error:
            raise WorkspaceError(str(error)) from error

    return answering_refusals(answered)


@idempotent
@untrusted
@answering
async def read_segments(path: str, tool_context: ToolContext, start: int = 0) -> Answer:
    """Read what is still to be translated of a .docx, .xlsx or .pdf, some segments at a time.

    Args:
        path: Of the document, such as input/report.docx.
        start: The number of the segment to begin with.

    Returns:
        segments (id, text, context), total, left (not translated yet), next (where to go on).
    """
    async with workspace_of(tool_context) as workspace:
        work = await Translation.open(workspace, path, current_sandboxes())
        done = await work.translations()
    begin = start if isinstance(start, int) and start > 0 else 0
    todo = [segment for segment in work.segments[begin:] if segment.id not in done]
    shown = batch(todo, BATCH_CHARS)
    answer: Answer = {
        "segments": [segment.model_dump() for segment in shown],
        "total": len(work.segments),
        "left": len(work.segments) - len(done),
        "note": _MARKERS,
    }
    if len(shown) < len(todo):
        answer["next"] = work.segments.index(todo[len(shown)])
    return answer


@idempotent
@answering
async def write_translations(
    path: str,
    target_path: str,
    translations: dict[str, str],
    tool_context: ToolContext,
    finish: bool = False,
) -> Answer:
    """Keep translations of segments; once none is left, write the translated document.

    Args:
        path: Of the document, as for read_segments.
        target_path: Of the result: output/… with the same suffix as the document.
        translations: The translated texts by segment id, with their markers.
        finish: Write the document now, with what is left in its old language.

    Returns:
        left (not translated yet), written (the document and its preview, once written), notes.
    """
    target = result_path(path, target_path)
    async with workspace_of(tool_context) as workspace:
        work = await Translation.open(workspace, path, current_sandboxes())
        if translations or not finish:
            await work.keep(check_translations(work.segments, translations))
        done = await work.translations()
        left = len(work.segments) - len(done)
        if left and not finish:
            return {"left": left, "written": [], "note": "go on with read_segments"}
        written, notes = await work.write(target, done)
    if left:
        notes.append(f"{left} of {len(work.segments)} segments are not translated")
    return {"left": left, "written": written, "notes": notes}


def result_path(path: str, target_path: str) -> str:
    """Return the path of a translated document in one form.

    Raises:
        WorkspaceError: it is not in output/, or has another suffix.
    """
    target = PurePosixPath(target_path)
    if (
        target.parts[:1] != ("output",)
        or target.suffix.lower() != PurePosixPath(path).suffix.lower()
    ):
        suffix = PurePosixPath(path).suffix
        raise WorkspaceError(
            f"{target_path!r} is no place for the result.", remedy=f"use output/<name>{suffix}"
        )
    return str(target)


@dataclass(frozen=True)
class Translation:
    """A document that is being translated; its folder is named after its content."""

    workspace: Workspace
    sandboxes: Sandboxes
    path: str
    kind: Kind
    folder: str
    segments: list[Segment]

    @classmethod
    async def open(cls, workspace: Workspace, path: str, sandboxes: Sandboxes) -> "Translation":
        """Look its segments up, or find them in a sandbox."""
        kind = kind_of(path)
        if kind is None:
            raise WorkspaceError(
                f"{path!r} cannot be translated.", remedy="only .docx, .xlsx and .pdf can be"
            )
        digest = hashlib.sha256(await workspace.read(path)).hexdigest()[:16]
        folder = f"{_FOLDER}/{digest}"
        listed = f"{folder}/segments.json"
        if await workspace.find(listed) is None:
            await workspace.write(f"{folder}/source.txt", path.encode())
            await _run(workspace, sandboxes, path, "segments", kind, path, listed)
        segments = load_segments(await workspace.read(listed))
        return cls(workspace, sandboxes, path, kind, folder, segments)

    async def translations(self) -> dict[str, str]:
        """All that were kept; of two for one segment the later one."""
        files = [
            file
            for file in await self.workspace.list(self.folder)
            if PurePosixPath(file.path).name.startswith("kept-")
        ]
        known: dict[str, str] = {}
        for file in sorted(files, key=lambda file: file.modified_at):
            known.update(load_translations(await self.workspace.read(file.path)))
        return known

    async def keep(self, translations: dict[str, str]) -> None:
        """Each call writes a file of its own, so that calls at the same time lose nothing."""
        data = dump_translations(translations)
        name = hashlib.sha256(data).hexdigest()[:16]
        await self.workspace.write(f"{self.folder}/kept-{name}.json", data)

    async def write(self, target: str, translations: dict[str, str]) -> tuple[list[str], list[str]]:
        """Write the document and its preview; returns their paths, and remarks."""
        texts = f"{self.folder}/all.json"
        preview = str(PurePosixPath(target).with_suffix(".preview.html"))
        await self.workspace.write(texts, dump_translations(translations))
        answer = await self._run("apply", self.path, texts, target)
        await self._run("preview", target, preview)
        notes = answer.get("notes")
        return [target, preview], [str(note) for note in notes] if isinstance(notes, list) else []

    async def _run(self, command: str, source: str, *paths: str) -> dict[str, object]:
        return await _run(
            self.workspace, self.sandboxes, self.path, command, self.kind, source, *paths
        )


async def _run(
    workspace: Workspace, sandboxes: Sandboxes, path: str, *arguments: str
) -> dict[str, object]:
    main, modules = program()
    result = await sandboxes.run(Program(main, modules=modules, arguments=arguments), workspace)
    answer = answer_of(path, result)
    if result.left_behind:
        reasons = "; ".join(one.reason for one in result.left_behind)
        raise WorkspaceError(f"The result could not be kept: {reasons}.")
    return answer
