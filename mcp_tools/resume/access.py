"""Access to values in a JSON document: at a path, or all its texts."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from .document import JsonObject
from .errors import EntryNotFoundError
from .path import Path


def find(document: JsonObject, place: Path) -> JsonValue:
    """Return the value at a place; None if it is a missing member of an object.

    Raises:
        EntryNotFoundError: an index on the way is out of range.
    """
    found: JsonValue = document
    for depth, step in enumerate(place.steps):
        if isinstance(step, int):
            entries = found if isinstance(found, list) else []
            if step >= len(entries):
                raise no_entry(Path(place.steps[: depth + 1]), len(entries))
            found = entries[step]
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def put(document: JsonObject, place: Path, value: JsonValue) -> None:
    """Set a place, making the objects on the way; the lists on the way must be there."""
    *way, last = place.steps
    holder: JsonValue = document
    for step in way:
        if isinstance(step, int) and isinstance(holder, list):
            holder = holder[step]
        elif isinstance(step, str) and isinstance(holder, dict):
            if holder.get(step) is None:
                holder[step] = {}
            holder = holder[step]
    _assign(holder, last, value)


def _assign(holder: JsonValue, step: str | int, value: JsonValue) -> None:
    if isinstance(step, int) and isinstance(holder, list):
        holder[step] = value
    if isinstance(step, str) and isinstance(holder, dict):
        holder[step] = value


def remove(document: JsonObject, place: Path) -> None:
    """Take a place away, if it is there."""
    holder = find(document, place.parent)
    last = place.steps[-1]
    if isinstance(last, int) and isinstance(holder, list):
        del holder[last]
    elif isinstance(last, str) and isinstance(holder, dict):
        holder.pop(last, None)


def texts_in(value: JsonValue) -> Iterator[str]:
    """All texts and numbers in a value, as texts."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def no_entry(place: Path, count: int) -> EntryNotFoundError:
    """Say that a list has no entry at the place's last step."""
    index = place.steps[-1]
    number = index + 1 if isinstance(index, int) else index
    return EntryNotFoundError(section=place.section, number=number, count=count)
