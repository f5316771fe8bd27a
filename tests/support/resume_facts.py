"""Resumes compared fact by fact: a fact is a value at a path."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue


def facts(value: JsonValue, at: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Return the values of a document with their paths."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from facts(item, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from facts(item, f"{at}[{index}]")
    elif value is not None:
        yield at, value


def missed(expected: JsonValue, found: JsonValue) -> list[str]:
    """Return the expected facts that are not found, with what stands there instead."""
    there = dict(facts(found))
    return [
        f"{path}: {value!r} is {there.get(path)!r}"
        for path, value in facts(expected)
        if there.get(path) != value
    ]


def extra(expected: JsonValue, found: JsonValue) -> list[str]:
    """Return the facts that nobody expected."""
    known = dict(facts(expected))
    return [f"{path}: {value!r}" for path, value in facts(found) if path not in known]


def share(expected: JsonValue, found: JsonValue) -> float:
    """Return the share of the expected facts that are found, from 0 to 1."""
    count = len(list(facts(expected)))
    return 1 - len(missed(expected, found)) / count
