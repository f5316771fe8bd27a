"""Distinguishes recitation from questions and remarks.

Speech is recitation if it comes from the text, even partly or badly. In the intermediate range,
where few words come from the text, it is recitation unless it looks like a question or a remark:
`remarks` in `spoken.yaml`. Speech that consists of a remark only ("什么", "help me") is never
recitation, unless it is a whole clause of the text.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from .fit import fitted
from .sounds import as_heard, sound_keys
from .spoken import spoken
from .units import Units, joined

FAINT = 0.45
"""Below this similarity it is not recitation. Over the library, a line in which 40% is wrong always
reaches it; of the lines of other texts, 1% do in Chinese and 3% in English."""
CLEAR = 0.7
"""From this similarity on it is recitation, whatever it reads like: poems ask questions too."""

_QUESTION_MARKS = ("?", "？")


def similarity(expected: str, said: str) -> float:
    """Which part of what was said comes from the text, 0 to 1; homophones count.

    The units must stand in the text in the order in which they were said and close to each other:
    within half as many again as were said.

    Raises:
        TextTooLongError: one of the texts is too long to be compared.
    """
    return _similarity(*fitted(expected, said, None))


def is_recitation(expected: str, said: str) -> tuple[bool, float]:
    """Return whether the speech is meant as recitation of the text, and their similarity (0 to 1).

    Raises:
        TextTooLongError: one of the texts is too long to be compared.
    """
    text, units = fitted(expected, said, None)
    found = _similarity(text, units)
    if found < FAINT:
        return False, found
    utterance = joined(units.units)
    if _patterns().whole.fullmatch(utterance) and units.units not in _clauses(text):
        return False, found
    if found >= CLEAR:
        return True, found
    is_remark = said.rstrip().endswith(_QUESTION_MARKS) or _patterns().part.search(utterance)
    return not is_remark, found


def _similarity(text: Units, said: Units) -> float:
    length = len(said.units)
    if not length or not text.units:
        return 0.0
    sounds = sound_keys(text.units, said.units)
    expected, heard = as_heard(text.units, sounds), as_heard(said.units, sounds)
    window, stride = length + length // 2, max(1, length // 4)
    last = max(1, len(expected) - window + stride)
    best = max(
        LCSseq.similarity(heard, expected[start : start + window])
        for start in range(0, last, stride)
    )
    return float(best / length)


def _clauses(text: Units) -> set[tuple[str, ...]]:
    starts = [*sorted(text.clause_starts), len(text.units)]
    return {text.units[start:end] for start, end in pairwise(starts)}


class _Patterns(NamedTuple):
    whole: re.Pattern[str]
    part: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    remarks = spoken().remarks.values()
    return _Patterns(
        whole=_any_of(pattern for remark in remarks for pattern in remark.whole),
        part=_any_of(pattern for remark in remarks for pattern in remark.part),
    )


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
