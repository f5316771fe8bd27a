"""Numbers in words, Chinese and English, as digits."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import TypeAdapter

_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "亿": 10**8}

_WORD = r"(?:[零〇一二两三四五六七八九十百万亿]|千(?![克米])){1,24}"
_NUMBER = rf"{_WORD}(?:点[零〇一二三四五六七八九]{{1,12}})?"
_NUMERAL = rf"(?:{_NUMBER}|\d+(?:\.\d+)?)"
_PERCENT = re.compile(rf"百分之({_NUMERAL})")
_FRACTION = re.compile(rf"(?:({_NUMERAL})\s*又\s*)?({_NUMERAL})\s*分之\s*({_NUMERAL})")
_PLAIN = re.compile(rf"(?<!\d){_NUMBER}")
_HALF_OF = re.compile(r"(?<![\w-] )\bhalf(?=\s+of\b)", re.IGNORECASE)
_TENS_OF_THOUSANDS = re.compile(r"(\d+(?:\.\d+)?)\s*([万亿])")


@cache
def _english_words() -> Mapping[str, Mapping[str, int]]:
    file = Path(__file__).with_name("numerals.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return TypeAdapter(dict[str, dict[str, int]]).validate_python(content)


@cache
def _english_number() -> re.Pattern[str]:
    words = _english_words()
    word = "|".join(sorted([*words["units"], *words["scales"]], key=len, reverse=True))
    return re.compile(rf"\b(?:{word})(?:[\s-]+(?:and\s+)?(?:{word})){{0,8}}\b", re.IGNORECASE)


@cache
def _english_parts() -> re.Pattern[str]:
    parts = "|".join(_english_words()["parts"])
    return re.compile(rf"\b(\d+|an?)[\s-]+({parts})s?\b", re.IGNORECASE)


def in_digits(text: str) -> str:
    """Write the numbers that stand in words in digits: `百分之二十` becomes `20%`."""
    text = _PERCENT.sub(lambda match: f"{_digits(match[1])}%", text)
    text = _FRACTION.sub(_fraction, text)
    text = _PLAIN.sub(lambda match: _digits(match[0]), text)
    text = _TENS_OF_THOUSANDS.sub(lambda match: f"({match[1]}*{_LARGE[match[2]]})", text)
    text = _english_number().sub(lambda match: str(_english(match[0])), text)
    text = _HALF_OF.sub("1/2", text)
    return _english_parts().sub(_english_fraction, text)


def _fraction(match: re.Match[str]) -> str:
    whole, denominator, numerator = (part and _digits(part) for part in match.groups())
    return f"{whole} {numerator}/{denominator}" if whole else f"{numerator}/{denominator}"


def _digits(text: str) -> str:
    if text[0].isascii():
        return text
    whole, _, decimals = text.partition("点")
    if not _well_formed(whole):
        return text
    return f"{_chinese(whole)}" + ("." + _each(decimals) if decimals else "")


def _well_formed(word: str) -> bool:
    """Refuse a bare scale such as 千 or 万, which is part of some other word."""
    return word[0] in _DIGITS or word[0] == "十"


def _each(digits: str) -> str:
    return "".join(str(_DIGITS[sign]) for sign in digits)


def _chinese(word: str) -> int:
    if all(sign in _DIGITS for sign in word):
        return int(_each(word))
    total = section = digit = 0
    for sign in word:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _SMALL:
            section += (digit or 1) * _SMALL[sign]
            digit = 0
        elif sign == "万":
            total += (section + digit) * _LARGE[sign]
            section = digit = 0
        else:
            total = (total + section + digit) * _LARGE[sign]
            section = digit = 0
    return total + section + digit


def _english(text: str) -> int:
    words = _english_words()
    total = section = 0
    for word in re.split(r"[\s-]+", text.lower()):
        if word in words["units"]:
            section += words["units"][word]
        elif word == "hundred":
            section = (section or 1) * 100
        elif word != "and":
            total += (section or 1) * words["scales"][word]
            section = 0
    return total + section


def _english_fraction(match: re.Match[str]) -> str:
    count = match[1].lower()
    denominator = _english_words()["parts"][match[2].lower()]
    return f"{1 if count in {'a', 'an'} else count}/{denominator}"
