"""Tells values (numbers, measures, signs, equations) from words."""

import re
from functools import cache

from .notation import BLANK, in_signs, plain
from .units import unit_pattern
from .vocabulary import vocabulary

MAX_VALUE = 80
"""Characters; longer texts are no values."""

_SIGNS = re.compile(rf"[\d\s.,/%…()+\-*÷=<>≥≤≠√^±:{BLANK}]*")
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_MEANS_SOMETHING = re.compile(r"\d|^[<>=≥≤≠]$")


def is_value(text: str) -> bool:
    """Return whether a text is a value and nothing else: `15`, `十五个`, `x = 5`, `3余2`, `>`."""
    if len(text) > MAX_VALUE:
        return False
    words = vocabulary()
    if text.strip().casefold() in words.nothing | words.anything:
        return True
    signs = in_signs(plain(text).rstrip("! "))
    rest = _measured().sub(_without_thing, signs)
    rest = _LETTER.sub("", rest)
    return bool(_MEANS_SOMETHING.search(signs.strip())) and bool(_SIGNS.fullmatch(rest))


def _without_thing(found: re.Match[str]) -> str:
    return found[0] if (found["thing"] or "").casefold() in vocabulary().uncounted else ""


@cache
def _measured() -> re.Pattern[str]:
    """A unit or a counter behind a number, and the one thing that is counted."""
    counters = "|".join(sorted(vocabulary().counters, key=len, reverse=True))
    return re.compile(
        rf"(?<=[\d)%])\s?(?:(?:{unit_pattern()})(?:\^?[23])?(?![A-Za-z])(?:钟|钱)?"
        rf"|(?:{counters})(?:[\u4e00-\u9fff]{{1,2}}$)?"
        r"|(?P<thing>[A-Za-z]{3,12})\s*$)",
        re.IGNORECASE,
    )
