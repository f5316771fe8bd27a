"""Transfer of files: from messages into a workspace, and from a finished run into artifacts."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count
from pathlib import PurePosixPath

from google.adk.agents.callback_context import CallbackContext
from google.genai.types import Blob, Part

from oda.errors import PathRefusedError
from oda.workspace.media_types import media_type, suffix_of
from oda.workspace.relative_path import MAX_NAME_BYTES, names_of
from oda.workspace.workspace import INPUT, OUTPUT, Workspace

_NAMELESS = "upload"
_NOT_IN_NAMES = re.compile(r'[<>:"|?*]')
_ROOM_FOR_NUMBER = 20
_OF_THE_USER = "user:"


@dataclass(frozen=True)
class LeftOut:
    """A file that was not kept, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Kept:
    """Which outputs of a run were kept."""

    names: tuple[str, ...]
    """Artifacts that hold what the files in output/ hold, by their paths in it."""
    left_out: tuple[LeftOut, ...]


async def keep_outputs(
    workspace: Workspace,
    context: CallbackContext,
    *,
    max_files: int = 100,
    max_bytes: int = 100 * 2**20,
) -> Kept:
    """Save the files in output/ as artifacts of the session; those that are unchanged stay.

    Args:
        workspace: Of the run that ends.
        context: Of a callback or a tool.
        max_files: Most files that are kept.
        max_bytes: Most bytes of all of them.

    Raises:
        ValueError: there is no artifact service.
    """
    names: list[str] = []
    left_out: list[LeftOut] = []
    room = max_bytes
    for info in await workspace.list(OUTPUT):
        name = info.path.removeprefix(f"{OUTPUT}/")
        if len(names) >= max_files:
            reason = f"more than {max_files} files"
        elif info.bytes > room:
            reason = f"more than {max_bytes:,} bytes in all"
        else:
            reason = _no_artifact_name(name) if info.bytes else "it is empty"
        if reason:
            left_out.append(LeftOut(info.path, reason))
            continue
        room -= info.bytes
        data = await workspace.read(info.path, max_bytes=max_bytes)
        if _content(await context.load_artifact(name)) != data:
            blob = Blob(data=data, mime_type=media_type(name))
            await context.save_artifact(name, Part(inline_data=blob))
        names.append(name)
    return Kept(tuple(names), tuple(left_out))


async def take_uploads(workspace: Workspace, parts: Iterable[Part]) -> list[str]:
    """Write the files that a message brings into input/; returns their paths, in order.

    Names come from outside: they are made harmless, and no file takes the place of another one. A
    file that is there already is not written again, so a message may be taken twice.

    Raises:
        QuotaExceededError: there is no room for one of them.
    """
    return [
        await _taken(workspace, part.inline_data)
        for part in parts
        if part.inline_data is not None and part.inline_data.data is not None
    ]


def upload_name(display_name: str | None, mime_type: str | None) -> str:
    """A harmless name for a file that somebody calls `display_name`."""
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", display_name or ""))[-1]
    seen = "".join(char for char in last if char.isprintable())
    name = PurePosixPath(_NOT_IN_NAMES.sub("_", seen).strip(" ."))
    suffix = name.suffix or suffix_of(mime_type or "")
    stem = _cut(name.stem, MAX_NAME_BYTES - _ROOM_FOR_NUMBER - len(suffix.encode()))
    try:
        return names_of(f"{stem.strip(' .') or _NAMELESS}{suffix}")[0]
    except PathRefusedError:
        return _NAMELESS + suffix_of(mime_type or "")


async def _taken(workspace: Workspace, blob: Blob) -> str:
    name = PurePosixPath(upload_name(blob.display_name, blob.mime_type))
    data = blob.data or b""
    for mark in chain([""], (f"-{number}" for number in count(2))):
        path = f"{INPUT}/{name.stem}{mark}{name.suffix}"
        there = await workspace.find(path)
        if there is None:
            return (await workspace.write(path, data)).path
        if there.bytes == len(data) and await workspace.read(path) == data:
            return path
    raise AssertionError("there is always a further number")


def _cut(text: str, max_bytes: int) -> str:
    return text.encode()[: max(0, max_bytes)].decode(errors="ignore")


def _no_artifact_name(name: str) -> str:
    """Why no artifact can have the name of this file; empty if one can."""
    *folders, last = name.casefold().split("/")
    if "versions" in (*folders, last) or last == "metadata.json":
        return "its name is one that the store of artifacts needs itself"
    if name.startswith(_OF_THE_USER):
        return "its name would make it a file of all sessions"
    return ""


def _content(part: Part | None) -> bytes | None:
    if part is None:
        return None
    if part.inline_data is not None:
        return part.inline_data.data
    return part.text.encode() if part.text is not None else None
