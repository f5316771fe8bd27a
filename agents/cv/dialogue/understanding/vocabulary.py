"""The words and sentence forms of every language, read from the YAML files beside this module.

A pattern in a file is a regular expression with these abbreviations:

    <v>      words of a value, as few as possible               <d>      a delimiter
    <end>    the end of a clause, ahead                         <head>   the start of a clause
    <b>      where an English value ends, ahead
    <date>   a single date   <span>  a span of time             <when>   either of them
    <url>    a web address   <email>, <phone>                   <quote>  quoted words or a title
    <noun>   what any section is called, in any language

Named groups are fields; a digit at the end of a group's name does not count. The languages are
merged, so that a message may mix them; a file with `whole_words` has its words (not its sentence
forms) match whole words only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from mcp_tools.resume import Language, Section

from .tokens import TOKEN_KINDS, token_pattern

LANGUAGES: tuple[Language, ...] = ("zh", "en")
TAKEN = "\x1f"
"""Stands in a working text for what has been understood already; no value goes across it."""
DELIMITERS = ",;。、!?\n" + TAKEN

_WHEN = f"(?:{token_pattern('date')}|{token_pattern('span')})"
_ABBREVIATIONS = {
    "<v>": rf"(?:[^{DELIMITERS}]+?)",
    "<d>": rf"[{DELIMITERS}]",
    "<end>": rf"(?=\s*(?:[{DELIMITERS}()]|$))",
    "<head>": rf"(?:^|(?<=[{DELIMITERS}]))\s*",
    "<b>": rf"(?=\s*(?:[{DELIMITERS}():]|{_WHEN}|$)|\s+(?:-|–|—)\s"
    r"|\s+(?:as|at|from|since|in|on|with|by|for\s+(?:a|an|the|my|\d+|two|three)|to|until|where|while|during|between|which|who"
    r"|working|doing|using|starting|ending"
    r"|and\s+(?:i|my|left|then|ended|finished|was|the|have|got|did|it|graduated|started))\b)",
    "<when>": _WHEN,
    **{f"<{kind}>": token_pattern(kind) for kind in TOKEN_KINDS},
}
_SENTENCE_FORMS = ("frames", "states", "creative", "spoken", "joiners", "lead_ins", "grades")
"""Keys whose patterns say themselves where words begin and end."""
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _compiled(pattern: str) -> re.Pattern[str]:
    for abbreviation, expansion in _ABBREVIATIONS.items():
        pattern = pattern.replace(abbreviation, expansion)
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"bad pattern {pattern!r}: {error}") from error


def _any_of(patterns: object) -> object:
    if not isinstance(patterns, list):
        return patterns
    return _compiled("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")


def _each(patterns: object) -> object:
    return tuple(_compiled(p) for p in patterns) if isinstance(patterns, list) else patterns


_NONE = re.compile("(?!)")
Words = Annotated[re.Pattern[str], BeforeValidator(_any_of)]
"""Any of some words."""
Forms = Annotated[tuple[re.Pattern[str], ...], BeforeValidator(_each)]
"""Sentence forms whose named groups are fields, tried in order."""


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """The name of a field at `begin:stop` of a text."""

    field: str
    begin: int
    stop: int


@dataclass(frozen=True)
class FieldNames:
    """Words that name fields, the longest first; Latin ones match whole words only."""

    any_word: re.Pattern[str] = _NONE
    by_field: tuple[tuple[str, re.Pattern[str]], ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, Sequence[str]]) -> "FieldNames":
        """Compile words, given as patterns for every field."""
        pairs = [(field, word) for field, found in words.items() for word in found]
        pairs.sort(key=lambda pair: -len(pair[1]))
        return cls(
            _compiled("|".join(word for _, word in pairs) or "(?!)"),
            tuple((field, _compiled(word)) for field, word in pairs),
        )

    def find(self, text: str) -> Iterator[FieldMatch]:
        """Yield the names of fields in a text, in order and apart from each other."""
        for match in self.any_word.finditer(text):
            if not _goes_on(text[: match.start()], match[0]) and not _goes_on(
                match[0], text[match.end() :]
            ):
                field = next(name for name, word in self.by_field if word.fullmatch(match[0]))
                yield FieldMatch(field, match.start(), match.end())


def _goes_on(left: str, right: str) -> bool:
    """Tell whether a Latin word goes on from one text to the next."""
    return bool(left and right) and all(c.isascii() and c.isalpha() for c in left[-1] + right[0])


def _field_names(words: object) -> object:
    return FieldNames.of(words) if isinstance(words, dict) else words


FieldWords = Annotated[FieldNames, BeforeValidator(_field_names)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Command(_Part):
    """The words for an intent: as the whole message, at the start of a clause, or anywhere."""

    whole: Words = _NONE
    head: Words = _NONE
    inside: Words = _NONE


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


class References(_Part):
    """How people point at an entry; `whole` means the whole resume."""

    ordinal: Forms
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
    states: Words = _NONE
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
        if isinstance(value, dict):
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
        else:
            into[key] = into.get(key, []) + value


def _with_nouns(content: Mapping[Any, Any]) -> dict[Any, Any]:
    nouns = [noun for words in content["sections"].values() for noun in words["nouns"]]
    expanded: dict[Any, Any] = _replaced(content, "<noun>", f"(?:{'|'.join(nouns)})")
    return expanded


def _replaced(value: Any, abbreviation: str, expansion: str) -> Any:
    if isinstance(value, str):
        return value.replace(abbreviation, expansion)
    if isinstance(value, list):
        return [_replaced(item, abbreviation, expansion) for item in value]
    return {key: _replaced(item, abbreviation, expansion) for key, item in value.items()}
