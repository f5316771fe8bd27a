"""Equality of JSON values as the comparison of two numbers, whatever the size of the values."""

from collections.abc import Hashable

from pydantic import JsonValue


class Identities:
    """Assigns numbers to JSON values such that equal values, and only those, have the same number.

    `1`, `1.0` and `true` are different values; the order of an object's members is ignored. Each
    part of a value is visited once. Values must be kept alive and unchanged while their numbers are
    used: parts that have a number are recognized by their address.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, int] = {}

    def of(self, value: JsonValue) -> int:
        """Return the number of a value."""
        if not isinstance(value, list | dict):
            return self._number(_scalar(value))
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._number(self._parts(value))
        return known

    def _parts(self, value: list[JsonValue] | dict[str, JsonValue]) -> Hashable:
        if isinstance(value, list):
            return tuple(map(self.of, value))
        return frozenset((name, self.of(item)) for name, item in value.items())

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _scalar(value: JsonValue) -> Hashable:
    # As text, because only the hashes of texts are seeded: integers can be chosen to collide.
    return type(value), value if value is None or isinstance(value, str) else repr(value)
