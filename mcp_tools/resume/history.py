"""Undo: a record for every edit, from which the document before it can be made again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from typing_extensions import TypedDict

from .document import Resume
from .edit import Action, Edited, bump_version
from .errors import NothingToUndoError
from .naming import load_resume
from .patch import Operation, apply_patch

HISTORY_LIMIT = 50
"""The number of edits that can be undone."""
HISTORY_CHARACTERS = 1_000_000
"""Limit of the history's size as JSON, in characters; the latest record may exceed it."""


class EditRecord(TypedDict):
    """One edit, as JSON: what it changed and how to change it back."""

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


def record(history: Sequence[EditRecord], edited: Edited) -> list[EditRecord]:
    """Return the history with one more edit; drop the oldest edits beyond the limits."""
    entry = EditRecord(
        path=edited.path,
        action=edited.action,
        patch=list(edited.patch),
        inverse=list(edited.inverse),
    )
    edits = [*history, entry][-HISTORY_LIMIT:]
    sizes = accumulate(len(json.dumps(edit)) for edit in reversed(edits))
    fitting = sum(1 for size in sizes if size <= HISTORY_CHARACTERS)
    return edits[-max(1, fitting) :]


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
