"""What a resume's entries are called, so that names in a message can be recognised."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from mcp_tools.resume import SECTIONS, Resume, Section, title_field

from .vocabulary import aliases

_MIN_MENTION = 2
"""Shorter titles are not looked for inside sentences."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry: the section and the index in it."""

    section: Section
    index: int


@dataclass(frozen=True, slots=True)
class Mention:
    """The title of an entry at `begin:stop` of a text."""

    begin: int
    stop: int
    place: Place


@dataclass(frozen=True, slots=True)
class Outline:
    """For every section the texts of each entry, its title first ("" when it has none)."""

    entries: Mapping[Section, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, resume: Resume) -> "Outline":
        """Make the outline of a resume."""
        document = resume.to_json()
        return cls(
            {
                section: tuple(_texts(section, entry) for entry in found if isinstance(entry, dict))
                for section in SECTIONS
                if isinstance(found := document.get(section), list)
            }
        )

    def only(self, section: Section) -> "Outline":
        """Return the outline of one section."""
        return Outline({section: self.entries.get(section, ())})

    def places(self) -> Iterator[tuple[Place, tuple[str, ...]]]:
        """Yield every entry with its texts."""
        for section, entries in self.entries.items():
            for index, texts in enumerate(entries):
                yield Place(section, index), texts

    def mentions(self, text: str) -> list[Mention]:
        """Return where titles of entries stand in a text, the longer ones first."""
        folded = text.casefold()
        found = [
            Mention(begin, begin + len(name), place)
            for place, texts in self.places()
            for name in _names(texts[0].casefold())
            if len(name) >= _MIN_MENTION
            for begin in _occurrences(folded, name)
        ]
        return sorted(found, key=lambda mention: mention.begin - mention.stop)

    def find(self, name: str, sections: Sequence[Section] = SECTIONS) -> list[Place]:
        """Return the entries that a name fits best: by title, by part of it, by another text."""
        known_as = _names(name.casefold().strip())
        ranked = [
            (rank, place)
            for place, texts in self.places()
            if place.section in sections
            for wanted in known_as
            if (rank := _fit(wanted, texts)) is not None
        ]
        best = min((rank for rank, _ in ranked), default=None)
        return list(dict.fromkeys(place for rank, place in ranked if rank == best))


def _names(folded: str) -> list[str]:
    """Return all the names of what a name in lower case means."""
    return sorted(aliases().get(folded, frozenset((folded,))))


def _fit(wanted: str, texts: tuple[str, ...]) -> int | None:
    """Rank how a name fits an entry's texts: 0 is best, `None` is not at all."""
    title, *others = (text.casefold() for text in texts)
    if not wanted:
        return None
    if wanted == title:
        return 0
    if title and _contains(title, wanted):
        return 1
    if title and _contains(wanted, title):
        return 2
    if wanted in others:
        return 3
    return 4 if any(_contains(text, wanted) for text in others) else None


def _contains(text: str, part: str) -> bool:
    return bool(part) and any(True for _ in _occurrences(text, part))


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Yield where a part stands in a text, Latin words only as a whole."""
    begin = text.find(part) if part else -1
    while begin >= 0:
        stop = begin + len(part)
        glued = (begin > 0 and _joins(text[begin - 1], part[0])) or (
            stop < len(text) and _joins(part[-1], text[stop])
        )
        if not glued:
            yield begin
        begin = text.find(part, begin + 1)


def _joins(left: str, right: str) -> bool:
    return (left + right).isascii() and left.isalnum() and right.isalnum()


def _texts(section: Section, entry: Mapping[str, JsonValue]) -> tuple[str, ...]:
    title = title_field(section)
    first = entry.get(title) if title else None
    others = [value for key, value in entry.items() if key != title and isinstance(value, str)]
    return (first if isinstance(first, str) else "", *others)
