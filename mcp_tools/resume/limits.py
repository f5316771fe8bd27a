"""Limits of a JSON document that is read as a resume, and of a value that is put into one.

All code that works on resumes relies on them: a document that has passed `check_limits` is cheap to
compare, store and display. The limits are far above what a person's resume needs.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from .errors import ResumeTooLargeError
from .labels import Language

MAX_DEPTH = 12
"""Maximum nesting of objects and lists; JSON Resume itself has five levels."""
MAX_VALUES = 5_000
"""Maximum number of values: texts, numbers, objects and lists."""
MAX_ENTRIES = 500
"""Maximum number of entries in one list."""
MAX_TEXT = 100_000
"""Maximum length of one text, in characters."""
MAX_CHARACTERS = 200_000
"""Maximum length of all texts and names together, in characters."""
MAX_NAME = 100
"""Maximum length of the name of one field, in characters."""

_ADVICE: Mapping[str, Mapping[Language, str]] = {
    "depth": {
        "zh": "嵌套最多 {most} 层，请减少嵌套",
        "en": "at most {most} levels of nesting; nest less",
    },
    "values": {
        "zh": "总共最多 {most} 个值，请删减内容",
        "en": "at most {most} values in all; leave some out",
    },
    "entries": {
        "zh": "一个列表最多 {most} 项，请删减条目",
        "en": "at most {most} entries in one list; leave some out",
    },
    "text": {
        "zh": "一段文字最多 {most} 个字符，请缩短",
        "en": "at most {most} characters in one text; shorten it",
    },
    "characters": {
        "zh": "总共最多 {most} 个字符，请删减内容",
        "en": "at most {most} characters in all; leave some out",
    },
    "name": {
        "zh": "字段名最多 {most} 个字符，请改短",
        "en": "at most {most} characters in the name of a field; shorten it",
    },
}


class _Place(NamedTuple):
    value: JsonValue
    depth: int
    step: str | int = ""
    parent: "_Place | None" = None


def check_limits(value: JsonValue, *, depth: int = 0) -> None:
    """Check that a document, or a value to be put into one at `depth`, is within the limits.

    The walk ends at the first exceeded limit, so it is cheap for any input.

    Raises:
        ResumeTooLargeError: the value is too large or nested too deeply.
    """
    waiting = [_Place(value, depth)]
    values, characters = 1, 0
    while waiting:
        place = waiting.pop()
        found = place.value
        if isinstance(found, str):
            characters += len(found)
            _check(len(found), "text", MAX_TEXT, place)
        elif isinstance(found, list | dict):
            values += len(found)
            _check(place.depth + 1, "depth", MAX_DEPTH, place)
            _check(values, "values", MAX_VALUES, place)
            if isinstance(found, dict):
                characters += sum(map(len, found))
                _check(max(map(len, found), default=0), "name", MAX_NAME, place)
            else:
                _check(len(found), "entries", MAX_ENTRIES, place)
            members = found.items() if isinstance(found, dict) else enumerate(found)
            waiting += [_Place(item, place.depth + 1, step, place) for step, item in members]
        _check(characters, "characters", MAX_CHARACTERS, place)


def _check(count: int, limit: str, most: int, place: _Place) -> None:
    if count > most:
        advice = {language: text.format(most=most) for language, text in _ADVICE[limit].items()}
        raise ResumeTooLargeError(path=_path(place), advice=advice)


def _path(place: _Place) -> str:
    steps: list[str] = []
    while place.parent is not None:
        steps.append(str(place.step))
        place = place.parent
    return ".".join(reversed(steps))
