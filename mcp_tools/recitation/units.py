"""Texts in their normal form: the units that are recited, without how they are written.

A unit is a Chinese character or a word of another script. Punctuation, width, case, accents and
traditional or simplified script are written, not said, so they are gone; numbers in digits are
spelled out as they are said.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from opencc import OpenCC

from .errors import TextTooLongError
from .language import HAN, WORD, Language, detect
from .numerals import Reading, readings
from .spoken import spoken

MAX_UNITS = 20_000
MAX_CHARACTERS = 10 * MAX_UNITS
"""Maximum length of a written text; longer ones are rejected before their units are counted."""

_MOST_PASSES = 4
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
_INNER_SPACE = re.compile(f"(?<=[{HAN}]) (?=[{HAN}])")
_STOP = re.compile(r"[;；!！?？、。…\n\r—]|--|[,，.．:：](?![0-9])")
_LINE_END: Mapping[Language, re.Pattern[str]] = {
    "zh": _STOP,
    "en": re.compile(r"[;!?…\n\r]|[.](?![0-9])"),
}
"""Ends of a line of a poem or of a sentence; in Chinese verse, each comma is one."""
_MARKS = " ,.:，。：—-\"'“”‘’「」『』《》()（）"
_PART = re.compile(
    rf"[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?(?:%|st\b|nd\b|rd\b|th\b)?年?|[{HAN}]|{WORD}"
)
_NUMBER = re.compile(r"(?P<number>[0-9,]+(?:\.[0-9]+)?)(?P<mark>[^年]*)(?P<year>年?)")


@dataclass(frozen=True)
class Units:
    """A text in its normal form."""

    units: tuple[str, ...]
    clause_starts: frozenset[int]
    """Indexes of the units that come after a stop, a comma or a line break; 0 always."""

    def __str__(self) -> str:
        return joined(self.units)


@dataclass(frozen=True)
class Parts:
    """A text whose numbers are not yet spelled out."""

    parts: Sequence[str]
    """Units, and numbers in digits."""
    clause_starts: frozenset[int]
    language: Language

    def spelled(self, like: Sequence[str] = ()) -> Units:
        """Spell each number in its first reading that occurs in `like`, else the plainest.

        Raises:
            TextTooLongError: these are more than `MAX_UNITS` units.
        """
        units, starts = self.parts, self.clause_starts
        if any(map(_is_number, self.parts)):
            units, starts = self._with_numbers(f" {' '.join(like)} ")
        if len(units) > MAX_UNITS:
            raise TextTooLongError(
                length=len(units), limit=MAX_UNITS, measure="characters or words"
            )
        return Units(tuple(units), starts)

    def _with_numbers(self, other: str) -> tuple[list[str], frozenset[int]]:
        units: list[str] = []
        starts = set()
        for index, part in enumerate(self.parts):
            if index in self.clause_starts:
                starts.add(len(units))
            if _is_number(part):
                found = number_readings(part, self.language)
                occurring = (read for read in found if f" {' '.join(read)} " in other)
                units += next(occurring, found[0])
            else:
                units.append(part)
        return units, frozenset(starts)


def normalize(text: str, language: Language | None = None) -> str:
    """The normal form of a text; normalising it again changes nothing.

    Raises:
        TextTooLongError: the text has more than `MAX_UNITS` units.
    """
    return str(parts_of(text, language).spelled())


def joined(units: Sequence[str]) -> str:
    """Units as text: words stand apart, Chinese characters do not."""
    return units[0] if len(units) == 1 else _INNER_SPACE.sub("", " ".join(units))


def parts_of(text: str, language: Language | None = None) -> Parts:
    """Return the parts of a text; the language is detected if it is not given.

    Raises:
        TextTooLongError: the text has more than `MAX_CHARACTERS` characters.
    """
    if len(text) > MAX_CHARACTERS:
        raise TextTooLongError(length=len(text), limit=MAX_CHARACTERS, measure="characters")
    plain = _plain(text)
    parts: list[str] = []
    starts = {0}
    for clause in _STOP.split(plain):
        starts.add(len(parts))
        parts += _PART.findall(clause)
    spellings = spoken().spellings
    standard = [spellings.get(part, part) for part in parts]
    return Parts(standard, frozenset(starts - {len(parts)} | {0}), language or detect(plain))


@dataclass(frozen=True)
class Line:
    """A line of a poem, or a sentence: as it is written, and its units in the whole text."""

    text: str
    start: int
    end: int


def lines_of(text: str, language: Language) -> list[Line]:
    """The lines of a text that hold units, in order, without the marks around them.

    Raises:
        TextTooLongError: the text is too long to be compared.
    """
    found: list[Line] = []
    start = 0
    for written in _LINE_END[language].split(text):
        end = start + len(parts_of(written, language).spelled().units)
        if end > start:
            found.append(Line(written.strip().strip(_MARKS), start, end))
        start = end
    return found


@lru_cache(maxsize=4096)
def number_readings(part: str, language: Language) -> Sequence[Reading]:
    """Return the ways to say a number as written in a text: `3,000`, `50%`, `21st`, `2024年`."""
    match = _NUMBER.fullmatch(part)
    assert match is not None
    number, year = match["number"].replace(",", ""), match["year"]
    is_year = bool(year) and len(number) == 4
    found = readings(number, match["mark"], language, is_year=is_year)
    return [(*reading, *year) for reading in found]


def _is_number(part: str) -> bool:
    return "0" <= part[0] <= "9"


def _plain(text: str) -> str:
    """One width, one case, one script, no accents; U+3007 is the zero that is also written 零."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
    bare = unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed).casefold())
    return _simplified(bare.replace("〇", "零"))


def _simplified(text: str) -> str:
    """Simplified script; new neighbours may make a character convertible, hence the passes."""
    for _ in range(_MOST_PASSES):
        converted = _converter().convert(text)
        if converted == text:
            break
        text = converted
    return text


@cache
def _converter() -> OpenCC:
    return OpenCC("tw2s")
