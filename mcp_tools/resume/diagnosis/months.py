"""The dates of a resume as months, which is as exact as resumes are."""

import re
from dataclasses import dataclass
from datetime import date

from mcp_tools.resume.dates import YEAR, dates_written

_LOOKS_LIKE_A_DATE = re.compile(r"(?=.*\d)[\d\s./年月日号-]+")
_LONGEST_DATE = 60


@dataclass(frozen=True, slots=True)
class Months:
    """The months that a date may mean, counted from year 0: one, or the twelve of a year."""

    first: int
    last: int

    @classmethod
    def of(cls, day: date) -> "Months":
        """Return the month of a day."""
        count = day.year * 12 + day.month - 1
        return cls(count, count)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as written in a resume; `months` is None if no year can be recognized.

    `is_real` is false for something written like a date that is not one: a thirteenth month.
    """

    text: str
    months: Months | None
    is_real: bool = True


def written_date(text: str) -> WrittenDate:
    """Parse the content of a date field: "2020-05", "Summer 2020", "2020-13", "soon"."""
    read = text[:_LONGEST_DATE].strip()
    match, iso = next(dates_written(read), (None, ""))
    if match is not None and not _goes_on(read, match):
        return WrittenDate(text, _months(iso))
    year = YEAR.search(read)
    months = _months(year[0]) if year else None
    return WrittenDate(text, months, is_real=not _LOOKS_LIKE_A_DATE.fullmatch(read))


def month_text(count: int) -> str:
    """Write a month as a partial ISO date."""
    return f"{count // 12:04d}-{count % 12 + 1:02d}"


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Tell whether more figures follow, so that only a part of the text was read."""
    return bool(re.search(r"\d", text[: match.start()] + text[match.end() :]))


def _months(iso: str) -> Months:
    year, *rest = (int(part) for part in iso.split("-"))
    if rest:
        return Months(year * 12 + rest[0] - 1, year * 12 + rest[0] - 1)
    return Months(year * 12, year * 12 + 11)
