"""How a number in digits is said: all its usual readings, as units, the plainest one first."""

import re
from collections.abc import Iterator

from .language import Language

_ZH_DIGITS = "零一二三四五六七八九"
_ZH_PLACES = ("", "十", "百", "千")
_ZH_GROUPS = ("", "万", "亿", "万亿")
_EN_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_EN_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_EN_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_EN_GROUPS = ("", "thousand", "million", "billion", "trillion")
_EN_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_TWO_PATTERNS = (re.compile("二(?=[千万亿])|^二$"), re.compile("二(?=[百千万亿])"))
"""Positions where two may be spoken as 两: nearly always for 2000, by some for 200."""
_MOST_DIGITS = 15
"""Longer numbers are read digit by digit."""
_YEARS = range(1100, 2100)

Reading = tuple[str, ...]


def readings(number: str, mark: str, language: Language, *, is_year: bool) -> list[Reading]:
    """Return the ways to say a number.

    Args:
        number: ASCII digits, perhaps with a decimal point, without separators.
        mark: The text after it: `%`, an English ordinal ending, or nothing.
        language: Language of the sentence; an ordinal ending makes it English.
        is_year: Whether the word for year follows, so that Chinese reads digit by digit.
    """
    whole, _, fraction = number.partition(".")
    if mark and mark != "%":
        found = [_ordinal(words) for words in _english(whole, "")]
    elif language == "en":
        percent = ("percent",) if mark else ()
        found = [(*words, *percent) for words in _english(whole, fraction)]
    else:
        before = tuple("百分之") if mark else ()
        found = [(*before, *words) for words in _chinese(whole, fraction, is_year=is_year)]
    return list(dict.fromkeys(found))


def _chinese(whole: str, fraction: str, *, is_year: bool) -> Iterator[Reading]:
    by_digit = tuple(_ZH_DIGITS[int(digit)] for digit in whole)
    tail = ("点", *(_ZH_DIGITS[int(digit)] for digit in fraction)) if fraction else ()
    if is_year or whole[0] == "0" or len(whole) > _MOST_DIGITS:
        yield (*by_digit, *tail)
    if len(whole) <= _MOST_DIGITS:
        cardinal = _chinese_cardinal(int(whole))
        yield (*cardinal, *tail)
        for pattern in _TWO_PATTERNS:
            yield (*pattern.sub("两", cardinal), *tail)
        if cardinal.startswith("十"):
            yield ("一", *cardinal, *tail)
    yield (*by_digit, *tail)
    yield (*("幺" if digit == "一" else digit for digit in by_digit), *tail)


def _chinese_cardinal(number: int) -> str:
    if number == 0:
        return _ZH_DIGITS[0]
    said = ""
    for power in reversed(range(len(_ZH_GROUPS))):
        group = number // 10_000**power % 10_000
        if group:
            gap = said and group < 1000
            said += ("零" if gap else "") + _chinese_group(group) + _ZH_GROUPS[power]
    return said.removeprefix("一") if said.startswith("一十") else said


def _chinese_group(group: int) -> str:
    said, gap = "", False
    for place in reversed(range(4)):
        digit = group // 10**place % 10
        if digit:
            said += ("零" if gap and said else "") + _ZH_DIGITS[digit] + _ZH_PLACES[place]
        gap = digit == 0
    return said


def _english(whole: str, fraction: str) -> Iterator[Reading]:
    by_digit = tuple(_EN_DIGITS[int(digit)] for digit in whole)
    tail = ("point", *(_EN_DIGITS[int(digit)] for digit in fraction)) if fraction else ()
    if whole[0] != "0" or whole == "0":
        for cardinal in _english_cardinals(whole):
            yield (*cardinal, *tail)
    yield (*by_digit, *tail)


def _english_cardinals(whole: str) -> Iterator[Reading]:
    number = int(whole) if len(whole) <= _MOST_DIGITS else 0
    if number == 0:
        return
    plain = tuple(_english_groups(number, joint=()))
    yield plain
    yield tuple(_english_groups(number, joint=("and",)))
    if plain[0] == "one" and len(plain) > 1:
        yield ("a", *plain[1:])
        yield plain[1:]
    century, rest = divmod(number, 100)
    if number in _YEARS and century % 10:
        last = _below_hundred(rest) if rest > 9 else ["oh", _EN_DIGITS[rest]]
        yield (*_below_hundred(century), *(last if rest else ["hundred"]))


def _english_groups(number: int, *, joint: Reading) -> Iterator[str]:
    for power in reversed(range(len(_EN_GROUPS))):
        hundreds, rest = divmod(number // 1000**power % 1000, 100)
        if hundreds:
            yield from (_EN_DIGITS[hundreds], "hundred")
        if rest:
            if hundreds or (power == 0 and number > 999):
                yield from joint
            yield from _below_hundred(rest)
        if power and (hundreds or rest):
            yield _EN_GROUPS[power]


def _below_hundred(number: int) -> list[str]:
    if number < 10:
        return [_EN_DIGITS[number]]
    if number < 20:
        return [_EN_TEENS[number - 10]]
    tens, ones = divmod(number, 10)
    return [_EN_TENS[tens], *([_EN_DIGITS[ones]] if ones else [])]


def _ordinal(cardinal: Reading) -> Reading:
    *before, last = cardinal
    if last in _EN_ORDINALS:
        return (*before, _EN_ORDINALS[last])
    return (*before, last[:-1] + "ieth" if last.endswith("y") else last + "th")
