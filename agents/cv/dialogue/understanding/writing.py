"""Wishes about how something is written: "make it half as long", "写得太口语了，帮我改得书面一点".

No rule could carry them out, and their words are no data: such a message is not looked at further.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from .vocabulary import language_parts
from .words import compiled

_LONGEST = 80
"""Characters of a clause that is looked at; the time of the forms grows with its square."""
_ABBREVIATIONS = ("style", "praise", "text", "ask", "form")


@dataclass(frozen=True, slots=True)
class _Words:
    """Sentence forms of any language; `writing.yaml` says what each is."""

    wish: re.Pattern[str]
    judgement: re.Pattern[str]
    request: re.Pattern[str]
    told: re.Pattern[str]


def wishes_for_writing(clause: str) -> bool:
    """Tell whether a clause asks that something be written in another way."""
    return _finds(_words().wish, clause)


def judges_writing(clause: str) -> bool:
    """Tell whether a clause says how a text reads: "太啰嗦", "my summary is too long"."""
    return _finds(_words().judgement, clause)


def requests_politely(clause: str) -> bool:
    """Tell whether a clause is a request in the form of a question."""
    return len(clause) <= _LONGEST and _words().request.search(clause) is not None


def _finds(form: re.Pattern[str], clause: str) -> bool:
    if len(clause) > _LONGEST or _words().told.match(clause):
        return False
    return form.search(clause) is not None


@cache
def _words() -> _Words:
    parts = [*language_parts("writing.yaml")]
    return _Words(
        **{
            name: compiled("|".join(f"(?:{form})" for part in parts for form in _forms(part, name)))
            for name in _Words.__dataclass_fields__
        }
    )


def _forms(part: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the forms of a kind with the words that they share in place."""
    found = part[name]
    forms: Iterable[str] = [found] if isinstance(found, str) else found
    for form in forms:
        for word in _ABBREVIATIONS:
            form = form.replace(f"<{word}>", part[word])
        yield form
