"""Normalization of two texts as far as it depends on the other one.

A number in digits is read as it is in the other text. Words that differ only in spaces are divided
as in the expected text, since spaces are not audible. Filled pauses are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from .language import Language
from .sounds import sounds_of
from .spoken import spoken
from .units import Units, parts_of


def fitted(expected_text: str, said_text: str, language: Language | None) -> tuple[Units, Units]:
    """The expected text, and what was said; the stops of a transcript count for nothing.

    Args:
        expected_text: The text as it is written.
        said_text: Its recitation as it was transcribed.
        language: Of the numbers in both; that of the expected text, if not given.

    Raises:
        TextTooLongError: one of them is too long to be compared.
    """
    text = parts_of(expected_text, language)
    transcript = parts_of(said_text, text.language)
    expected = text.spelled(like=transcript.spelled().units)
    said = transcript.spelled(like=expected.units)
    has_words = any(map(str.isascii, expected.units))
    divided = _divided_like(said.units, expected.units) if has_words else said.units
    units = tuple(_without_fillers(divided, expected.units))
    return expected, Units(units, frozenset({0}))


def _divided_like(said: Sequence[str], expected: Sequence[str]) -> Iterator[str]:
    """Join or divide words, if the expected text has them so and not as they were written."""
    known = set(expected)
    pairs = {first + second: (first, second) for first, second in pairwise(expected)}
    number = 0
    while number < len(said):
        unit = said[number]
        both = unit + said[number + 1] if number + 1 < len(said) else ""
        if both in known and both not in pairs:
            yield both
            number += 2
            continue
        yield from pairs.get(unit, (unit,)) if unit not in known else (unit,)
        number += 1


def _without_fillers(said: Iterable[str], expected: Iterable[str]) -> Iterator[str]:
    heard = {sound for unit in set(expected) for sound in sounds_of(unit)}
    dropped = {unit for unit in spoken().fillers if heard.isdisjoint(sounds_of(unit))}
    return (unit for unit in said if unit not in dropped)
