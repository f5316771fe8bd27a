"""JSON Patch (RFC 6902): the difference of two documents as operations, and their application."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict

from .document import JsonObject
from .identities import Identities

MAX_PATHS = 100_000


class Operation(TypedDict):
    """One step of a JSON Patch; `value` is missing for `remove`."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: NotRequired[JsonValue]


def diff(before: JsonValue, after: JsonValue) -> list[Operation]:
    """Return operations that turn `before` into `after`.

    If their paths would exceed `MAX_PATHS` characters together, one operation replaces the whole
    document.
    """
    operations: list[Operation] = []
    paths = 0
    for operation in _Difference().between(before, after, ""):
        operations.append(operation)
        paths += len(operation["path"])
        if paths > MAX_PATHS:
            return [{"op": "replace", "path": "", "value": deepcopy(after)}]
    return operations


def apply_patch(document: JsonObject, operations: Iterable[Operation]) -> JsonObject:
    """Return the document after the operations, which come from `diff` on an equal document."""
    holder: JsonObject = {"": deepcopy(document)}
    for operation in operations:
        _apply(holder, operation)
    changed = holder[""]
    if not isinstance(changed, dict):
        raise ValueError("a patch must leave the document an object")
    return changed


class _Difference:
    """Computes the difference of two documents; each of their parts is compared once."""

    def __init__(self) -> None:
        self._identities = Identities()

    def between(self, before: JsonValue, after: JsonValue, at: str) -> Iterator[Operation]:
        if self._are_equal(before, after):
            return
        if isinstance(before, dict) and isinstance(after, dict):
            yield from self._between_objects(before, after, at)
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._between_lists(before, after, at)
        else:
            yield {"op": "replace", "path": at, "value": deepcopy(after)}

    def _between_objects(
        self, before: JsonObject, after: JsonObject, at: str
    ) -> Iterator[Operation]:
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": f"{at}/{_escaped(key)}"}
        for key, value in after.items():
            path = f"{at}/{_escaped(key)}"
            if key in before:
                yield from self.between(before[key], value, path)
            else:
                yield {"op": "add", "path": path, "value": deepcopy(value)}

    def _between_lists(
        self, before: Sequence[JsonValue], after: Sequence[JsonValue], at: str
    ) -> Iterator[Operation]:
        start = self._common(before, after)
        end = self._common(before[start:][::-1], after[start:][::-1])
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        for index in range(min(len(old), len(new))):
            yield from self.between(old[index], new[index], f"{at}/{start + index}")
        for index in reversed(range(len(new), len(old))):
            yield {"op": "remove", "path": f"{at}/{start + index}"}
        for index in range(len(old), len(new)):
            yield {"op": "add", "path": f"{at}/{start + index}", "value": deepcopy(new[index])}

    def _common(self, first: Sequence[JsonValue], second: Sequence[JsonValue]) -> int:
        """Return the length of the common prefix of two lists."""
        pairs = zip(first, second, strict=False)
        return sum(1 for _ in takewhile(lambda pair: self._are_equal(*pair), pairs))

    def _are_equal(self, one: JsonValue, other: JsonValue) -> bool:
        return self._identities.of(one) == self._identities.of(other)


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
