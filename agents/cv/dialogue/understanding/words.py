"""Patterns over the working text of a message: their notation, and how words compile to them.

A pattern is a regular expression with these abbreviations:

    <v>      words of a value, as few as possible               <d>      a delimiter
    <end>    the end of a clause, ahead                         <head>   the start of a clause
    <date>   a single date   <span>  a span of time             <when>   either of them
    <url>    a web address   <email>, <phone>                   <quote>  quoted words or a title

Named groups are fields; a digit at the end of a group's name does not count.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from .tokens import TOKEN_KINDS, token_pattern

TAKEN = "\x1f"
"""Stands in a working text for what has been understood already; no value goes across it."""
DELIMITERS = ",;。、!?\n" + TAKEN

_WHEN = f"(?:{token_pattern('date')}|{token_pattern('span')})"
_ABBREVIATIONS = {
    "<v>": rf"(?:[^{DELIMITERS}]+?)",
    "<d>": rf"[{DELIMITERS}]",
    "<end>": rf"(?=\s*(?:[{DELIMITERS}()]|$))",
    "<head>": rf"(?:^|(?<=[{DELIMITERS}]))\s*",
    "<when>": _WHEN,
    **{f"<{kind}>": token_pattern(kind) for kind in TOKEN_KINDS},
}


_SPACE = re.compile(r"\\s(?![^\[\]]*\])")
"""White space in a pattern, but for that in a set of characters."""


_WITH_HAN = re.compile(r"\[(?:\\.|[^\]\\])*?\\u4e00-\\u9fff(?:\\.|[^\]\\])*\]")
"""A set of characters with all Chinese ones in it."""


def _case_by_hand(found: re.Match[str]) -> str:
    """A set that ignores the case by itself: else `re` looks at each character when it compiles."""
    letters = found[0] if "A-Z" in found[0] else found[0].replace("a-z", "A-Za-z")
    return f"(?-i:{letters})"


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; white space in it is not what has been taken, which would be slow."""
    for abbreviation, expansion in _ABBREVIATIONS.items():
        pattern = pattern.replace(abbreviation, expansion)
    pattern = _WITH_HAN.sub(_case_by_hand, pattern)
    pattern = _SPACE.sub(rf"[^\\S{TAKEN}]", pattern)
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"bad pattern {pattern!r}: {error}") from error


def _any_of(patterns: object) -> object:
    if not isinstance(patterns, list):
        return patterns
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")


def _each(patterns: object) -> object:
    return tuple(compiled(p) for p in patterns) if isinstance(patterns, list) else patterns


NOTHING = re.compile("(?!)")
"""Matches nowhere."""

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
    """Words that name fields, the longest first; Latin ones match whole words only.

    `any_word` has a group for every word, in the order of `by_field`.
    """

    any_word: re.Pattern[str] = NOTHING
    by_field: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, Sequence[str]]) -> "FieldNames":
        """Compile words, given as patterns for every field."""
        pairs = [(field, word) for field, found in words.items() for word in found]
        pairs.sort(key=lambda pair: -len(pair[1]))
        grouped = (f"(?P<w{number}>{word})" for number, (_, word) in enumerate(pairs))
        return cls(compiled("|".join(grouped) or "(?!)"), tuple(pairs))

    def pattern_of(self, field: str) -> str:
        """Return a pattern for the names of one field."""
        return "|".join(word for name, word in self.by_field if name == field)

    def find(self, text: str) -> Iterator[FieldMatch]:
        """Yield the names of fields in a text, in order and apart from each other."""
        for match in self.any_word.finditer(text):
            if not _goes_on(text[: match.start()], match[0]) and not _goes_on(
                match[0], text[match.end() :]
            ):
                word = int((match.lastgroup or "w0")[1:])
                yield FieldMatch(self.by_field[word][0], *match.span())


def _goes_on(left: str, right: str) -> bool:
    """Tell whether a Latin word goes on from one text to the next."""
    return bool(left and right) and all(c.isascii() and c.isalpha() for c in left[-1] + right[0])


def _field_names(words: object) -> object:
    return FieldNames.of(words) if isinstance(words, dict) else words


FieldWords = Annotated[FieldNames, BeforeValidator(_field_names)]
