"""Rewrites statements of recruiters about a candidate in the first person.

Only the subject and its verb at the beginning of a message change: "she speaks Greek" becomes "I
speak Greek". Statements about a person further on may be a value.
"""

import re
from functools import cache, lru_cache

from .vocabulary import vocabulary


@lru_cache(maxsize=64)
def in_first_person(text: str) -> str:
    """Return a text in which the person of the resume speaks of themselves."""
    spelling = vocabulary().spelling
    statement, question = _forms()
    if match := statement.match(text):
        verb = spelling.third_person[match["verb"].lower()]
        return f"I {match['adverb']}{verb}{text[match.end() :]}"
    if match := question.match(text):
        verb = spelling.auxiliaries[match["verb"].lower()]
        return f"{match['before']}{verb} I{text[match.end() :]}"
    return text


@cache
def _forms() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return how a statement and how a question about a person begins."""
    spelling = vocabulary().spelling
    person, verb, auxiliary = (
        f"(?:{'|'.join(map(re.escape, words))})(?![\\w'])"
        for words in (spelling.persons, spelling.third_person, spelling.auxiliaries)
    )
    statement = rf"\s*{person}\s+(?P<adverb>(?:[a-z]+\s+)?)(?P<verb>{verb})"
    question = rf"(?P<before>[\w\s]*?)\b(?P<verb>{auxiliary})\s+{person}"
    return re.compile(statement, re.IGNORECASE), re.compile(question, re.IGNORECASE)
