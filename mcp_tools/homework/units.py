"""Measures: numbers with units, as the amount of one dimension."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, TypeAdapter

from .arithmetic import value
from .expression import parse
from .notation import BLANK

_NUMBER = r"\d+\s+\d+/\d+|\d+/\d+|\d+(?:,\d{3})*(?:\.\d+)?"


class _Unit(BaseModel):
    size: str | int | float
    names: list[str]


@dataclass(frozen=True)
class Part:
    """A number with its unit; `number` is None for a blank."""

    number: Fraction | None
    unit: str


@dataclass(frozen=True)
class Measure:
    """Parts that are added up: `1小时20分`."""

    parts: tuple[Part, ...]

    @property
    def units(self) -> list[str]:
        return [part.unit for part in self.parts]

    @property
    def is_blank(self) -> bool:
        return all(part.number is None for part in self.parts)

    @property
    def is_known(self) -> bool:
        return all(part.number is not None for part in self.parts)

    def amount(self, dimension: str) -> Fraction:
        """The sum, in the smallest measure of the dimension; no part may be a blank."""
        return sum(
            (part.number * size(part.unit, dimension) for part in self.parts if part.number),
            Fraction(0),
        )


def measure(text: str) -> Measure | None:
    """Read a text that is a measure and nothing else."""
    parts = []
    position = 0
    text = re.sub(r"\s+and\s+", " ", text.strip())
    while position < len(text):
        found = _part().match(text, position)
        if found is None:
            return None
        sign = -1 if found["sign"] == "-" else 1
        number = None if found["blank"] else sign * value(parse(found["number"]))
        parts.append(Part(number, found["unit"].lower()))
        position = found.end()
    return Measure(tuple(parts)) if parts else None


def dimension_of(units: Sequence[str]) -> str | None:
    """Return the only dimension with all the units; None if there is none or more than one."""
    common = [name for name, sizes in _sizes().items() if all(unit in sizes for unit in units)]
    return common[0] if len(common) == 1 else None


def size(unit: str, dimension: str) -> Fraction:
    """How many of the smallest measure of its dimension a unit is."""
    return _sizes()[dimension][unit]


def unit_pattern() -> str:
    """A pattern of all names of units, the longest first."""
    names = {name for sizes in _sizes().values() for name in sizes}
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


@cache
def _sizes() -> Mapping[str, Mapping[str, Fraction]]:
    file = Path(__file__).with_name("units.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    dimensions = TypeAdapter(dict[str, list[_Unit]]).validate_python(content)
    return {
        dimension: {name: Fraction(str(unit.size)) for unit in units for name in unit.names}
        for dimension, units in dimensions.items()
    }


@cache
def _part() -> re.Pattern[str]:
    return re.compile(
        rf"\s*(?P<sign>[-+]?)\s*(?:\(\s*)?(?:(?P<number>{_NUMBER})|(?P<blank>{BLANK}))\s*(?:\))?"
        rf"\s*(?P<unit>{unit_pattern()})(?![A-Za-z^])\s*",
        re.IGNORECASE,
    )
