"""Standard texts that children learn by heart, found by what somebody calls them."""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field
from rapidfuzz.distance import Levenshtein

from .language import Language
from .sounds import sounds_of
from .units import lines_of, normalize

FOUND_FROM = 0.6
"""The least confidence of a text that is found: of five characters of a title, three are right."""
_BY_SOUND = 0.95
"""Confidence when all of the title sounds right and is written in another way."""
_CONTAINED = 0.8
"""Confidence when a name is a part of what was asked for, or the other way round."""
_LEAST_CONTAINED = 2
"""Characters of such a part."""


class StandardText(BaseModel):
    """A text in its usual wording."""

    model_config = ConfigDict(frozen=True)

    title: str
    author: str | None
    dynasty: str | None = None
    """Of the author; only Chinese texts have one."""
    text: str
    language: Language
    excerpt: bool = False
    """Whether it is the beginning, or a passage, of a longer text."""
    confidence: float = Field(ge=0, le=1)
    """How well it fits what was asked for."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    author: str | None = None
    dynasty: str | None = None
    aliases: Sequence[str] = ()
    text: str
    excerpt: bool = False


class _Name(NamedTuple):
    """A title, an alias or the beginning of a text, as it is compared."""

    written: str
    heard: Sequence[str]


class _Listed(NamedTuple):
    entry: _Entry
    language: Language
    names: Sequence[_Name]

    def as_found(self, confidence: float) -> StandardText:
        fields = self.entry.model_dump(exclude={"aliases"})
        return StandardText(**fields, language=self.language, confidence=round(confidence, 2))


def find(
    title: str, author: str | None = None, language: Language | None = None
) -> StandardText | None:
    """Return the text with the most similar title, alias or first line; of equals, the first.

    Book title marks, typing errors, homophones and words around the title ("背李白的静夜思") are
    ignored. With `author`, only texts of this author are found.

    Raises:
        TextTooLongError: the title or the author is too long to be compared.
    """
    asked = _name(title)
    if not asked.written:
        return None
    found = [
        (max(_likeness(asked, name) for name in listed.names), listed)
        for listed in _listed()
        if language in (None, listed.language) and _is_by(listed.entry.author, author)
    ]
    (confidence, _), best = max(found, key=lambda one: one[0], default=((0.0, 0), None))
    return best.as_found(confidence) if best and confidence >= FOUND_FROM else None


def texts() -> list[StandardText]:
    """All texts, Chinese ones first."""
    return [listed.as_found(1.0) for listed in _listed()]


def _likeness(asked: _Name, name: _Name) -> tuple[float, int]:
    """How much alike they are, and of what is contained, how much it is."""
    by_spelling = Levenshtein.normalized_similarity(asked.written, name.written)
    by_sound = _BY_SOUND * Levenshtein.normalized_similarity(asked.heard, name.heard)
    likeness = max(by_spelling, by_sound)
    shorter, longer = sorted((asked.written, name.written), key=len)
    if len(shorter) >= _LEAST_CONTAINED and shorter in longer:
        likeness = max(likeness, _CONTAINED)
    return likeness, len(shorter)


def _is_by(known: str | None, author: str | None) -> bool:
    if author is None:
        return True
    return known is not None and _name(author).written in _name(known).written


@cache
def _listed() -> Sequence[_Listed]:
    languages: tuple[Language, ...] = ("zh", "en")
    return [
        _Listed(entry, language, _names(entry, language))
        for language in languages
        for entry in _read(language)
    ]


def _read(language: Language) -> list[_Entry]:
    file = Path(__file__).parent / "texts" / f"{language}.yaml"
    return [_Entry.model_validate(one) for one in yaml.safe_load(file.read_text(encoding="utf-8"))]


def _names(entry: _Entry, language: Language) -> list[_Name]:
    first_line = entry.text.partition("\n")[0]
    first_verse = lines_of(entry.text, language)[0].text
    return [_name(name) for name in (entry.title, *entry.aliases, first_line, first_verse)]


@lru_cache
def _name(text: str) -> _Name:
    written = normalize(text).replace(" ", "")
    return _Name(written, [sounds_of(letter)[0] for letter in written])
