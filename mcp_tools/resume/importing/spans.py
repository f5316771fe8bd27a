"""Times in a line: the dates from which to which something went on, in all common spellings."""

import re
from dataclasses import dataclass

from mcp_tools.resume.dates import DATE_PATTERN, dates_written, is_present, iso_date
from mcp_tools.resume.errors import InvalidDateError

_DATE = re.compile(DATE_PATTERN, re.IGNORECASE)
_TO = re.compile(
    r"\s*(?:--?|[–—―−~～〜－]{1,2}|至(?!今)|到(?![现目])|\bto\b|\buntil\b|\btill\b|\bthrough\b|→|\.\.)\s*",
    re.IGNORECASE,
)
_NOW = re.compile(r"\s*(to date|[a-z]{3,9}|[\u4e00-\u9fff]{2,3})", re.IGNORECASE)
_SINCE_BEFORE = re.compile(r"(?:\bsince|\bfrom|自从?|从)\s*$", re.IGNORECASE)
_SINCE_AFTER = re.compile(r"\s*(?:年?起|以来|onwards?\b)", re.IGNORECASE)
_END_BEFORE = re.compile(
    r"(?:\bexpected|\bgraduated|\bgraduation|\bclass of|\buntil|\bcompleted"
    r"|预计|毕业于?)[\s:：,]*$",
    re.IGNORECASE,
)
_END_AFTER = re.compile(r"\s*(?:届|年?毕业|\(expected\)|expected\b)", re.IGNORECASE)
_SEASON = re.compile(r"\b(?:spring|summer|fall|autumn|winter)(?:\s+of)?\s*$", re.IGNORECASE)
_DURATION = re.compile(
    r"\t?\s*[·•|,，]?\s*[(（]?\s*(?:(?:\d{1,2}|one|two|three)\s*(?:years?|yrs?\.?|months?|mos?\.?|年|个月)\s*){1,2}[)）]?\s*(?=$|\t)",
    re.IGNORECASE,
)
_DOTTED_MONTH = re.compile(r"(?<![\d.])(0?[1-9]|1[0-2])\.((?:19|20)\d{2})(?![\d.])")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_MONTH_BEFORE = re.compile(rf"\b{_MONTH}\s*(?:[-–—~]|to)\s*$", re.IGNORECASE)
_MONTH_AFTER = re.compile(r"\s*[-–—~～至到]\s*(\d{1,2})\s*月")
_YEAR_AFTER = re.compile(r"[–—/](\d{2})(?!\d)")
_EMPTY = re.compile(r"[(（\[【]\s*[,，;；]?\s*[)）\]】]")
_EDGES = " \t,，;；|·•:：/–—-"


@dataclass(frozen=True)
class Span:
    """A time span; `end` is None and `open` true if it is ongoing. `alone`: one date, no range."""

    start: str | None
    end: str | None
    open: bool = False
    alone: bool = False

    def of_time(self) -> dict[str, str]:
        """Return the start and end dates of something that lasted."""
        start, end = self.start, self.end
        if self.alone:
            start = end = self.start or self.end
        return {key: value for key, value in (("startDate", start), ("endDate", end)) if value}


@dataclass(frozen=True)
class Dated:
    """A span and the text around it, a tab in its place."""

    span: Span
    rest: str


def find_span(text: str) -> Dated | None:
    """Find the first span (or single date) in a line."""
    text = _DOTTED_MONTH.sub(r"\1/\2", text)
    found = next(dates_written(text), None)
    return None if found is None else _from(text, *found)


def _from(text: str, match: re.Match[str], first: str) -> Dated:
    before, after = text[: match.start()], text[match.end() :]
    span, used = _second(first, match[0], after)
    if span.alone and (month := _MONTH_BEFORE.search(before)):
        started = _DATE.fullmatch(f"{month['month']} {first[:4]}")
        span = Span(iso_date(started) if started else first[:4], first)
        before = before[: month.start()]
    elif span.alone:
        span, before, used = _single(first, before, after)
    before = _SEASON.sub("", before)
    rest = _DURATION.sub("\t", f"{before}\t{after[used:]}")
    return Dated(span, _EMPTY.sub("\t", rest).strip(_EDGES))


def _second(first: str, written: str, after: str) -> tuple[Span, int]:
    """Return the span that begins with `first` and how much of what follows belongs to it."""
    month = _MONTH_AFTER.match(after)
    if month and 1 <= int(month[1]) <= 12 and "-" in first:
        return Span(first, f"{first[:4]}-{int(month[1]):02d}"), month.end()
    to = _TO.match(after)
    position = to.end() if to else 0
    now = _NOW.match(after, position)
    for length in range(len(now[1]) if now else 0, 1, -1):
        if now and is_present(now[1][:length]):
            return Span(first, None, open=True), now.start(1) + length
    if to is None:
        short = _YEAR_AFTER.match(after) if len(written) == 4 else None
        return (Span(first, first[:2] + short[1]), short.end()) if short else (_alone(first), 0)
    ended = _DATE.match(after, position)
    if ended:
        try:
            return Span(first, iso_date(ended)), ended.end()
        except InvalidDateError:
            return _alone(first), 0
    short = _YEAR_AFTER.match(after) if len(written) == 4 else None
    if short:
        return Span(first, first[:2] + short[1]), short.end()
    if not after[position:].strip(" \t)）"):
        return Span(first, None, open=True), position
    return _alone(first), 0


def _single(first: str, before: str, after: str) -> tuple[Span, str, int]:
    since = _SINCE_BEFORE.search(before)
    if since:
        return Span(first, None, open=True), before[: since.start()], 0
    if since := _SINCE_AFTER.match(after):
        return Span(first, None, open=True), before, since.end()
    if until := _END_BEFORE.search(before):
        return Span(None, first, alone=True), before[: until.start()], 0
    if until := _END_AFTER.match(after):
        return Span(None, first, alone=True), before, until.end()
    return _alone(first), before, 0


def _alone(first: str) -> Span:
    return Span(first, None, alone=True)
