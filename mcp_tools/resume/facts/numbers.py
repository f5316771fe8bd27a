"""Numbers as people write them: digits with units, Chinese numerals, English words.

What is known is read generously (`numbers_said`), what is claimed carefully (`numbers_claimed`):
a number that is overlooked does less harm than a right one that is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HAN = "零〇一二两三四五六七八九十百千万亿"
_HAN_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_HAN_POWERS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: value for value, word in enumerate(_ONES.split())} | {
    word: 10 * value for value, word in enumerate(_TENS.split(), start=2)
}
_WORD_POWERS = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_WORD = "|".join([*_WORDS, *_WORD_POWERS])
_SPELT = rf"(?:{_WORD})(?:(?:-|\s+and\s+|\s+)(?:{_WORD})){{0,8}}"

_MULTIPLES = {
    r"翻(?:了)?(?:一)?倍|翻(?:了)?(?:一)?番|\bdoubl(?:e[ds]?|ing)\b|\btwice\b|两倍": {
        2.0,
        100.0,
        200.0,
    },
    r"\btripl(?:e[ds]?|ing)\b|三倍": {3.0, 200.0, 300.0},
    r"\bquadrupl(?:e[ds]?|ing)\b|四倍": {4.0, 300.0, 400.0},
    r"减半|一半|\bhal(?:f|ved|ving)\b": {0.5, 50.0},
}

_FACTOR = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)\s?(?:x\b|倍|times\b|-?fold\b)", re.IGNORECASE)

_SCALES = {
    "k": 1e3, "w": 1e4, "m": 1e6, "mn": 1e6, "bn": 1e9,
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "成": 10.0,
    "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8,
    "十亿": 1e9, "百亿": 1e10, "千亿": 1e11, "万亿": 1e12,
}  # fmt: skip
_FIGURE = re.compile(
    r"(?<![a-z_\d.])(?P<number>\d[\d,]*(?:\.\d+)?)"
    r"(?:\s*(?P<percent>%|percent\b|per cent\b)"
    r"|\s?(?P<scale>[十百千]?[万亿]|万亿|[百千成]|(?:k|w|mn?|bn)(?![a-z])|thousand\b|million\b|billion\b))?"
    r"(?P<glued>[a-z]+)?",
    re.IGNORECASE,
)
_UNITS = (
    "x s ms us h hr hrs min mins d gb tb mb pb kb qps tps rps fps usd rmb cny kg km st nd rd th "
    "yrs years"
)
_MEASURES = frozenset(_UNITS.split())
"""Letters behind a number that make it no name, as in 5G or 3D."""

_NO_FACTS = re.compile(
    r"(?m)^\s*\(?\d{1,2}[.、)）]\s|[(（]\d[)）]|(?<!\d)0\s?(?:到|至|-|to)\s?1(?!\d)"
    r"|24\s?[/x*×]\s?7|7\s?[x*×]\s?24|1[- ](?:on|to)[- ]1|\b996\b",
    re.IGNORECASE,
)
_VERSIONED = re.compile(r"(?P<name>[A-Z][A-Za-z.+#]*)[\s/-]?$")
_HIGHEST_VERSION = 100
_LONGEST_NAME = 30

_CLAIMED_HAN = re.compile(
    rf"百分之(?P<percent>[{_HAN}]+)"
    rf"|(?P<long>(?=[{_HAN}]*[一二两三四五六七八九])[{_HAN}]*[十百千万亿][{_HAN}]*)(?![分部方])"
    rf"|(?P<tenths>[一二两三四五六七八九])成(?![员果功本长为立就熟效绩交品分都型不])"
    r"|(?P<counted>[两三四五六七八九十])(?:余|多|来)?(?:人|名|位|家|年|倍|个|支|款|项|次|台|所|条)"
)
_HAN_IDIOMS = re.compile(
    r"万一|千万(?=[不别要])|一[一些个]|百分百|十[分足]|千[百方]|百[度货]|万[科达]"
)
_COUNTED = (
    r"percent|per cent|%|x\b|fold|times|people|engineers|developers|members|users|customers|clients"
    r"|years|months|countries|offices|[a-z]{3,20}s\b"
)
_MAGNITUDES = {
    r"数十|几十|上?十余|\bdozens\b|\btens of\b(?! (?:thousand|million))": (10, 100),
    r"数百|几百|上百|近百|成百|百余|\bhundreds\b(?! of (?:thousand|million))": (100, 1e3),
    r"数千|几千|上千|近千|成千|千余|\bthousands\b": (1e3, 1e4),
    r"数万|几万|上万|近万|成万|万余|万级|\btens of thousands\b": (1e4, 1e5),
    r"数十万|几十万|上百万|十万级|\bhundreds of thousands\b": (1e5, 1e6),
    r"百万级|数百万|几百万|\bmillions\b|\bmulti-?million\b": (1e6, 1e9),
    r"千万级|数千万|上千万|\btens of millions\b": (1e7, 1e8),
    r"亿级|上亿|数亿|\bbillions\b": (1e8, 1e12),
    r"两位数|双位数|\bdouble[- ]digit\b": (10, 100),
}
"""Words for a size, and the numbers that are of it."""
_NO_POWER = rf"(?!(?:{'|'.join(_WORD_POWERS)})\b)"
_CLAIMED_WORDS = re.compile(
    rf"\b(?P<words>{_NO_POWER}{_SPELT})(?:\+)?[\s-]+(?:{_COUNTED})"
    rf"|\b(?:team|group|staff|crew) of (?P<team>{_SPELT})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A number in a text: its text, and the values to which it is equivalent."""

    text: str
    values: frozenset[float]
    unit: str = ""
    """The word or sign right behind it."""


