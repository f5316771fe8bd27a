"""The words by which resumes are interpreted, and queries on them."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.document import SECTIONS
from mcp_tools.resume.labels import section_label

from .headings import Headings

Kind = Literal["positions", "organizations", "departments", "schools", "degrees", "places"]


class _Words(BaseModel):
    zh: frozenset[str]
    en: frozenset[str]


class Vocabulary(BaseModel):
    """The content of `vocabulary.yaml`; all words but codes are lower case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    titles: frozenset[str]
    headings: Mapping[str, frozenset[str]]
    heading_modifiers: frozenset[str]
    labels: Mapping[str, Mapping[str, frozenset[str]] | frozenset[str]]
    positions: _Words
    organizations: _Words
    departments: _Words
    schools: _Words
    degrees: _Words
    places: _Words
    countries: frozenset[str]
    country_codes: frozenset[str]
    states: frozenset[str]
    not_names: frozenset[str]
    project_types: frozenset[str]
    levels: frozenset[str]
    fluency: frozenset[str]
    natural_languages: frozenset[str]
    actions: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, read once."""
    file = Path(__file__).with_name("vocabulary.yaml")
    return Vocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@cache
def headings() -> Headings:
    """Return the words of headings; a section may also be `summary` or `label` of `basics`."""
    ours = {
        section_label(section, language): section
        for section in SECTIONS
        for language in ("zh", "en")
    }
    theirs = {word: section for section, words in vocabulary().headings.items() for word in words}
    return Headings(ours | theirs, vocabulary().heading_modifiers)


@cache
def labelled_fields(section: str) -> Mapping[str, str]:
    """Map the labels of single facts in a section to the fields they fill."""
    fields = vocabulary().labels.get(section, {})
    if not isinstance(fields, Mapping):
        return dict.fromkeys(fields, section)
    return {word: field for field, words in fields.items() for word in words}


def looks_like(kind: Kind, text: str) -> bool:
    """Tell whether text holds a word of a kind: any Chinese one, or a whole English one."""
    return _pattern(kind).search(text.lower()) is not None


@cache
def _pattern(kind: Kind) -> re.Pattern[str]:
    words: _Words = getattr(vocabulary(), kind)
    return re.compile(f"{_alternatives(words.zh)}|{whole_words(words.en)}")


def whole_words(words: frozenset[str]) -> str:
    """Return a pattern of any of the words, as words."""
    return rf"(?<![^\W_])(?:{_alternatives(words)})(?![^\W_])"


def _alternatives(words: frozenset[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
