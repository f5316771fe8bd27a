"""A measure to be converted to other units."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mcp_tools.homework.answers import bare, number
from mcp_tools.homework.arithmetic import value, written
from mcp_tools.homework.errors import UnreadableError
from mcp_tools.homework.language import Language
from mcp_tools.homework.units import Measure, Part, dimension_of, measure, size

from .problem import Judged

_BETWEEN = re.compile(r"[,;、\s]+|\band\b|和")


@dataclass(frozen=True)
class Conversion:
    """`targets` are the units asked for, none if the answer is free to choose one."""

    source: Measure
    targets: tuple[str, ...]

    @property
    def topic(self) -> str:
        return "units"

    def judge(self, answer: str, language: Language) -> Judged:
        given = self._given(bare(answer))
        dimension = dimension_of([*self.source.units, *self.targets, *given.units])
        if dimension is None:
            return Judged(False, "wrong_unit")
        expected = _told(self.source.amount(dimension), given.units, dimension)
        if given.amount(dimension) != self.source.amount(dimension):
            return Judged(False, "wrong_conversion", self.solution(language) or expected)
        if self.targets and any(
            size(unit, dimension) != size(target, dimension)
            for unit, target in zip(given.units, self.targets, strict=False)
        ):
            return Judged(False, "wrong_unit")
        return Judged(True, "correct", self.solution(language) or expected)

    def _given(self, text: str) -> Measure:
        text = text.split("=")[-1]
        if (read := measure(text)) and read.is_known:
            return read
        parts = [text] if len(self.targets) == 1 else _BETWEEN.split(text)
        if not self.targets or len(parts) != len(self.targets):
            raise UnreadableError
        return Measure(
            tuple(
                Part(value(number(part)), unit)
                for part, unit in zip(parts, self.targets, strict=True)
            )
        )

    def dimension(self) -> str:
        """Return the measured dimension.

        Raises:
            UnreadableError: no dimension, or more than one, has all the units.
        """
        dimension = dimension_of([*self.source.units, *self.targets])
        if dimension is None:
            raise UnreadableError
        return dimension

    def solution(self, language: Language) -> str | None:
        if not self.targets:
            return None
        dimension = self.dimension()
        return _told(self.source.amount(dimension), self.targets, dimension)

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        if not self.targets:
            return {"from": self.source.units[0]}
        found = {"from": self.source.units[0], "to": self.targets[-1]}
        if fact := self._fact():
            found["fact"] = fact
        return found

    def _fact(self) -> str | None:
        """How many of the smaller unit make the larger."""
        dimension = self.dimension()
        small, large = sorted(
            (self.source.units[0], self.targets[-1]), key=lambda unit: size(unit, dimension)
        )
        times = size(large, dimension) / size(small, dimension)
        return f"1 {large} = {written(times, 'decimal')} {small}" if times > 1 else None

    def working(self, language: Language) -> Sequence[str]:
        if not self.targets:
            return []
        return [line for line in (self._fact(), self._calculated()) if line]

    def _calculated(self) -> str | None:
        """The multiplication or division that converts one number."""
        if len(self.targets) > 1 or len(self.source.parts) > 1:
            return None
        dimension = self.dimension()
        (part,) = self.source.parts
        times = size(part.unit, dimension) / size(self.targets[0], dimension)
        if part.number is None or times == 1:
            return None
        sign, factor = ("×", times) if times > 1 else ("÷", 1 / times)
        left, right, result = (
            written(number, "decimal") for number in (part.number, factor, part.number * times)
        )
        return f"{left}{sign}{right}={result}"


def conversion(source: Measure, target: Measure | None) -> Conversion:
    """A conversion to the units of the blanks in `target`.

    Raises:
        UnreadableError: no dimension, or more than one, has all the units.
    """
    found = Conversion(source, tuple(target.units) if target else ())
    if found.targets:
        found.dimension()
    return found


def _told(amount: Fraction, units: Sequence[str], dimension: str) -> str:
    """Tell an amount in units: all but the smallest in whole numbers."""
    told = {}
    ordered = sorted(units, key=lambda unit: size(unit, dimension), reverse=True)
    for unit in ordered[:-1]:
        count, amount = divmod(amount, size(unit, dimension))
        told[unit] = str(count)
    told[ordered[-1]] = written(amount / size(ordered[-1], dimension), "decimal")
    return "".join(f"{told[unit]}{_spaced(unit)}" for unit in units).strip()


def _spaced(unit: str) -> str:
    """Set a unit in words apart, as in `2 hours 5 minutes`."""
    return f" {unit} " if unit.isalpha() and unit.isascii() and len(unit) > 2 else unit
