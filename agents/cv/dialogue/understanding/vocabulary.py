"""The words and sentence forms of every language, read from the YAML files beside this module.

`words.py` explains the notation of patterns. A language may have abbreviations of its own, and
<noun> stands for what any section is called, in any language. The languages are merged, so that
a message may mix them; a file with `whole_words` has its words (not its sentence forms) match
whole words only.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from mcp_tools.resume import Language, Section

from .words import NOTHING, FieldNames, FieldWords, Forms, Words

LANGUAGES: tuple[Language, ...] = ("zh", "en")

_SENTENCE_FORMS = (
    *("frames", "states", "creative", "spoken", "joiners", "lead_ins", "grades"),
    *("introduces", "copula", "links", "original", "joint", "graded_lead", "graded_name"),
    *("denied", "section_after", "corrections", "next_clause"),
)
"""Keys whose patterns say themselves where words begin and end."""
_PLAIN = ("numbers", "spelling")
"""Keys whose content is no pattern."""
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Command(_Part):
    """The words for an intent: as the whole message, at the start of a clause, or anywhere.

    `again` repeats it right after; `steps` and `every` say how many edits are taken back.
    """

    whole: Words = NOTHING
    head: Words = NOTHING
    inside: Words = NOTHING
    again: Words = NOTHING
    steps: Words = NOTHING
    every: Words = NOTHING


class Signals(_Part):
    """Whole messages that are not about the resume's content.

    `later` puts off what is unfinished and `go_on` comes back to it, `swap` exchanges two dates,
    `none` and `unsure` answer a question; `every` picks all choices, and `oops` before a command
    says nothing.
    """

    cancel: Words
    swap: Words
    later: Words
    go_on: Words
    none: Words
    unsure: Words
    greeting: Words
    thanks: Words
    help: Words
    every: Words
    oops: Words


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

    `introduces` stands between the name of a section and its content; `copula` between a field
    and its value, some words apart; `links` at the end of a value, before the next one;
    `next_clause` where another sentence goes on behind a value;
    `no_value` where a value would begin, when it is none; `label_before` a field that has its
    value behind it. `section_before` and `section_after` stand around a section that something
    is added to or taken from, `entry` and `field_before` before an entry and a field.
    `stated_before` ends right before what is said to be so, `denied` is what is said not to be,
    `renews` tells that something that is there is spoken of. `original` is the value before a
    change, `joint` what joins commands, `object_first` how a command begins that names its
    object before its verb, `refers_back` an object that was named before the command, `place` is
    what may stand before one, `corrections` are sentences with an `old` and a `new` value. `named`
    are names of sections that end a proper name, `ranked` how a position begins, `joins_values`
    what tells one value from the next in a sentence. `graded` may stand beside a grade,
    `graded_lead` before and `graded_name` between it and the name. `own` says that something is
    the person's, not an entry's, and `renames` that it is the name which changes.
    """

    introduces: Words
    copula: Words
    links: Words
    next_clause: Words = NOTHING
    label_before: Words = NOTHING
    no_value: Words
    stated_before: Words
    denied: Words = NOTHING
    cut_wrongly: Words = NOTHING
    renews: Words = NOTHING
    section_before: Words
    section_after: Words
    entry: Words
    field_before: Words
    original: Words
    joint: Words
    object_first: Words
    corrections: Forms = ()
    refers_back: Words = NOTHING
    graded: Words
    graded_lead: Words
    graded_name: Words
    named: Words = NOTHING
    place: Words = NOTHING
    ranked: Words = NOTHING
    joins_values: Words = NOTHING
    own: Words
    renames: Words
    numbers: Mapping[str, int]


class References(_Part):
    """How people point at an entry; `number` is one alone, `whole` means the whole resume.

    `rest` words mean every entry but those named. `back` words mean the entry touched last,
    `this` words do so before the name of its section.
    """

    ordinal: Forms
    number: Words
    back: Words
    this: Words
    every: Words
    rest: Words = NOTHING
    filler: Filler
    whole: Words


class TimeWords(_Part):
    """What stands around dates; the `_before` words end right before one.

    `years` and `months` are dates that many back, the `_ago` words begin with how many;
    `same_year_before` a month is in the year that was spoken of last.
    """

    to: Words
    until_now: Words
    since_before: Words
    since_after: Words
    from_before: Words
    until_before: Words
    at_before: Words
    same_year_before: Words = NOTHING
    after: Words
    started: Words
    ended: Words
    present: Words
    years: Mapping[int, Words]
    months: Mapping[int, Words] = {}
    years_ago: Words = NOTHING
    months_ago: Words = NOTHING


def _word_set(words: object) -> object:
    return frozenset(words.split()) if isinstance(words, str) else words


WordSet = Annotated[frozenset[str], BeforeValidator(_word_set)]
"""Words, written with spaces between them."""


class Spelling(_Part):
    """Words that are recognised when they are misspelt; `unrelated` ones only look like them.

    `shortened` words are what some people write for others, `mistyped` what slips in for a word
    of a language that is not written in letters.
    """

    known: WordSet = frozenset()
    unrelated: WordSet = frozenset()
    shortened: Mapping[str, str] = {}
    mistyped: Mapping[str, str] = {}


class AccountWords(_Part):
    """How people speak about an account on a social network: the names of its fields."""

    labels: FieldWords


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
    spelling: Spelling
    accounts: AccountWords
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
        if key in _PLAIN:
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
