"""The names of a resume's entries, for recognizing them in a message."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import JsonValue

from mcp_tools.resume import SECTIONS, Resume, Section, title_field

from .focus import Focus
from .vocabulary import aliases

_DATES = ("startDate", "date", "releaseDate", "endDate")
_MIN_MENTION = 2
"""Shorter titles are not looked for inside sentences."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry: the section and the index in it."""

    section: Section
    index: int


@dataclass(frozen=True, slots=True)
class Mention:
    """The title of an entry, or what points back at it, at `begin:stop` of a text."""

    begin: int
    stop: int
    place: Place


@dataclass(frozen=True, slots=True)
class Outline:
    """For every section the texts of each entry, its title first ("" when it has none).

    `focus` is what the conversation is about; its entry is known by "it" and "that one" as well,
    and `year` is that of its date.
    """

    entries: Mapping[Section, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    focus: Focus | None = None
    year: str | None = None

    @classmethod
    def of(cls, resume: Resume, focus: Focus | None = None) -> "Outline":
        """Build the outline of a resume; ignore a focus on something that no longer exists."""
        document = resume.to_json()
        entries = {
            section: tuple(_texts(section, entry) for entry in found if isinstance(entry, dict))
            for section in SECTIONS
            if isinstance(found := document.get(section), list)
        }
        there = focus and (focus.index or 0) < max(1, len(entries.get(focus.section, ())))
        focus = focus if there else None
        return cls(entries, focus, _year(resume, focus) if focus else None)

    @property
    def focused(self) -> Place | None:
        """The entry that the conversation is about."""
        if self.focus is None or self.focus.index is None:
            return None
        return Place(self.focus.section, self.focus.index)

    def only(self, section: Section) -> "Outline":
        """Return the outline of one section."""
        focus = self.focus if self.focus and self.focus.section == section else None
        return Outline({section: self.entries.get(section, ())}, focus)

    def without_focus(self) -> "Outline":
        """Return the outline for a message in which "it" means something else."""
        return Outline(self.entries)

    def places(self) -> Iterator[tuple[Place, tuple[str, ...]]]:
        """Yield every entry with its texts."""
        for section, entries in self.entries.items():
            for index, texts in enumerate(entries):
                yield Place(section, index), texts

    def mentions(self, text: str) -> list[Mention]:
        """Return where entries are named or pointed back at in a text, the longer names first."""
        folded = text.casefold()
        found = [
            Mention(begin, begin + len(name), place)
            for place, texts in self.places()
            for name in _names(texts[0].casefold())
            if len(name) >= _MIN_MENTION and name in folded
            for begin in _occurrences(folded, name)
        ]
        if self.focus and (focused := self.focused):
            found += [Mention(*span, focused) for span in self.focus.mentions(text)]
        return sorted(found, key=lambda mention: mention.begin - mention.stop)

    def find(self, name: str, sections: Sequence[Section] = SECTIONS) -> list[Place]:
        """Return the entries that a name fits best: by title, by part of it, by another text."""
        if self.focus and (focused := self.focused) and self.focus.names(name):
            return [focused] if focused.section in sections else []
        known_as = _names(name.casefold().strip())
        ranked = [
            (rank, place)
            for place, texts in self.places()
            if place.section in sections
            for wanted in known_as
            for title in _names(texts[0].casefold())
            if (rank := _fit(wanted, (title, *texts[1:]))) is not None
        ]
        best = min((rank for rank, _ in ranked), default=None)
        return list(dict.fromkeys(place for rank, place in ranked if rank == best))

    def is_title(self, name: str) -> bool:
        """Tell whether an entry is called just so."""
        known_as = _names(name.casefold().strip())
        return any(texts[0].casefold() in known_as for _, texts in self.places())

    def section_of(self, names: Sequence[str]) -> Section | None:
        """Return the section in which the names fit entries; `None` if there are several."""
        found = {place.section for name in names for place in self.find(name)}
        return found.pop() if len(found) == 1 else None


def _year(resume: Resume, focus: Focus) -> str | None:
    """Return the year of the date in focus, or of the first one of the entry in focus."""
    entries = resume.entries(focus.section) if focus.index is not None else ()
    entry = entries[focus.index] if focus.index is not None and entries else {}
    dates = (entry.get(name) for name in (focus.field or "", *_DATES))
    return next((date[:4] for date in dates if isinstance(date, str) and date[:4].isdigit()), None)


@lru_cache(maxsize=1024)
def _names(folded: str) -> tuple[str, ...]:
    """Return all the names of what a name in lower case means."""
    return tuple(sorted(aliases().get(folded, frozenset((folded,)))))


def _fit(wanted: str, texts: tuple[str, ...]) -> int | None:
    """Rank how a name fits an entry's texts: 0 is best, `None` is not at all."""
    title, *others = (text.casefold() for text in texts)
    if not wanted:
        return None
    if wanted.replace(" ", "") == title.replace(" ", ""):
        return 0
    if title and len(wanted) >= _MIN_MENTION and _contains(title, wanted):
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
