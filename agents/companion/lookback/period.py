"""The days that a question about the past is about: "last week", "上周三", "最近三天"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from oda.message.language import Language
from oda.orchestration.wording import Wording

LAST_DAYS = 7
"""Days that are looked at where a question names none; today is one of them."""

_DIGITS = {
    **{word: number for number, word in enumerate("一二三四五六七八九十", 1)},
    **{
        word: number
        for number, word in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
        )
    },
    "两": 2,
    "几": 3,
    "few": 3,
    "couple of": 2,
}
_WEEKDAYS = {
    **{word: day for day, word in enumerate("一二三四五六日")},
    "天": 6,
    **{
        word: day
        for day, word in enumerate(
            ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        )
    },
}
_NUMBER = r"\d{1,3}|[一二三四五六七八九十两几]|one|two|three|four|five|six|seven|eight|nine|ten"
_DAYS_OF_WEEK = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_PERIOD = re.compile(
    rf"""(?xi)
    (?:\b(?:from|of|in|during|for)\s+)?(?:
    (?P<yesterday>昨[天日]|\byesterday\b) | (?P<before_yesterday>前[天日])
    | (?P<today>今[天日]|\btoday\b)
    | (?P<which_zh>上|这|本)(?:个)?(?:周|星期|礼拜)(?P<weekday_zh>[一二三四五六日天])
    | (?:\bon\s+)?(?:(?P<which_en>last|this)\s+)?\b(?P<weekday_en>{_DAYS_OF_WEEK})\b
    | (?P<last_week>上(?:个)?(?:周|星期|礼拜)|\blast\s+week\b)
    | (?P<this_week>[这本](?:个)?(?:周|星期|礼拜)|\bthis\s+week\b)
    | (?P<last_month>上个?月|\blast\s+month\b) | (?P<this_month>[这本]个?月|\bthis\s+month\b)
    | (?:最近|过去|近|这)(?:的)?(?P<days_zh>{_NUMBER})(?P<unit_zh>天|日|周|个星期|个月)
    | (?:\bover\s+)?(?:\bthe\s+)?\b(?:last|past)\s+
      (?:(?P<days_en>{_NUMBER}|few|couple\ of)\s+)?(?P<unit_en>days?|weeks?|months?)\b
    | (?P<recently>最近|近来|\b(?:lately|recently|so\s+far)\b)
    | (?:(?P<year>20\d\d)[-/年])?(?P<month>1[0-2]|0?[1-9])(?:月|(?<=\d)[-/])
      (?P<day>3[01]|[12]\d|0?[1-9])[日号]?
    )"""
)
_LENGTHS = {"天": 1, "日": 1, "周": 7, "个星期": 7, "个月": 30, "day": 1, "week": 7, "month": 30}


@dataclass(frozen=True)
class Period:
    """The first and the last day, and a sentence's name for them."""

    since: date
    until: date
    name: str = ""
    """In `wording.yaml`; empty where the days are named."""

    def told(self, say: Wording, language: Language) -> str:
        """Return the days in words."""
        if self.name:
            return say(self.name, language, days=str((self.until - self.since).days + 1))
        return say("on_day", language, month=str(self.since.month), day=str(self.since.day))


def last_days(today: date, days: int = LAST_DAYS) -> Period:
    """Return the days up to today."""
    return Period(today - timedelta(days=days - 1), today, "last_days")


def period_in(message: str, today: date) -> tuple[Period | None, str]:
    """Return the days that a message names, and the message without their name."""
    found = _PERIOD.search(message)
    if found is None:
        return None, message
    named = {name: value.lower() for name, value in found.groupdict().items() if value}
    period = _period(named, today)
    if period is None:
        return None, message
    return period, f"{message[: found.start()]} {message[found.end() :]}"


def _period(named: Mapping[str, str], today: date) -> Period | None:
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    day = timedelta(days=1)
    if "today" in named:
        return Period(today, today, "today")
    if "yesterday" in named:
        return Period(today - day, today - day, "yesterday")
    if "before_yesterday" in named:
        return Period(today - 2 * day, today - 2 * day)
    if "last_week" in named:
        return Period(monday - 7 * day, monday - day, "last_week")
    if "this_week" in named:
        return Period(monday, today, "this_week")
    if "last_month" in named:
        return Period((first - day).replace(day=1), first - day, "last_month")
    if "this_month" in named:
        return Period(first, today, "this_month")
    if "recently" in named:
        return last_days(today)
    if weekday := named.get("weekday_zh") or named.get("weekday_en"):
        return _weekday(_WEEKDAYS[weekday], named, today)
    if unit := named.get("unit_zh") or named.get("unit_en"):
        said = named.get("days_zh") or named.get("days_en") or "1"
        count = int(said) if said.isdigit() else _DIGITS[said]
        length = _LENGTHS[unit if unit in _LENGTHS else unit.removesuffix("s")]
        return last_days(today, max(1, min(366, count * length)))
    return _date(named, today)


def _weekday(weekday: int, named: Mapping[str, str], today: date) -> Period:
    """The day of last week or this one; without either, the latest that has come."""
    week = named.get("which_zh") or named.get("which_en")
    monday = today - timedelta(days=today.weekday())
    found = monday + timedelta(days=weekday)
    if week in ("上", "last") or (week is None and found > today):
        found -= timedelta(days=7)
    return Period(found, found)


def _date(named: Mapping[str, str], today: date) -> Period | None:
    """The day of a date; without a year, the latest that has come."""
    try:
        found = date(int(named.get("year", today.year)), int(named["month"]), int(named["day"]))
        if "year" not in named and found > today:
            found = found.replace(year=today.year - 1)
    except ValueError:
        return None
    return Period(found, found)
