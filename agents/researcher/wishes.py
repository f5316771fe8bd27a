"""What a message says about the versions of an article, where rules can tell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import TypeAdapter

Kind = Literal["list", "compare", "restore"]
_CHANGE = "change"

LATEST, BEFORE = 0, -1
"""Versions by their place: the one that is shown, the one before it."""

_LONGEST = 120
_CHINESE = "一二三四五六七八九"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_OLDER = r"(?:the )?(?:previous|earlier|prior|last|old|older)(?: version| one)?|(?:the )?one before"
_NEWEST = r"(?:the )?(?:current|latest|newest)(?: version| one)?|this one"
_VERSION = (
    r"(?:(?:the )?(?:version|ver\.?|v|no\.?)? ?\d{1,4}"
    rf"|the (?:{'|'.join(_ORDINALS)}|original)(?: version| one)?"
    rf"|{_OLDER}|{_NEWEST}"
    rf"|第 ?(?:\d{{1,4}}|[{_CHINESE}十]{{1,3}}) ?(?:个)?(?:版本?|稿)"
    r"|版本 ?\d{1,4}|v?\d{1,4} ?版"
    r"|(?:上一?个?|之前的?|前一?个?|原来的?|以前的?|旧)(?:版本?|稿|样子)"
    r"|(?:最初的?|原始|初始|原)(?:版本?|稿)|(?:最新的?|现在的?|当前的?|这个?)(?:版本?|稿))"
)
_NAMED = re.compile(_VERSION)
_DIGITS = re.compile(r"\d+")
_AROUND = " \t\n.。!！?？,，~～"


@dataclass(frozen=True)
class Wish:
    """A wish about versions, which are numbers, `LATEST` or `BEFORE`."""

    kind: Kind
    versions: tuple[int, ...] = ()


def wish_of(message: str) -> Wish | None:
    """Return what a message wishes; None if it is about something else, or unclear."""
    text = _plain(message)
    if not text or len(text) > _LONGEST:
        return None
    for kind in get_args(Kind):
        if any(pattern.fullmatch(text) for pattern in _patterns()[kind]):
            return Wish(kind, tuple(_number(one[0]) for one in _NAMED.finditer(text)))
    return None


def is_change(message: str) -> bool:
    """Return whether a message plainly asks for a change of the article."""
    text = _plain(message)[:_LONGEST]
    return any(pattern.match(text) for pattern in _patterns()[_CHANGE])


def _plain(message: str) -> str:
    return " ".join(message.casefold().replace("’", "'").split()).strip(_AROUND)


@cache
def _patterns() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    text = Path(__file__).with_name("wishes.yaml").read_text(encoding="utf-8")
    listed = TypeAdapter(dict[str, tuple[str, ...]]).validate_python(yaml.safe_load(text))
    return {
        kind: tuple(re.compile(one.replace("{version}", _VERSION)) for one in patterns)
        for kind, patterns in listed.items()
    }


def _number(named: str) -> int:
    if digits := _DIGITS.search(named):
        return int(digits[0])
    if "original" in named or (named[0] in "最原初" and "新" not in named and "来" not in named):
        return 1
    for number, ordinal in enumerate(_ORDINALS, 1):
        if ordinal in named:
            return number
    if named.startswith("第"):
        return _chinese_number(named)
    is_newest = re.fullmatch(_NEWEST, named) or named[0] in "现当这" or "新" in named
    return LATEST if is_newest else BEFORE


def _chinese_number(named: str) -> int:
    tens, ten, ones = "".join(one for one in named if one in f"{_CHINESE}十").partition("十")
    digit = {one: number for number, one in enumerate(_CHINESE, 1)}
    if not ten:
        return digit[tens[-1]]
    return 10 * digit.get(tens, 1) + digit.get(ones, 0)
