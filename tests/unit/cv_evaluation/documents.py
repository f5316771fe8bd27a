"""Resumes as plain JSON: made as they must be, and compared where values may be alternatives."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from pydantic import JsonValue

from mcp_tools.resume import JsonObject, Path

Steps = tuple[str | int, ...]


def edited(
    document: JsonObject, sets: Mapping[str, JsonValue], removes: Iterable[str]
) -> JsonObject:
    """Return a document with some places set and others gone; all paths are those before.

    Raises:
        LookupError: what is to go is not there.
    """
    made = deepcopy(document)
    for path, value in sets.items():
        _put(made, Path.parse(path).steps, value)
    for steps in sorted((Path.parse(path).steps for path in removes), key=_last_first):
        _take(made, steps)
    return made


def ordered(document: JsonObject, order: Mapping[str, Sequence[int]]) -> JsonObject:
    """Return a document with some lists in another order, given by where their items were.

    Raises:
        LookupError: there is no such list or item.
    """
    made = deepcopy(document)
    for path, indices in order.items():
        steps = Path.parse(path).steps
        found: JsonValue = made
        for step in steps:
            found = _inside(found, step)
        if not isinstance(found, list):
            raise LookupError(path)
        _put(made, steps, [found[index] for index in indices])
    return made


def same_document(
    wanted: JsonObject, adds: Mapping[str, Sequence[JsonValue]], seen: JsonObject
) -> bool:
    """Tell whether a document is as wanted, with more entries added wherever in their section."""
    sections = {*wanted, *seen, *adds}
    return all(
        _same_section(wanted.get(name), adds.get(name, ()), seen.get(name)) for name in sections
    )


def fits(wanted: JsonValue, seen: JsonValue) -> bool:
    """Tell whether a value is the wanted one or, for `{any: [...]}`, one of those wanted."""
    if isinstance(wanted, dict) and wanted.keys() == {"any"} and isinstance(wanted["any"], list):
        return any(fits(one, seen) for one in wanted["any"])
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return wanted.keys() == seen.keys() and all(fits(wanted[name], seen[name]) for name in seen)
    if isinstance(wanted, list) and isinstance(seen, list):
        return len(wanted) == len(seen) and all(map(fits, wanted, seen))
    if isinstance(wanted, dict | list) or isinstance(seen, dict | list):
        return False
    return wanted is seen or str(wanted).strip() == str(seen).strip()


def within(path: str, other: str) -> bool:
    """Tell whether a path is the other one or leads to a place inside it."""
    inner, outer = Path.parse(path).steps, Path.parse(other).steps
    return inner[: len(outer)] == outer


def places(document: JsonObject, path: str) -> set[Steps]:
    """Return the places of all the single values at or inside a path."""
    found: JsonValue = document
    steps = Path.parse(path).steps
    for step in steps:
        found = _inside(found, step)
    return set(_leaves(found, steps))


def _same_section(wanted: JsonValue, added: Sequence[JsonValue], seen: JsonValue) -> bool:
    rest = _without_empty(seen)
    if added:
        entries = list(rest) if isinstance(rest, list) else []
        for entry in added:
            at = next((i for i in reversed(range(len(entries))) if fits(entry, entries[i])), None)
            if at is None:
                return False
            del entries[at]
        rest = entries or None
    return fits(_without_empty(wanted), rest)


def _without_empty(value: JsonValue) -> JsonValue:
    """Return a value without members that say nothing; `None` for one that says nothing itself."""
    if isinstance(value, dict):
        members = {name: _without_empty(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not None} or None
    if isinstance(value, list):
        return [_without_empty(item) for item in value] or None
    return None if value == "" else value


def _put(holder: JsonValue, steps: Steps, value: JsonValue) -> None:
    """Set a place; objects, lists and entries on the way are made."""
    step, *rest = steps
    if isinstance(holder, list) and isinstance(step, int):
        holder.extend({} for _ in range(len(holder), step + 1))
        holder[step] = holder[step] if rest else value
        if rest:
            _put(holder[step], tuple(rest), value)
    elif isinstance(holder, dict) and isinstance(step, str):
        new: JsonValue = [] if rest and isinstance(rest[0], int) else {}
        holder[step] = (holder.get(step) or new) if rest else value
        if rest:
            _put(holder[step], tuple(rest), value)


def _take(document: JsonObject, steps: Steps) -> None:
    *way, last = steps
    holder: JsonValue = document
    for step in way:
        holder = _inside(holder, step)
    if isinstance(holder, dict):
        del holder[str(last)]
    elif isinstance(holder, list) and isinstance(last, int):
        del holder[last]
    else:
        raise LookupError(last)


def _last_first(steps: Steps) -> list[int]:
    """Sort places so that taking one does not move the next: later entries first, fields before."""
    return [-len(steps), *(-step for step in steps if isinstance(step, int))]


def _inside(value: JsonValue, step: str | int) -> JsonValue:
    if isinstance(value, list) and isinstance(step, int):
        return value[step] if step < len(value) else None
    return value.get(step) if isinstance(value, dict) and isinstance(step, str) else None


def _leaves(value: JsonValue, steps: Steps) -> Iterable[Steps]:
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    if value is not None and not isinstance(value, dict | list):
        yield steps
    for step, member in members:
        yield from _leaves(member, (*steps, step))