def numbers_said(text: str) -> set[float]:
    """All that the numbers of a text may mean."""
    values: set[float] = set()
    for match in _FIGURE.finditer(text):
        values |= _values(match)
    for match in re.finditer(rf"[{_HAN}]+", text):
        values |= _han_values(match[0])
    for match in re.finditer(rf"([{_HAN}]+)成", text):
        values |= {10 * value for value in _han_values(match[1])}
    for match in re.finditer(rf"\b{_SPELT}\b", text, re.IGNORECASE):
        values |= {_spelt_value(match[0]), *map(float, _spelt_parts(match[0]))}
    for pattern, multiples in _MULTIPLES.items():
        if re.search(pattern, text, re.IGNORECASE):
            values |= multiples
    for match in _FACTOR.finditer(text):
        values |= {100 * float(match[1]), 100 * (float(match[1]) - 1)}
    return values


def numbers_claimed(text: str, *, names: str = "") -> Iterator[Claim]:
    """The numbers that a text states as facts; "Vue 3" states none if `names` has "vue"."""
    text = _NO_FACTS.sub(" ", text)
    for match in _FIGURE.finditer(text):
        glued = (match["glued"] or "").lower()
        if glued and glued not in _MEASURES:
            continue
        if not match["percent"] and not match["scale"] and _is_version(text, match, names):
            continue
        behind = text[match.end() : match.end() + 8].lstrip("+- ")
        yield Claim(match[0].strip(), frozenset(_values(match)), glued or behind)
    yield from _han_claims(_HAN_IDIOMS.sub(" ", text))
    for match in _CLAIMED_WORDS.finditer(text):
        value = _spelt_value(match["words"] or match["team"])
        yield Claim(match[0], frozenset({value}), match[0].split()[-1])
    for pattern, multiples in _MULTIPLES.items():
        if pattern.count("倍") < 3 and (found := re.search(pattern, text, re.IGNORECASE)):
            yield Claim(found[0], frozenset(value for value in multiples if value >= 50))


def magnitudes_claimed(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the sizes that a text states as facts without a number: words, least and most."""
    for pattern, (least, most) in _MAGNITUDES.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield match[0], least, most


def _values(match: re.Match[str]) -> set[float]:
    number = float(match["number"].replace(",", ""))
    if match["percent"]:
        return {number, number / 100}
    scale = (match["scale"] or "").lower()
    return {round(number * _SCALES[scale], 6)} if scale else {number}


def _is_version(text: str, match: re.Match[str], names: str) -> bool:
    named = _VERSIONED.search(text[max(0, match.start() - _LONGEST_NAME) : match.start()])
    small = float(match["number"].replace(",", "")) < _HIGHEST_VERSION
    return bool(named and small and named["name"].casefold() in names)


def _han_claims(text: str) -> Iterator[Claim]:
    for match in _CLAIMED_HAN.finditer(text):
        if match["percent"]:
            values = set(_han_values(match["percent"]))
            values |= {value / 100 for value in values}
        elif match["tenths"]:
            values = {10 * value for value in _han_values(match["tenths"])}
        else:
            values = _han_values(match["long"] or match["counted"])
        yield Claim(match[0], frozenset(values), text[match.end() : match.end() + 1])


def _han_values(text: str) -> set[float]:
    """Return the possible values of Chinese numerals, read as a number or digit by digit."""
    values = {float(_han_number(text))}
    if all(sign in _HAN_DIGITS for sign in text):
        digits = [_HAN_DIGITS[sign] for sign in text]
        values = {float("".join(map(str, digits))), *map(float, digits)}
    return values


def _han_number(text: str) -> int:
    total = section = digit = 0
    last = 1
    for sign in text:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
            continue
        power = _HAN_POWERS[sign]
        if power >= 10_000:
            total = (total + section + digit or 1) * power
            section = 0
        else:
            section += (digit or 1) * power
        digit, last = 0, power
    trailing = digit * (last // 10 if last > 10 and text[-2:-1] in _HAN_POWERS else 1)
    return total + section + trailing


def _spelt_parts(text: str) -> list[int]:
    words = re.split(r"-|\s+", text.lower())
    return [_WORDS.get(word, _WORD_POWERS.get(word, 0)) for word in words if word != "and"]


def _spelt_value(text: str) -> float:
    total = part = 0
    for word in re.split(r"-|\s+", text.lower()):
        if word in _WORDS:
            part += _WORDS[word]
        elif power := _WORD_POWERS.get(word):
            part = (part or 1) * power
            if power >= 1_000:
                total, part = total + part, 0
    return float(total + part)
