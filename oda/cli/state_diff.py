"""Differences of two JSON documents, in steps that a person can follow. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pydantic import JsonValue

Step = str | int


@dataclass(frozen=True)
class Change:
    """One difference.

    In `path` an index is that of the new document; only the last one of something that was removed
    is that of the old. So the changes lead from the old document to the new one in their order, if
    of each list all that is removed is taken away first.
    """

    path: tuple[Step, ...]
    """Empty for the document as a whole."""
    kind: Literal["added", "removed", "changed"]
    before: JsonValue = None
    after: JsonValue = None


def changes(before: JsonValue, after: JsonValue) -> list[Change]:
    """Return the differences of two documents.

    Empty if they are equal, regardless of their keys' order.

    A document that does not exist yet (None) counts as an empty one.
    """
    if before is None and isinstance(after, dict | list):
        before = type(after)()
    return list(_changes(before, after, ()))


def _changes(before: JsonValue, after: JsonValue, path: tuple[Step, ...]) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from _changes(value, after[key], (*path, key))
            else:
                yield Change((*path, key), "removed", before=value)
        for key, value in after.items():
            if key not in before:
                yield Change((*path, key), "added", after=value)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    elif _identity(before) != _identity(after):
        yield Change(path, "changed", before, after)


def _list_changes(
    before: Sequence[JsonValue], after: Sequence[JsonValue], path: tuple[Step, ...]
) -> Iterator[Change]:
    pairs = dict(_pairs(before, after))
    kept = set(pairs.values())
    for index, value in enumerate(before):
        if index not in kept:
            yield Change((*path, index), "removed", before=value)
    for index, value in enumerate(after):
        if index not in pairs:
            yield Change((*path, index), "added", after=value)
    for index, old in pairs.items():
        yield from _changes(before[old], after[index], (*path, index))


def _pairs(before: Sequence[JsonValue], after: Sequence[JsonValue]) -> Iterator[tuple[int, int]]:
    """New index and old index of what has stayed, changed or not, in ascending order."""
    old_ones, new_ones = ([_identity(item) for item in items] for items in (before, after))
    matcher = SequenceMatcher(None, old_ones, new_ones, autojunk=False)
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(range(new, new_end), range(old, old_end), strict=True)
        elif kind == "replace":
            for index in range(new, new_end):
                likeness = [_likeness(before[one], after[index]) for one in range(old, old_end)]
                if best := max(likeness, default=0):
                    old += likeness.index(best)
                    yield index, old
                    old += 1


def _likeness(before: JsonValue, after: JsonValue) -> int:
    """How much speaks for one having become the other; 0 for two different things."""
    if isinstance(before, dict) and isinstance(after, dict):
        shared = before.keys() & after.keys()
        return sum(_identity(before[key]) == _identity(after[key]) for key in shared)
    return int(_is_value(before) and _is_value(after))


def _is_value(one: JsonValue) -> bool:
    return not isinstance(one, dict | list)


def _identity(value: JsonValue) -> str:
    """Equal for equal JSON; Python takes True for 1."""
    return json.dumps(value, sort_keys=True)
