"""Years, months and days that a text gives, or that follow from it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from mcp_tools.resume.dates import MONTHS, YEAR, dates_written

from .numbers import numbers_said

_SHORT_YEAR = re.compile(r"(?<![\d.])(\d{2})\s*(?:年|级|届)|['’](\d{2})\b")
_HAN_YEAR = re.compile(r"[一二][零〇一二三四五六七八九]{3}")
_MONTH = re.compile(
    rf"(?<!\d)(1[0-2]|0?[1-9])\s*月|(?<![\d.])(?:19|20)\d{{2}}[./-](1[0-2]|0?[1-9])(?!\d)"
    rf"|(?<!\d)(1[0-2]|0?[1-9])\s?/\s?(?:(?:19|20)?\d{{2}})(?!\d)|\b({'|'.join(MONTHS)})[a-z]*\b",
    re.IGNORECASE,
)
_HAN_MONTH = re.compile(r"(十[一二]|[一二三四五六七八九十])月")
_DAY = re.compile(
    r"(?<!\d)([12]?\d|3[01])(?:\s*[日号]|st\b|nd\b|rd\b|th\b)|(?<=\d[-./])([0-3]\d)(?!\d)"
)
_ANY_MONTH = re.compile(
    r"[春夏秋冬][天季招]?|暑假|寒假|年[初底末中]|[上下]半年|季度|毕业|"
    r"\b(?:spring|summer|autumn|fall|winter|early|mid|late|end of|beginning of|quarter|q[1-4])\b",
    re.IGNORECASE,
)
_RELATIVE_YEARS = {
    r"今年|本年|this year|this (?:spring|summer|autumn|fall|winter)": 0,
    r"去年|last year|a year ago|一年前|last (?:spring|summer|autumn|fall|winter)": -1,
    r"前年|year before last": -2,
    r"大前年": -3,
    r"明年|next year": 1,
}
_RELATIVE_MONTHS = {
    r"(?:这个|本|当)月|今天|现在|目前|刚刚?|昨天|本周": 0,
    r"this month|this week|today|now|just|yesterday": 0,
    r"上个?月|last month|a month ago|上周|last week": -1,
    r"下个?月|next month": 1,
}
_HAN = "一二两三四五六七八九十"
_DURATION = re.compile(
    rf"(?<![\d{_HAN}])(?P<number>\d|1\d|[{_HAN}]{{1,2}})\s*"
    rf"(?P<unit>年(?!\s*(?:\d|[{_HAN}]){{1,2}}月)|个月)"
    r"|(?<!\d)(?P<count>\d{1,2}|\b[a-z]+)[\s-]*(?P<length>years?\b|yrs?\b|months?\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Times:
    """The known times; with `any_month`, as after "in summer", months are not checked."""

    years: frozenset[int]
    months: frozenset[int]
    days: frozenset[int]
    any_month: bool

    def __or__(self, other: "Times") -> "Times":
        return Times(
            self.years | other.years,
            self.months | other.months,
            self.days | other.days,
            self.any_month or other.any_month,
        )


def times_in(texts: Iterable[str], *, today: date, derives: bool = True) -> Times:
    """Read the times that texts give, also the relative ones if others are derived from them."""
    text = "\n".join(texts)
    years, months, days = _written(text)
    if not derives:
        return Times(frozenset(years), frozenset(months), frozenset(days), any_month=False)
    _add_relative(text, today, years, months)
    spans, months_told = _durations(text)
    if spans:
        derived = {year + sign * span for year in years for span in spans for sign in (1, -1)}
        since_now = {today.year - span for span in spans}
        months |= {today.month}
        years |= derived | since_now
    vague = months_told or bool(_ANY_MONTH.search(text))
    return Times(frozenset(years), frozenset(months), frozenset(days), vague)


def is_known_time(iso: str, times: Times) -> bool:
    """Return whether a partial ISO date contains only known parts."""
    year, *rest = (int(part) for part in iso.split("-"))
    if year not in times.years:
        return False
    if rest and rest[0] not in times.months and not times.any_month:
        return False
    return len(rest) < 2 or rest[1] in times.days


def dates_in(text: str) -> list[tuple[str, str]]:
    """The dates in a text: as they stand there, and as partial ISO dates."""
    found = []
    for match, iso in dates_written(text):
        if re.match("[A-Za-z]", text[match.start() - 1 : match.start()]):
            continue  # a name, such as ES2020
        if re.match(r",\d|\s?[万亿千k%]", text[match.end() :]):
            continue  # a number, such as 2000万
        found.append((match[0], iso))
    return found


def _written(text: str) -> tuple[set[int], set[int], set[int]]:
    years = {int(match[0]) for match in YEAR.finditer(text)}
    years |= {_full(int(match[1] or match[2])) for match in _SHORT_YEAR.finditer(text)}
    years |= {int(v) for m in _HAN_YEAR.finditer(text) for v in numbers_said(m[0]) if v > 1000}
    months = {_month(match) for match in _MONTH.finditer(text)}
    months |= {int(max(numbers_said(match[1]))) for match in _HAN_MONTH.finditer(text)}
    days = {int(match[1] or match[2]) for match in _DAY.finditer(text)}
    for _, iso in dates_in(text):
        parts = [int(part) for part in iso.split("-")]
        years.add(parts[0])
        months.update(parts[1:2])
        days.update(parts[2:])
    return years, months, days


def _add_relative(text: str, today: date, years: set[int], months: set[int]) -> None:
    for pattern, offset in _RELATIVE_YEARS.items():
        if re.search(pattern, text, re.IGNORECASE):
            years.add(today.year + offset)
    for pattern, offset in _RELATIVE_MONTHS.items():
        if re.search(pattern, text, re.IGNORECASE):
            index = today.year * 12 + today.month - 1 + offset
            years.add(index // 12)
            months.add(index % 12 + 1)


def _durations(text: str) -> tuple[set[int], bool]:
    """Return durations in whole years, and whether months were given, which allow any end."""
    spans: set[int] = set()
    months_told = False
    for match in _DURATION.finditer(text):
        in_months = (match["unit"] or match["length"]).lower().startswith(("个", "m"))
        numbers = {int(n) for n in numbers_said(match["number"] or match["count"]) if 0 < n < 60}
        months_told = months_told or (in_months and bool(numbers))
        for number in numbers:
            spans |= {number // 12, number // 12 + 1} if in_months else {number, number + 1}
    return spans, months_told


def _month(match: re.Match[str]) -> int:
    if name := match[4]:
        return MONTHS.index(name.lower()) + 1
    return int(match[1] or match[2] or match[3])


def _full(year: int) -> int:
    return 2000 + year if year < 70 else 1900 + year
