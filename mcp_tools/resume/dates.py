"""JSON Resume's partial ISO dates, and the spellings of them that people use."""

import re
from collections.abc import Iterator
from datetime import date

from .errors import InvalidDateError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""How the English names of the months begin."""

_CHINESE_DIGITS = str.maketrans("零〇一二三四五六七八九", "00123456789")

_MONTH_WORD = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20)\d{2}"
_CHINESE_MONTH = r"十[一二]|[一二三四五六七八九十]|\d{1,2}"

DATE_PATTERN = "|".join(
    (
        rf"(?P<y1>{_YEAR}|\d{{2}}|[一二][零〇一二三四五六七八九]{{3}})\s*年(?!经验|以上|多|来|间|前|制)(?:\s*(?P<m1>{_CHINESE_MONTH})\s*月份?"
        r"(?:\s*(?P<d1>\d{1,2})\s*[日号])?)?",
        rf"(?<!\d)(?P<y2>{_YEAR})(?:[-/]|\.\s?)(?P<m2>\d{{1,2}})(?:[-./](?P<d2>\d{{1,2}}))?(?!\d)",
        rf"(?<![a-z])(?P<n3>{_MONTH_WORD})\s*(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(?P<y3>{_YEAR})(?!\d)",
        rf"(?<!\d)(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<n4>{_MONTH_WORD})\s*,?\s*(?P<y4>{_YEAR})(?!\d)",
        rf"(?<![a-z])(?P<n5>{_MONTH_WORD})\s*(?:of\s+|,\s*|')?\s*(?P<y5>{_YEAR})(?!\d)",
        rf"(?<!\d)(?P<m6>\d{{1,2}})\s?/\s?(?P<y6>{_YEAR})(?!\d)",
        rf"(?<![\d])(?P<y7>{_YEAR})(?P<m7>0[1-9]|1[0-2])(?!\d)",
        rf"(?<![\d])(?P<y8>{_YEAR})(?!\d)",
    )
)
"""One written date; every alternative ends in a group number that `iso_date` understands."""

YEAR = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
"""A year of four digits that is no part of a longer number."""

_DATE = re.compile(DATE_PATTERN, re.IGNORECASE)
_PRESENT = re.compile(
    r"(?:至今|到?现在|到?目前|迄今|在职|在读|present|now|current(?:ly)?|today|to date|ongoing)",
    re.IGNORECASE,
)


def is_present(text: str) -> bool:
    """Tell whether text means "until now"."""
    return _PRESENT.fullmatch(text.strip()) is not None


def iso_date(match: re.Match[str]) -> str:
    """Turn a match of `DATE_PATTERN` into a partial ISO date.

    Raises:
        InvalidDateError: the match names a month or a day that does not exist.
    """
    parts = {
        key[0]: value
        for key, value in match.groupdict().items()
        if value and re.fullmatch(r"[ymdn]\d", key)
    }
    year = _year(parts["y"])
    month = _month(parts)
    if month is None:
        return f"{year:04d}"
    day = int(parts["d"]) if "d" in parts else None
    try:
        date(year, month, day or 1)
    except ValueError:
        raise InvalidDateError(match[0]) from None
    return f"{year:04d}-{month:02d}" + (f"-{day:02d}" if day else "")


def dates_written(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the dates in a text that exist: where they stand, and as partial ISO dates."""
    for match in _DATE.finditer(text):
        try:
            yield match, iso_date(match)
        except InvalidDateError:
            continue


def parse_date(text: str) -> str | None:
    """Read one date; None means "until now".

    Raises:
        InvalidDateError: the text is not a date, or names one that does not exist.
    """
    stripped = text.strip()
    if is_present(stripped):
        return None
    match = _DATE.fullmatch(stripped)
    if match is None:
        raise InvalidDateError(text)
    return iso_date(match)


def _year(text: str) -> int:
    number = int(text.translate(_CHINESE_DIGITS))
    if number >= 100:
        return number
    return 2000 + number if number < 70 else 1900 + number


def _month(parts: dict[str, str]) -> int | None:
    if name := parts.get("n"):
        return MONTHS.index(name[:3].lower()) + 1
    if text := parts.get("m"):
        return _chinese_number(text)
    return None


def _chinese_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    ten, _, ones = text.rpartition("十")
    return (10 if "十" in text else 0) + int((ten + ones or "0").translate(_CHINESE_DIGITS))
