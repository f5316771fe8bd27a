"""Dates as a reader likes them: `2021.07 – 至今`, `Jul 2021 – Present`."""

import re

from mcp_tools.resume.dates import MONTHS
from mcp_tools.resume.labels import Language

_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_PRESENT: dict[Language, str] = {"zh": "至今", "en": "Present"}


def date_text(date: str, language: Language) -> str:
    """Write a partial ISO date; anything else comes back as it is."""
    match = _ISO.fullmatch(date)
    if match is None or not 1 <= int(match[2] or 1) <= 12:
        return date
    year, month, day = match.groups()
    if language == "zh" or month is None:
        return ".".join(part for part in (year, month, day) if part)
    words = f"{MONTHS[int(month) - 1].capitalize()} {year}"
    return f"{int(day)} {words}" if day else words


def period_text(start: str, end: str, language: Language) -> str:
    """Write from when to when; a start without an end lasts until now."""
    first, last = date_text(start, language), date_text(end, language)
    if not first or first == last:
        return last
    return f"{first} – {last or _PRESENT[language]}"
