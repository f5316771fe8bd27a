"""The shape of the vocabulary: what the YAML files say of every language, and of every section."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from mcp_tools.resume import Language, Section

from .grammar import Grammar, Part
from .words import NOTHING, FieldNames, FieldWords, Forms, Words


class Command(Part):
    """The words for an intent: as the whole message, at the start of a clause, or anywhere.

    `again` repeats it right after; `steps` and `every` say how many edits are taken back.
    """

    whole: Words = NOTHING
    head: Words = NOTHING
    inside: Words = NOTHING
    again: Words = NOTHING
    steps: Words = NOTHING
    every: Words = NOTHING


class Signals(Part):
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


class Connectors(Part):
    """Words between a field and its value: always, in any change, after a verb of change."""

    is_: Words
    becomes: Words
    to: Forms
    correction: Words


class Filler(Part):
    """Words that carry nothing when they stand at the edge of a value."""

    leading: Words
    trailing: Words


class References(Part):
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


class TimeWords(Part):
    """What stands around dates; the `_before` words end right before one.

    `years` and `months` are dates that many back, the `_ago` words begin with how many;
    `same_year_before` or `same_year_after` a month is in the year that was spoken of last, and so
    is one that stands alone between `month_before` and `month_after`, or behind `meant_before`.
    """

    to: Words
    until_now: Words
    since_before: Words
    since_after: Words
    from_before: Words
    until_before: Words
    at_before: Words
    same_year: Words = NOTHING
    same_year_before: Words = NOTHING
    same_year_after: Words = NOTHING
    month_before: Words = NOTHING
    month_after: Words = NOTHING
    meant_before: Words = NOTHING
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


class Spelling(Part):
    """Words that are recognised when they are misspelt; `unrelated` ones only look like them.

    `shortened` words are what some people write for others, `mistyped` what slips in for a word
    of a language that is not written in letters. `third_person` are the verbs of which `persons`
    are the subject, and what the person of the resume would say; `auxiliaries` begin questions.
    """

    known: WordSet = frozenset()
    unrelated: WordSet = frozenset()
    shortened: Mapping[str, str] = {}
    mistyped: Mapping[str, str] = {}
    persons: tuple[str, ...] = ()
    third_person: Mapping[str, str] = {}
    auxiliaries: Mapping[str, str] = {}


class AccountWords(Part):
    """How people speak about an account on a social network: the names of its fields."""

    labels: FieldWords


class ActWords(Part):
    """What a message is when it is neither data nor an edit; see `acts.yaml`."""

    opening: Words
    export: Words
    formats: Mapping[str, Words]
    diagnose: Words
    chat: Words
    question: Words
    interrogative: Words
    wish: Words
    keep: Words
    musing: Words
    supplement: Forms
    sentence: Words
    clause: Words
    works: Words
    known: Words


class SectionWords(Part):
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


class SectionFacts(Part):
    """The conversation's data about a section; see `sections.yaml`."""

    required: tuple[str, ...]
    order: tuple[str, ...]
    listed: str | None = None
    grade: str | None = None
    prose: str | None = None
    date: str | None = None


class Vocabulary(Part):
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
    acts: ActWords
    sections: Mapping[Section, SectionWords]
    grades: Words
    lead_ins: Words
    joiners: Words
    filler: Filler
