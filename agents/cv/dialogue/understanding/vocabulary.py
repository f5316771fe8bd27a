"""The words and sentence forms of every language, read from the YAML files beside this module.

`words.py` explains the notation of patterns. A language may have abbreviations of its own, and
<noun> stands for what any section is called, in any language. The languages are merged, so that
a message may mix them; a file with `whole_words` has its words (not its sentence forms) match
whole words only.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from mcp_tools.resume import Language, Section

from .words import NOTHING, FieldNames, FieldWords, Forms, Words

LANGUAGES: tuple[Language, ...] = ("zh", "en")

_SENTENCE_FORMS = (
    *("frames", "states", "creative", "spoken", "joiners", "lead_ins", "grades"),
    *("introduces", "copula", "links", "original", "joint", "graded_lead", "graded_name"),
)
"""Keys whose patterns say themselves where words begin and end."""
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Command(_Part):
    """The words for an intent: as the whole message, at the start of a clause, or anywhere."""

    whole: Words = NOTHING
    head: Words = NOTHING
    inside: Words = NOTHING


class Signals(_Part):
    """Whole messages that are not about the resume's content."""

    cancel: Words
    greeting: Words
    thanks: Words
    help: Words
    every: Words


class Connectors(_Part):
    """What stands between a field and its value: always, in any change, after a verb of change."""

    is_: Words
    becomes: Words
    to: Forms
    correction: Words


class Filler(_Part):
    """Words that carry nothing when they stand at the edge of a value."""

    leading: Words
    trailing: Words


class Grammar(_Part):
    """Small words that structure a sentence.

    `introduces` stands between the name of a section and its content; `copula` between a field and
    its value, some words apart; `links` at the end of a value, before the next one; `no_value`
    where a value would begin, when it is none. `section_before` and `section_after` stand around
    a section that something is added to or taken from, `entry` and `field_before` before an entry
    and a field. `original` is the value before a change, `joint` what joins commands,
    `object_first` how a command begins that names its object before its verb. `graded` may stand
    beside a grade, `graded_lead` before and `graded_name` between it and the name.
    """

    introduces: Words
    copula: Words
    links: Words
    no_value: Words
    section_before: Words
    section_after: Words
    entry: Words
    field_before: Words
    original: Words
    joint: Words
    object_first: Words
    graded: Words
    graded_lead: Words
    graded_name: Words
    numbers: Mapping[str, int]


class References(_Part):
    """How people point at an entry; `number` is one alone, `whole` means the whole resume."""

    ordinal: Forms
    number: Words
    every: Words
    filler: Filler
    whole: Words


class TimeWords(_Part):
    """What stands around dates; the `_before` words end right before one."""

    to: Words
    until_now: Words
    since_before: Words
    since_after: Words
    from_before: Words
    until_before: Words
    at_before: Words
    after: Words
    started: Words
    ended: Words
    present: Words
    years: Mapping[int, Words]


class SectionWords(_Part):
    """How people speak about a section.

    `states` are sentences that add to it without a command, `asks` questions about a field or
    (`all`) the section; `frames` find fields by the words around them, `looks` by the value itself.
    """

    nouns: Words
    labels: FieldWords
    asks: FieldWords = FieldNames()
    states: Words = NOTHING
    frames: Forms = ()
    looks: Mapping[str, Words] = {}


class SectionFacts(_Part):
    """What the conversation knows about a section; see `sections.yaml`."""

    required: tuple[str, ...]
    order: tuple[str, ...]
    listed: str | None = None
    grade: str | None = None
    prose: str | None = None
    date: str | None = None


class Vocabulary(_Part):
    """Everything that the understanding of messages knows about languages."""

    spoken: Mapping[Language, Words]
    noise: Words
    signals: Signals
    creative: Words
    commands: Mapping[str, Command]
    connectors: Connectors
    references: References
    grammar: Grammar
    time: TimeWords
    sections: Mapping[Section, SectionWords]
    grades: Words
    lead_ins: Words
    joiners: Words
    filler: Filler


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary; the files are read and compiled once in a process."""
    merged: dict[str, Any] = {}
    for language in LANGUAGES:
        content = _read(f"{language}.yaml")
        whole_words = content.pop("whole_words")
        for name, pattern in content.pop("abbreviations", {}).items():
            content = _replaced(content, f"<{name}>", pattern)
        _merge(merged, dict(_prepared(content, whole_words=whole_words)))
    return Vocabulary.model_validate(_with_nouns(merged))


@cache
def section_facts() -> Mapping[Section, SectionFacts]:
    """Return the facts about every section."""
    return {
        section: SectionFacts.model_validate(facts)
        for section, facts in _read("sections.yaml").items()
    }


@cache
def aliases() -> Mapping[str, frozenset[str]]:
    """Return for every known name, in lower case, all the names of the same thing."""
    groups = [frozenset(name.casefold() for name in names) for names in _read("aliases.yaml")]
    return {name: group for group in groups for name in group}


def _read(name: str) -> Any:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)


def _prepared(content: dict[Any, Any], *, whole_words: bool) -> Iterator[tuple[Any, Any]]:
    """Give every word its boundaries and every context its end."""
    for key, value in content.items():
        if key == "numbers":
            yield key, value
        elif isinstance(value, dict):
            whole = whole_words and key not in ("labels", "asks")
            yield key, dict(_prepared(value, whole_words=whole))
        elif isinstance(value, str | list):
            patterns = [value] if isinstance(value, str) else value
            if whole_words and key not in _SENTENCE_FORMS:
                patterns = [rf"(?<![a-z\d])(?:{pattern})(?![a-z])" for pattern in patterns]
            if str(key).endswith(("_before", "trailing")):
                patterns = [rf"(?:{pattern})\s*$" for pattern in patterns]
            yield ("is_" if key == "is" else key), patterns


def _merge(into: dict[Any, Any], content: Mapping[Any, Any]) -> None:
    for key, value in content.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif isinstance(value, list):
            into[key] = into.get(key, []) + value
        else:
            into[key] = value


def _with_nouns(content: Mapping[Any, Any]) -> dict[Any, Any]:
    nouns = [noun for words in content["sections"].values() for noun in words["nouns"]]
    expanded: dict[Any, Any] = _replaced(content, "<noun>", f"(?:{'|'.join(nouns)})")
    return expanded


def _replaced(value: Any, abbreviation: str, expansion: str) -> Any:
    if isinstance(value, str):
        return value.replace(abbreviation, expansion)
    if isinstance(value, list):
        return [_replaced(item, abbreviation, expansion) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _replaced(item, abbreviation, expansion) for key, item in value.items()}
