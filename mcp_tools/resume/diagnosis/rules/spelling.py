"""Misspelt words, and names of technologies that are written in other letters than their own."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath

import yaml
from pydantic import JsonValue

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Reading
from mcp_tools.resume.diagnosis.vocabulary import names
from mcp_tools.resume.document import JsonObject, Section
from mcp_tools.resume.path import Path
from mcp_tools.resume.shape import field_kind

_NO_WORDS = frozenset({"url", "email", "phone", "image", "startDate", "endDate", "date", "score"})
_SECTIONS: tuple[Section, ...] = (
    "work",
    "volunteer",
    "education",
    "projects",
    "skills",
    "awards",
    "certificates",
    "languages",
)
"""Sections in the person's own words; titles of publications, for example, are quotations."""
_ADDRESS = re.compile(
    r"[!-~]{0,200}(?:@|://|www\.)[!-~]*|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/[!-~]*",
    re.ASCII,
)
_WORD = re.compile(r"(?<![\w'’.-])[A-Za-z]+(?![\w'’])")
_BEFORE_SMALL = re.compile(r"[^\s.!?:;•–—\n-][\s\"'(“‘]*$")
"""Matches the text before a word that is not capitalized."""
_FEW = 8
"""Characters that are looked at before a word."""


def spelling(reading: Reading) -> Iterator[Defect]:
    """Find words that are written wrongly, each once in a text."""
    yield from _in_entry("basics", None, reading.basics)
    for section in _SECTIONS:
        for entry in reading.filled(section):
            yield from _in_entry(section, entry.index, entry.content)


def _in_entry(section: str, entry: int | None, content: JsonObject) -> Iterator[Defect]:
    for path, text in _texts(section, entry, content):
        for wrong, right in misspelt(text):
            detail: JsonObject = {"path": path, "wrong": wrong, "right": right}
            yield Defect(
                kind="spelling", section=section, entry=entry, detail=detail, severity="low"
            )


def misspelt(text: str) -> list[tuple[str, str]]:
    """Return what is written wrongly in a text with what would be right, each once."""
    return list(dict.fromkeys((text[begin:stop], right) for begin, stop, right in _found(text)))


def corrected(text: str) -> str:
    """Return a text with all of that put right."""
    for begin, stop, right in reversed(_found(text)):
        text = text[:begin] + right + text[stop:]
    return text


def _found(text: str) -> list[tuple[int, int, str]]:
    """Return what is wrong from where to where and what would be right, in order."""
    plain = _ADDRESS.sub(lambda match: " " * len(match[0]), text)
    found = sorted([*_english_in(plain), *_chinese_in(plain), *_names_in(plain)])
    return [one for n, one in enumerate(found) if not n or found[n - 1][1] <= one[0]]


def _english_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield misspelt words; one with a capital inside a sentence may be a name."""
    for match in _WORD.finditer(text):
        right = _english().get(match[0].lower())
        if right and (match[0].islower() or match[0].isupper() or _begins(text, match.start())):
            yield match.start(), match.end(), _like(match[0], right)


def _begins(text: str, position: int) -> bool:
    """Return whether a word is at a position where every word is capitalized."""
    return not _BEFORE_SMALL.search(text[max(0, position - _FEW) : position])


def _chinese_in(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern, right in _chinese():
        yield from ((match.start(), match.end(), right) for match in pattern.finditer(text))


def _names_in(text: str) -> Iterator[tuple[int, int, str]]:
    for match in names().typed.finditer(text):
        right = names().right[match[0].lower()]
        if match[0] != right:
            yield match.start(), match.end(), right


def _like(wrong: str, right: str) -> str:
    if wrong.isupper() and len(wrong) > 1:
        return right.upper()
    return right.capitalize() if wrong[0].isupper() else right


def _texts(section: str, entry: int | None, content: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield texts that the person wrote as words, with their paths."""
    place = Path((section,) if entry is None else (section, entry))
    for name, value in content.items() if isinstance(content, dict) else ():
        if name in _NO_WORDS or (section, name) == ("basics", "name"):
            continue
        kind = field_kind(section, name)
        if kind == "text" and isinstance(value, str):
            yield str(place / name), value
        elif kind == "list" and isinstance(value, list):
            items = ((n, item) for n, item in enumerate(value) if isinstance(item, str))
            yield from ((str(place / name / n), item) for n, item in items)


@cache
def _misspellings() -> Mapping[str, Mapping[str, str]]:
    file = FilePath(__file__).parent.parent / "misspellings.yaml"
    content: Mapping[str, Mapping[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content


@cache
def _english() -> Mapping[str, str]:
    return {
        wrong: right
        for right, all_wrong in _misspellings()["en"].items()
        for wrong in all_wrong.split()
    }


@cache
def _chinese() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(wrong), right) for right, wrong in _misspellings()["zh"].items()]
