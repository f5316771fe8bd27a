"""The sentences of the agent, per language, and how entries and values are put in words."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import JsonValue, TypeAdapter

from mcp_tools.resume import (
    JsonObject,
    Language,
    Section,
    field_label,
    section_label,
    title_field,
)

_SECOND_FIELDS = ("position", "area", "level", "fluency", "issuer", "awarder", "publisher")
_THIRD_FIELDS = ("studyType",)


@cache
def _phrases() -> Mapping[str, Mapping[str, str]]:
    text = Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8")
    return TypeAdapter(Mapping[str, Mapping[str, str]]).validate_python(yaml.safe_load(text))


def phrase(topic: str, language: Language, **details: object) -> str:
    """Return a sentence with its details filled in."""
    return _phrases()[language][topic].format(**details)


def joined(words: Iterable[str], language: Language) -> str:
    """Return words as a list in a sentence."""
    return phrase("list_separator", language).join(words)


def numbered(lines: Iterable[str]) -> str:
    """Return lines as a numbered list, each on its own line."""
    return "".join(f"\n{number}. {line}" for number, line in enumerate(lines, start=1))


def field_names(section: str, fields: Iterable[str], language: Language) -> str:
    """Return the names of fields as a list in a sentence."""
    return joined((field_label(section, name, language) for name in fields), language)


def section_names(sections: Iterable[Section], language: Language) -> str:
    """Return the names of sections as a list in a sentence."""
    return joined((section_label(name, language) for name in sections), language)


def entry_line(section: str, entry: JsonObject, language: Language) -> str:
    """Describe an entry in one line: what it is called, what it was, when."""
    names = [title_field(section) or "name", *_SECOND_FIELDS, *_THIRD_FIELDS]
    words = [str(entry[name]) for name in names if entry.get(name)]
    if when := _time(entry, language):
        words.append(when)
    if not entry.get("position") and (prose := entry.get("description") or entry.get("reference")):
        words.append(str(prose))
    return " · ".join(words) or phrase("no_value", language)


def value_words(section: str, value: JsonValue, language: Language) -> str:
    """Put the value of a field in words."""
    if value in (None, "", [], {}):
        return phrase("no_value", language)
    if isinstance(value, dict):
        return joined((str(item) for item in value.values() if item), language)
    if isinstance(value, list):
        return joined((value_words(section, item, language) for item in value), language)
    return str(value)


def _time(entry: JsonObject, language: Language) -> str:
    start, end = entry.get("startDate"), entry.get("endDate")
    if start:
        return f"{start} – {end or phrase('until_now', language)}"
    return str(end or entry.get("date") or entry.get("releaseDate") or "")
