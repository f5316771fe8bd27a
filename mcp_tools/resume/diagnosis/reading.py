"""A resume as the rules read it: entries with periods, and lines of text with their places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.document import SECTIONS, JsonObject, Resume, Section, title_field
from mcp_tools.resume.export.text import language_of
from mcp_tools.resume.labels import Language

from .months import Months, WrittenDate, written_date
from .vocabulary import words

PROSE: dict[Section, tuple[str, ...]] = {
    "work": ("summary", "highlights"),
    "volunteer": ("summary", "highlights"),
    "projects": ("description", "summary", "highlights"),
}
"""The fields that tell what somebody did; a job's `description` is about the company."""
LASTING: tuple[Section, ...] = ("work", "education", "volunteer", "projects")
"""Sections whose entries have a start and an end."""

_SENTENCE = re.compile(r"[^。！？；!?;\n]+?(?:[。！？；!?;\n]|\.(?=\s|$)|$)")
_BULLET = re.compile(r"^\s*(?:[-–—*•·●▪◆■]|\(?\d{1,2}[.、)）](?!\d))\s*")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_](?:[\w'’+#.&-]*\w)?|\d[\d.,]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Line:
    """One statement: a highlight, or a sentence of a field; `text` has no bullet before it."""

    path: str
    field: str
    text: str

    @property
    def language(self) -> Language:
        """The language in which it is written."""
        return language_of([self.text])


@dataclass(frozen=True)
class Entry:
    """An entry of a section."""

    section: Section
    index: int
    content: JsonObject

    @property
    def path(self) -> str:
        """Its place in the resume."""
        return f"{self.section}[{self.index}]"

    @property
    def title(self) -> str:
        """The name of the entry; "" if it has none."""
        return self.text(title_field(self.section) or "")

    def text(self, name: str) -> str:
        """A field that holds a text; "" if it has none."""
        value = self.content.get(name)
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """The items of a field that holds a list."""
        value = self.content.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def date(self, name: str) -> WrittenDate | None:
        """A date; `None` where none can be read, not even a year."""
        text = self.text(name)
        return written_date(text) if text else None

    @cached_property
    def start(self) -> Months | None:
        """When it began, as far as is known."""
        found = self.date("startDate")
        return found.months if found else None

    @cached_property
    def end(self) -> Months | None:
        """When it ended, as far as is known."""
        found = self.date("endDate")
        return found.months if found else None

    @property
    def is_backwards(self) -> bool:
        """Whether the end precedes the start."""
        return bool(self.start and self.end and self.end.last < self.start.first)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The statements of the entry; bare facts are not included."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[Line]:
        for name in PROSE.get(self.section, ()):
            for number, text in enumerate(self.texts(name)):
                yield from statements(f"{self.path}.{name}[{number}]", name, text, whole=True)
            yield from statements(f"{self.path}.{name}", name, self.text(name))

    @property
    def prose(self) -> str:
        """All that it tells."""
        return "\n".join(line.text for line in self.lines)

    @property
    def is_break(self) -> bool:
        """Whether it represents a time without work, such as parental leave."""
        named = (self.title, self.text("position"), self.text("summary"))
        return any(words().breaks.search(text) for text in named)


@dataclass(frozen=True)
class Reading:
    """A resume, the day on which it is read, and its language."""

    resume: Resume
    today: date
    language: Language
    job: str = ""
    """The job that it is meant for: its description, or what the person says of it."""

    @classmethod
    def of(
        cls, resume: Resume, *, today: date, language: Language | None = None, job: str = ""
    ) -> "Reading":
        """Read a resume; without a `language` it is the one in which most of it is written."""
        return cls(resume, today, language or language_of(texts_in(resume.to_json())), job)

    @cached_property
    def now(self) -> Months:
        """The present month."""
        return Months.of(self.today)

    @cached_property
    def basics(self) -> JsonObject:
        """The section `basics`."""
        found = self.resume.to_json().get("basics")
        return found if isinstance(found, dict) else {}

    def basic(self, name: str) -> str:
        """Return a text of `basics`; "" if it is missing."""
        value = self.basics.get(name)
        return value.strip() if isinstance(value, str) else ""

    def entries(self, section: Section) -> list[Entry]:
        """The entries of a section, also those that hold nothing."""
        return self._entries[section]

    @cached_property
    def _entries(self) -> dict[Section, list[Entry]]:
        found = {section: self.resume.entries(section) for section in SECTIONS}
        return {
            section: [Entry(section, index, entry) for index, entry in enumerate(entries)]
            for section, entries in found.items()
        }

    def filled(self, section: Section) -> list[Entry]:
        """The entries of a section that hold something."""
        return self._filled[section]

    @cached_property
    def _filled(self) -> dict[Section, list[Entry]]:
        return {
            section: [entry for entry in self.entries(section) if any(entry.content.values())]
            for section in SECTIONS
        }

    @cached_property
    def is_student(self) -> bool:
        """Whether the person is studying, or has just finished, and has not worked yet."""
        if words().students.search(f"{self.basic('label')}\n{self.basic('summary')}"):
            return True
        recent = (entry.end or self._expected_end(entry) for entry in self.filled("education"))
        return any(end is not None and end.last >= self.now.first - 12 for end in recent)

    def _expected_end(self, entry: Entry) -> Months | None:
        """Return the expected end of a course without one, unless it began too long ago."""
        return self.now if entry.start and entry.start.last >= self.now.first - 72 else None


def statements(path: str, name: str, text: str, *, whole: bool = False) -> Iterator[Line]:
    """Yield a text as one line if it is a `whole`, else its sentences."""
    parts = [text] if whole else [match[0] for match in _SENTENCE.finditer(text)]
    for part in parts:
        if statement := _BULLET.sub("", part).strip():
            yield Line(path, name, statement)


def length(text: str) -> int:
    """Count words of English and characters of Chinese."""
    return len(_HAN.findall(text)) + len(_WORD.findall(text))
