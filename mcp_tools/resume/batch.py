"""Several edits carried out together or not at all. Pure.

Their paths are those of the document as it was read: "delete work[0]" and "delete work[1]" take
away the first and the second job, whichever comes first. Entries that a batch adds at the end can
be named by the indices that follow.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from .access import find
from .document import Resume
from .edit import Edited, edit
from .errors import NothingThereError, ResumeError
from .limits import MAX_CHARACTERS
from .path import Path


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a batch."""

    path: str
    action: str
    value: JsonValue = None


class BatchError(Exception):
    """Raised when an edit of a batch is not possible; then none is made."""

    def __init__(self, number: int, error: ResumeError) -> None:
        super().__init__(f"edit {number}: {error}")
        self.number = number
        """Which edit, counted from 0."""
        self.error = error


def edit_all(resume: Resume, edits: Iterable[Edit]) -> Sequence[Edited]:
    """Make edits one after the other, each on the resume as the one before it leaves it.

    Raises:
        BatchError: one of them is not possible.
    """
    done: list[Edited] = []
    shifts: list[_Shift] = []
    for number, wanted in enumerate(edits):
        try:
            place = _shifted(Path.parse(wanted.path), shifts)
            edited = edit(resume, str(place), wanted.action, _decoded(wanted.value))
        except ResumeError as error:
            raise BatchError(number, error) from error
        if shift := _shift_by(edited, wanted, place, resume):
            done = [replace(one, path=_path_after(one, shift)) for one in done]
            shifts.append(shift)
        resume = edited.resume
        done.append(edited)
    return done


@dataclass(frozen=True, slots=True)
class _Shift:
    """A list whose entries have other indices than before."""

    parent: tuple[str | int, ...]
    count: int
    """How many entries it had."""
    entries: Sequence[int | None]
    """The entries that it has now, by the index that they had; None for a new one."""

    def of(self, index: int) -> int | None:
        """Return the index of an entry after the shift; None if it is gone."""
        if index >= self.count:
            return index + len(self.entries) - self.count
        return self.entries.index(index) if index in self.entries else None


def _shift_by(edited: Edited, wanted: Edit, place: Path, before: Resume) -> _Shift | None:
    """Return how an edit at a place shifts the entries of a list; None if none has moved."""
    to = _decoded(wanted.value)
    if edited.action == "move" and isinstance(to, list):
        order = [index for index in to if isinstance(index, int)]
        return _Shift(place.steps, len(order), order)
    index = place.steps[-1]
    holder = find(before.to_json(), place.parent) if isinstance(index, int) else None
    if not isinstance(index, int) or not isinstance(holder, list) or index >= len(holder):
        return None
    entries: list[int | None] = [*range(len(holder))]
    match edited.action:
        case "add":
            entries.insert(index, None)
        case "delete":
            entries.remove(index)
        case "move" if isinstance(to, int):
            entries.insert(to, entries.pop(index))
        case _:
            return None
    return _Shift(place.parent.steps, len(holder), entries)


def _shifted(place: Path, shifts: Iterable[_Shift]) -> Path:
    """Return where a place is after shifts.

    Raises:
        NothingThereError: one of them has taken it away.
    """
    for shift in shifts:
        depth = len(shift.parent)
        index = place.steps[depth] if place.steps[:depth] == shift.parent != place.steps else None
        if not isinstance(index, int):
            continue
        if (now := shift.of(index)) is None:
            raise NothingThereError(path=str(place))
        place = replace(place, steps=(*place.steps[:depth], now, *place.steps[depth + 1 :]))
    return place


def _path_after(edited: Edited, shift: _Shift) -> str:
    """Return the path of an edit's place; that of a place that is gone stays as it was."""
    if edited.action == "delete":
        return edited.path
    try:
        return str(_shifted(Path.parse(edited.path), [shift]))
    except NothingThereError:
        return edited.path


def _decoded(value: JsonValue) -> JsonValue:
    """Return the value that a model means: it may send an object as its JSON text."""
    is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
    if isinstance(value, str) and is_json and len(value) <= MAX_CHARACTERS:
        try:
            decoded: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded
    return value
