"""JSON Patch (RFC 6902): the difference of two documents as operations, and their application."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict

from .document import JsonObject


class Operation(TypedDict):
    """One step of a JSON Patch; `value` is missing for `remove`."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: NotRequired[JsonValue]


def diff(before: JsonValue, after: JsonValue) -> list[Operation]:
    """Return operations that turn `before` into `after`."""
    return list(_diff(before, after, ""))


def apply_patch(document: JsonObject, operations: Iterable[Operation]) -> JsonObject:
    """Return the document after the operations, which come from `diff` on an equal document."""
    holder: JsonObject = {"": deepcopy(document)}
    for operation in operations:
        _apply(holder, operation)
    changed = holder[""]
    if not isinstance(changed, dict):
        raise ValueError("a patch must leave the document an object")
    return changed


def _diff(before: JsonValue, after: JsonValue, at: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _diff_objects(before, after, at)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _diff_lists(before, after, at)
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": at, "value": deepcopy(after)}


def _diff_objects(before: JsonObject, after: JsonObject, at: str) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{at}/{_escaped(key)}"}
    for key, value in after.items():
        path = f"{at}/{_escaped(key)}"
        if key in before:
            yield from _diff(before[key], value, path)
        else:
            yield {"op": "add", "path": path, "value": deepcopy(value)}


def _diff_lists(
    before: Sequence[JsonValue], after: Sequence[JsonValue], at: str
) -> Iterator[Operation]:
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for index in range(min(len(old), len(new))):
        yield from _diff(old[index], new[index], f"{at}/{start + index}")
    for index in reversed(range(len(new), len(old))):
        yield {"op": "remove", "path": f"{at}/{start + index}"}
    for index in range(len(old), len(new)):
        yield {"op": "add", "path": f"{at}/{start + index}", "value": deepcopy(new[index])}


def _common(first: Sequence[JsonValue], second: Sequence[JsonValue]) -> int:
    length = 0
    for one, other in zip(first, second, strict=False):
        if diff(one, other):
            break
        length += 1
    return length


def _apply(holder: JsonObject, operation: Operation) -> None:
    *way, last = (_unescaped(step) for step in operation["path"].split("/"))
    place: JsonValue = holder
    for step in way:
        place = place[int(step)] if isinstance(place, list) else _member(place, step)
    if isinstance(place, list):
        if operation["op"] == "add":
            place.insert(int(last), deepcopy(operation["value"]))
        elif operation["op"] == "replace":
            place[int(last)] = deepcopy(operation["value"])
        else:
            del place[int(last)]
    elif isinstance(place, dict):
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = deepcopy(operation["value"])
    else:
        raise ValueError(f"no object or list at {operation['path']!r}")


def _member(place: JsonValue, key: str) -> JsonValue:
    if not isinstance(place, dict):
        raise ValueError(f"no object holds {key!r}")
    return place[key]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
