"""The words and sentence forms of every language, read from the YAML files beside this module.

A pattern in a file is a regular expression with these abbreviations:

    <v>      words of a value, as few as possible               <d>      a delimiter
    <end>    the end of a clause, ahead                         <head>   the start of a clause
    <date>   a single date   <span>  a span of time             <when>   either of them
    <url>    a web address   <email>, <phone>                   <quote>  quoted words or a title
    <noun>   the name of any section, in any language

The languages are merged, so that a message may mix them; a file with `whole_words` has its
patterns (not its sentence forms) match whole words only.
"""

import re
from collections.abc import Mapping, Sequence
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

_ABBREVIATIONS = {
    "<v>": rf"[^{DELIMITERS}]+?",
    "<d>": rf"[{DELIMITERS}]",
    "<end>": rf"(?=\s*(?:[{DELIMITERS}()]|$))",
    "<head>": rf"(?:^|(?<=[{DELIMITERS}]))\s*",
    "<when>": f"(?:{token_pattern('date')}|{token_pattern('span')})",
    **{f"<{kind}>": token_pattern(kind) for kind in TOKEN_KINDS},
}
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _compiled(pattern: str) -> re.Pattern[str]:
    for abbreviation, expansion in _ABBREVIATIONS.items():
        pattern = pattern.replace(abbreviation, expansion)
    return re.compile(pattern, re.IGNORECASE)


def _any_of(patterns: object) -> object:
    if not isinstance(patterns, list):
        return patterns
    return _compiled("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")


def _each(patterns: object) -> object:
    return tuple(_compiled(p) for p in patterns) if isinstance(patterns, list) else patterns


def _by_field(words: object) -> object:
    """Compile words per field into one pattern, longest first; a match's group is `field__n`."""
    if not isinstance(words, dict):
        return words
    pairs = [(field, word) for field, found in words.items() for word in found]
    pairs.sort(key=lambda pair: -len(pair[1]))
    alternatives = (f"(?P<{field}__{n}>{word})" for n, (field, word) in enumerate(pairs))
    return _compiled("|".join(alternatives) or "(?!)")


Words = Annotated[re.Pattern[str], BeforeValidator(_any_of)]
"""Any of some words."""
Forms = Annotated[tuple[re.Pattern[str], ...], BeforeValidator(_each)]
"""Sentence forms whose named groups are fields, tried in order."""
FieldWords = Annotated[re.Pattern[str], BeforeValidator(_by_field)]
"""Words that name fields; see `field_of`."""

_NO_WORDS = re.compile("(?!)")


def field_of(match: re.Match[str]) -> str:
    """Return the field that a match of `FieldWords` names."""
    return (match.lastgroup or "").split("__")[0]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
