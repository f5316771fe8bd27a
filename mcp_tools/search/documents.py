"""The documents of a folder: which there are, their sections, their text by line."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.search.ranking import Index

SUFFIXES = frozenset({".md", ".markdown", ".rst", ".txt"})
MAX_DOCUMENTS = 2000
MAX_DOCUMENT_BYTES = 2_000_000
MAX_PASSAGE_CHARACTERS = 20_000
SNIPPET_CHARACTERS = 300

_GENERATED = frozenset({"node_modules", "__pycache__"})
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$")


class DocumentError(Exception):
    """Raised when a request cannot be met; the text is meant for the one who asks."""


@dataclass(frozen=True)
class Section:
    """A part of a document, from one heading to the next."""

    document: str
    heading: str
    """Empty before the first heading."""
    line: int
    """The first line, counted from 1."""
    text: str


@dataclass(frozen=True)
class Hit:
    """A section that matches a query."""

    section: Section
    score: float
    """Comparable within one search only."""

    @property
    def snippet(self) -> str:
        """The beginning of the section on one line."""
        return _shortened(" ".join(self.section.text.split()), SNIPPET_CHARACTERS)


@dataclass(frozen=True)
class Passage:
    """Consecutive lines of a document."""

    name: str
    text: str
    first_line: int
    last_line: int
    total_lines: int

    @property
    def cut(self) -> bool:
        """Whether there are more lines after the last one."""
        return self.last_line < self.total_lines


@dataclass(frozen=True)
class _Library:
    """A searchable snapshot of the documents on disk."""

    stamp: tuple[tuple[Path, int, int], ...]
    sections: Sequence[Section]
    index: Index


class Documents:
    """The text documents below a folder; changes on the disk are seen at the next search."""

    def __init__(self, root: Path, *, include: Sequence[str] = (".",)) -> None:
        """`include` names the files and folders below `root` that count.

        Raises:
            DocumentError: when there is no such folder.
        """
        self._root = root.resolve()
        self._include = include
        if not self._root.is_dir():
            raise DocumentError(f"{root} is not a folder")
        self._library = _Library((), (), Index(()))

    def search(self, query: str, *, limit: int) -> list[Hit]:
        """The sections that match best, best first.

        Raises:
            DocumentError: when the query is empty.
        """
        if not query.strip():
            raise DocumentError("the query is empty: give a few words to look for")
        library = self._current_library()
        ranking = library.index.rank(query, limit=limit)
        return [Hit(library.sections[number], score) for number, score in ranking]

    def read(self, name: str, *, first_line: int = 1) -> Passage:
        """The document from a line on, as far as fits in `MAX_PASSAGE_CHARACTERS`.

        Raises:
            DocumentError: when there is no such document or line.
        """
        lines = _text(self._path(name)).splitlines() or [""]
        if not 1 <= first_line <= len(lines):
            raise DocumentError(f"{name} has the lines 1 to {len(lines)}")
        taken: list[str] = []
        size = 0
        for line in lines[first_line - 1 :]:
            size += len(line) + 1
            if taken and size > MAX_PASSAGE_CHARACTERS:
                break
            taken.append(_shortened(line, MAX_PASSAGE_CHARACTERS))
        last_line = first_line + len(taken) - 1
        return Passage(name, "\n".join(taken), first_line, last_line, len(lines))

    def _path(self, name: str) -> Path:
        """The file of a document; nothing outside the folder and no other kind of file."""
        for path in self._files():
            if path.relative_to(self._root).as_posix() == name:
                return path
        raise DocumentError(
            f"there is no document {name!r}: use a name that search_documents returned"
        )

    def _current_library(self) -> _Library:
        paths = self._files()
        stamp = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
        if stamp != self._library.stamp:
            found = [
                section
                for path in paths
                for section in sections(path.relative_to(self._root).as_posix(), _text(path))
            ]
            texts = (f"{part.document} {part.heading}\n{part.text}" for part in found)
            self._library = _Library(stamp, found, Index(texts))
        return self._library

    def _files(self) -> list[Path]:
        """The documents, without hidden ones, links that lead outside, and what is too big."""
        found = (path for name in self._include for path in _walk(self._root / name))
        return sorted({path for path in found if _is_document(path, self._root)})[:MAX_DOCUMENTS]


def sections(document: str, text: str) -> Iterator[Section]:
    """The parts of a text between Markdown headings; headings in code blocks do not count."""
    heading, start, in_code = "", 1, False
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= line.lstrip().startswith("```")
        title = None if in_code else _HEADING.match(line)
        if title is not None:
            if any(part.strip() for part in lines):
                yield Section(document, heading, start, "\n".join(lines).strip())
            heading, start, lines = title["title"], number, []
        else:
            lines.append(line)
    if heading or any(part.strip() for part in lines):
        yield Section(document, heading, start, "\n".join(lines).strip())


def _walk(start: Path) -> Iterator[Path]:
    """A file itself, or the files below a folder; hidden and generated folders are passed by."""
    if start.is_file():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = [name for name in folders if name[0] != "." and name not in _GENERATED]
        yield from (Path(folder, name) for name in names if name[0] != ".")


def _is_document(path: Path, root: Path) -> bool:
    return (
        path.suffix.lower() in SUFFIXES
        and path.resolve().is_relative_to(root)
        and path.is_file()
        and path.stat().st_size <= MAX_DOCUMENT_BYTES
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DocumentError(f"{path.name} cannot be read: {error.strerror}") from error


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
