"""Reading and editing a resume: pure functions from a document to a value or a new document.

`edit` never changes the document it is given; when it raises, nothing has happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from .access import find, no_entry, put, remove
from .document import JsonObject, Resume, counted
from .errors import (
    InvalidActionError,
    InvalidValueError,
    NothingThereError,
    VersionConflictError,
)
from .limits import check_limits
from .naming import canonical_entry, load_resume
from .patch import Operation, diff
from .path import Path
from .shape import Shape, shape_at

Action = Literal["add", "update", "delete", "move"]


@dataclass(frozen=True, slots=True)
class Edited:
    """The effect of an edit.

    `path` is its place (for an added entry, that of the entry), `value` the value there now or,
    after a delete, the deleted one. `patch` leads from the old document to the new one and
    `inverse` back, both without the version, which only ever grows.
    """

    resume: Resume
    path: str
    action: Action
    value: JsonValue
    patch: tuple[Operation, ...]
    inverse: tuple[Operation, ...]


def read(resume: Resume, path: str) -> JsonValue:
    """Return the value at a path; an empty section is `[]`, a field without value `None`.

    Raises:
        InvalidPathError, UnknownSectionError, UnknownFieldError: there is no such place.
        EntryNotFoundError: the index is out of range.
    """
    place = Path.parse(path)
    document = resume.to_json()
    shape = _shape(document, place)
    found = find(document, place)
    if found is None and len(place.steps) == 1:
        return [] if shape.kind == "list" else {}
    return found


def edit(resume: Resume, path: str, action: str, value: JsonValue = None) -> Edited:
    """Change one place of a resume and bump its version.

    - `add` appends to a list (a list of values appends them all), inserts at an index, merges
      into an object, sets a field.
    - `update` merges into an entry or object (`null` takes a field away), replaces a list, sets
      a field.
    - `delete` takes away a section, an entry or a field.
    - `move` puts an entry at another index of its list, or a section at another place among those
      that have something in them; with a list of all indices it puts a list in that order.

    Raises:
        ResumeError: one of its kinds; the resume is as it was.
    """
    place = Path.parse(path)
    operate = _OPERATIONS.get(action)
    if operate is None or not place.steps:
        raise InvalidActionError(action=action, path=path)
    check_limits(value, depth=len(place.steps))
    before = resume.to_json()
    after = resume.to_json()
    where, what = operate(after, place, value)
    return Edited(
        resume=load_resume(bump_version(after)),
        path=str(where),
        action=action,  # type: ignore[arg-type]  # a key of _OPERATIONS
        value=what,
        patch=tuple(diff(before, after)),
        inverse=tuple(diff(after, before)),
    )


def exchange(resume: Resume, given: Resume) -> Edited:
    """Put another document in the place of a resume, as one edit."""
    before = _at_version(resume.to_json(), resume.version)
    after = _at_version(given.to_json(), resume.version)
    return Edited(
        resume=load_resume(bump_version(after)),
        path="",
        action="update",
        value=None,
        patch=tuple(diff(before, after)),
        inverse=tuple(diff(after, before)),
    )


def _at_version(document: JsonObject, version: int) -> JsonObject:
    """Return the document at that version, so that no patch has the version in it."""
    meta = document.get("meta")
    return {**document, "meta": {**(meta if isinstance(meta, dict) else {}), "version": version}}


def bump_version(document: JsonObject) -> JsonObject:
    """Return the document with the next `meta.version`."""
    found = document.get("meta")
    meta = found if isinstance(found, dict) else {}
    return {**document, "meta": {**meta, "version": counted(meta.get("version")) + 1}}


def check_version(resume: Resume, expected: int) -> None:
    """Make sure that a resume is at the version that a caller has seen.

    Raises:
        VersionConflictError: it is at another.
    """
    if resume.version != expected:
        raise VersionConflictError(actual=resume.version, expected=expected)


def _add(document: JsonObject, place: Path, value: JsonValue) -> tuple[Path, JsonValue]:
    shape = _shape(document, place)
    if shape.kind == "list":
        return _append(document, place, value)
    if isinstance(place.steps[-1], int):
        return _insert(document, place, shape, value)
    return _set(document, place, shape, value)


def _append(document: JsonObject, place: Path, value: JsonValue) -> tuple[Path, JsonValue]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise _no_value(place)
    found = find(document, place)
    existing = found if isinstance(found, list) else []
    start = len(existing)
    checked = [
        _checked(shape_at(place / start), place / (start + offset), item)
        for offset, item in enumerate(items)
    ]
    put(document, place, existing + checked)
    if len(checked) == 1:
        return place / start, checked[0]
    return place, checked


def _insert(
    document: JsonObject, place: Path, shape: Shape, value: JsonValue
) -> tuple[Path, JsonValue]:
    index = place.steps[-1]
    found = find(document, place.parent)
    entries = found if isinstance(found, list) else []
    if not isinstance(index, int) or index > len(entries):
        raise no_entry(place, len(entries))
    checked = _checked(shape, place, value)
    put(document, place.parent, [*entries[:index], checked, *entries[index:]])
    return place, checked


def _update(document: JsonObject, place: Path, value: JsonValue) -> tuple[Path, JsonValue]:
    shape = _shape(document, place)
    if isinstance(place.steps[-1], int):
        find(document, place)
    return _set(document, place, shape, value)


def _set(
    document: JsonObject, place: Path, shape: Shape, value: JsonValue
) -> tuple[Path, JsonValue]:
    if shape.kind == "object":
        changes = _members(shape, place, value)
        found = find(document, place)
        put(document, place, _merged(found if isinstance(found, dict) else {}, changes))
    elif shape.kind == "list" and isinstance(value, list):
        items = [
            _checked(shape_at(place / index), place / index, item)
            for index, item in enumerate(value)
        ]
        put(document, place, items)
    else:
        checked = shape.check(place, value)
        if checked is None:
            remove(document, place)
        else:
            put(document, place, checked)
    return place, find(document, place)


def _delete(document: JsonObject, place: Path, _: JsonValue) -> tuple[Path, JsonValue]:
    _shape(document, place)
    found = find(document, place)
    if found is None or found in ([], {}):
        raise NothingThereError(path=str(place))
    remove(document, place)
    return place, found


def _move(document: JsonObject, place: Path, value: JsonValue) -> tuple[Path, JsonValue]:
    _shape(document, place)
    found = find(document, place)
    if found is None or found in ([], {}):
        raise NothingThereError(path=str(place))
    if isinstance(value, list):
        put(document, place, _in_order(place, found, value))
        return place, find(document, place)
    if isinstance(place.steps[-1], int):
        holder = find(document, place.parent)
        items = list(holder) if isinstance(holder, list) else []
        index = _index(place, value, len(items))
        items.insert(index, items.pop(place.steps[-1]))
        put(document, place.parent, items)
        return place.parent / index, found
    return place, _move_section(document, place, value)


def _move_section(document: JsonObject, place: Path, value: JsonValue) -> JsonValue:
    order = [name for name in load_resume(document).order if document.get(name)]
    section = next((name for name in order if (name,) == place.steps), None)
    if section is None:
        raise InvalidActionError(action="move", path=str(place))
    index = _index(place, value, len(order))
    order.remove(section)
    order.insert(index, section)
    names: list[JsonValue] = [*order]
    put(document, Path(("meta", "sections")), names)
    return names


def _in_order(place: Path, found: JsonValue, order: list[JsonValue]) -> list[JsonValue]:
    items = found if isinstance(found, list) else []
    indices = [index for index in order if isinstance(index, int)]
    if sorted(indices) != [*range(len(items))] or len(indices) != len(order):
        raise InvalidValueError(
            path=str(place),
            expected={"zh": f"0 到 {len(items) - 1} 的全部序号", "en": "all indices, each once"},
        )
    return [items[index] for index in indices]


def _index(place: Path, value: JsonValue, count: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count:
        return value
    raise InvalidValueError(
        path=str(place),
        expected={"zh": f"0 到 {count - 1} 的序号", "en": f"an index from 0 to {count - 1}"},
    )


_OPERATIONS: Mapping[str, Callable[[JsonObject, Path, JsonValue], tuple[Path, JsonValue]]] = {
    "add": _add,
    "update": _update,
    "delete": _delete,
    "move": _move,
}


def _shape(document: JsonObject, place: Path) -> Shape:
    """Return the shape at a place, with the unknown fields that the document has there."""
    parent = find(document, place.parent) if place.steps else None
    return shape_at(place, known=frozenset(parent) if isinstance(parent, dict) else frozenset())


def _checked(shape: Shape, place: Path, value: JsonValue) -> JsonValue:
    """Return a value that is fit to be added: canonical, and with something in it."""
    if shape.kind != "object":
        checked = shape.check(place, value)
        if checked is None:
            raise _no_value(place)
        return checked
    members: JsonObject = {
        key: item for key, item in _members(shape, place, value).items() if item is not None
    }
    if not members:
        raise _no_value(place)
    return members


def _members(shape: Shape, place: Path, value: JsonValue) -> JsonObject:
    """Return the fields of an object value in canonical form; `None` marks those to take away."""
    section = place.section if len(place.steps) == 2 else ""
    checked = shape.check(place, canonical_entry(section, value, foreign=place.foreign))
    if not isinstance(checked, dict):
        raise _no_value(place)
    return checked


def _merged(old: JsonObject, changes: JsonObject) -> JsonObject:
    """Merge as JSON Merge Patch (RFC 7396) does."""
    new = dict(old)
    for key, value in changes.items():
        inner = new.get(key)
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = _merged(inner if isinstance(inner, dict) else {}, value)
        else:
            new[key] = value
    return new


def _no_value(place: Path) -> InvalidValueError:
    return InvalidValueError(
        path=str(place), expected={"zh": "有内容的值", "en": "a value with content"}
    )
