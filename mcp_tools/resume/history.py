"""Undo: a record for every edit, from which the document before it can be made again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from typing_extensions import TypedDict

from .document import Resume
from .edit import Action, Edited, bump_version
from .errors import NothingToUndoError
from .naming import load_resume
from .patch import Operation, apply_patch
from .path import Path

HISTORY_LIMIT = 50
"""The number of edits that can be undone."""
HISTORY_CHARACTERS = 1_000_000
"""Limit of the history's size as JSON, in characters; the latest record may exceed it."""


class EditRecord(TypedDict):
    """Edits that are undone together, as JSON: what they changed and how to change it back."""

    path: str
    action: Action
    patch: list[Operation]
    inverse: list[Operation]


@dataclass(frozen=True, slots=True)
class Undone:
    """A resume before its last edit, what is left of the history, and the edit taken back."""

    resume: Resume
    history: list[EditRecord]
    record: EditRecord


def record(
    history: Sequence[EditRecord], edited: Edited, *, with_last: bool = False
) -> list[EditRecord]:
    """Return the history with one more edit; drop the oldest edits beyond the limits.

    Args:
        with_last: The edit is undone together with the last one of the history.
    """
    entry = EditRecord(
        path=edited.path,
        action=edited.action,
        patch=list(edited.patch),
        inverse=list(edited.inverse),
    )
    if with_last and history:
        history, entry = history[:-1], _together(history[-1], entry)
    edits = [*history, entry][-HISTORY_LIMIT:]
    sizes = accumulate(len(json.dumps(edit)) for edit in reversed(edits))
    fitting = sum(1 for size in sizes if size <= HISTORY_CHARACTERS)
    return edits[-max(1, fitting) :]


def _together(first: EditRecord, then: EditRecord) -> EditRecord:
    """Return one record of two edits; of their paths what they have in common is left."""
    steps = zip(Path.parse(first["path"]).steps, Path.parse(then["path"]).steps, strict=False)
    shared = tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], steps))
    return {
        **then,
        "path": str(Path(shared)),
        "action": first["action"] if first["action"] == then["action"] else "update",
        "patch": [*first["patch"], *then["patch"]],
        "inverse": [*then["inverse"], *first["inverse"]],
    }


def undo(resume: Resume, history: Sequence[EditRecord]) -> Undone:
    """Take back the last edit of the history; the version grows as with every edit.

    Raises:
        NothingToUndoError: the history is empty.
    """
    if not history:
        raise NothingToUndoError
    *rest, last = history
    document = apply_patch(resume.to_json(), last["inverse"])
    return Undone(resume=load_resume(bump_version(document)), history=rest, record=last)
