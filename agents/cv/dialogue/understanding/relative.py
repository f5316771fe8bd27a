"""Dates that count from today ("last month", "两年前") or leave out the century ("'19")."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

from mcp_tools.resume import MONTHS

from .vocabulary import vocabulary

_ENDINGS = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t|t?ember", "ober", "ember", "ember")
MONTH_WORD = "|".join(f"{name}(?:{ending})?" for name, ending in zip(MONTHS, _ENDINGS, strict=True))
"""An English month, in full or not."""
HAN_MONTH = "十[一二]?|[一二三四五六七八九]"
"""The number of a month in Chinese."""
_YEARS_AHEAD = 10
"""A year of two digits is at most so far in the future; others are of the last century."""
_SHORT_YEAR = re.compile(
    rf"(?<!\w)(?:(?P<month>{MONTH_WORD})\.?\s*)?['’‘](?P<year>\d\d)(?![\w'’])",
    re.IGNORECASE,
)


def relative_dates(text: str, *, today: date) -> Iterator[tuple[int, int, str]]:
    """Yield where such dates stand and what they mean: `(begin, stop, iso)`."""
    for match in _SHORT_YEAR.finditer(text):
        yield match.start(), match.end(), _short_year(match, today)
    pattern, meanings = _counted()
    for match in pattern.finditer(text):
        unit, back = meanings[match.lastgroup or ""]
        count = _number(match[0]) if back is None else back
        earlier = _years_ago if unit == "years" else _months_ago
        yield match.start(), match.end(), earlier(today, count, match[0])


def _short_year(match: re.Match[str], today: date) -> str:
    year = 2000 + int(match["year"])
    year = year if year <= today.year + _YEARS_AHEAD else year - 100
    if match["month"] is None:
        return str(year)
    return f"{year}-{month_number(match['month']):02d}"


def month_number(word: str) -> int:
    """Return the number of a month from its English name."""
    return MONTHS.index(word[:3].lower()) + 1


def _years_ago(today: date, count: int, words: str) -> str:
    """Return a year, with its month if the words name one."""
    month = re.search(r"(?:\d+|[一二三四五六七八九十]+)(?=月)", words)
    year = str(today.year - count)
    number = _number(month[0]) if month else 0
    return f"{year}-{number:02d}" if 1 <= number <= 12 else year


def _months_ago(today: date, count: int, words: str) -> str:
    months = today.year * 12 + today.month - 1 - count
    return f"{months // 12}-{months % 12 + 1:02d}"


def _number(words: str) -> int:
    """Return the number that words begin with; "a" and what is not known are one."""
    numbers = vocabulary().grammar.numbers
    words = words.lower()
    if digits := re.match(r"\d+", words):
        return int(digits[0])
    begun = (name for name in sorted(numbers, key=len, reverse=True) if words.startswith(name))
    return numbers.get(next(begun, ""), 1)


@cache
def _counted() -> tuple[re.Pattern[str], dict[str, tuple[str, int | None]]]:
    """Match years and months so far back; for every group its unit and how many, if it says so."""
    time = vocabulary().time
    words: list[tuple[str, int | None, re.Pattern[str]]] = [
        *(("years", back, said) for back, said in time.years.items()),
        *(("months", back, said) for back, said in time.months.items()),
        ("years", None, time.years_ago),
        ("months", None, time.months_ago),
    ]
    pattern = "|".join(f"(?P<g{n}>{said.pattern})" for n, (*_, said) in enumerate(words))
    meanings = {f"g{n}": (unit, back) for n, (unit, back, _) in enumerate(words)}
    return re.compile(pattern, re.IGNORECASE), meanings
