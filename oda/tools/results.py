"""Sanitizes tool results: bounded, without secrets, and without invisible characters.

Control characters, except line breaks and tabs, and invisible format characters are removed: those
that change the direction of text, have no width, or spell a hidden text (tags, runs of variation
selectors). Characters of ordinary writing stay: one variation selector after a character, and one
joiner (U+200C, U+200D) between two characters outside ASCII, as in emoji, Persian or Hindi.
"""

import re
from collections.abc import Callable
from typing import Any

CUT = "… [cut off]"
_ROOM_FOR_NOTE = 300
_PER_VALUE = 2
"""Characters counted for each value in addition to its text: the punctuation around it."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]+"
)
_SELECTORS = re.compile(
    "([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
_JOINERS = re.compile("[\u200c\u200d]+")


def visible(text: str) -> str:
    """`text` without the characters that a reader would not see."""
    text = _UNSEEN.sub("", text)
    if text.isascii():
        return text
    return _SELECTORS.sub(r"\1", _JOINERS.sub(_one_joiner, text))


def presentable(
    result: dict[str, Any], *, max_chars: int, mask: Callable[[str], str] = str
) -> dict[str, Any]:
    """A result, given as plain JSON, as a model and a store may have it.

    Args:
        result: What the tool has answered.
        max_chars: Most characters of all keys and values; a longer result is cut off and says so.
        mask: Takes secrets out of a text.
    """
    clean: dict[str, Any] = _cleaned(result, lambda text: mask(visible(text)))
    if _size(clean) <= max_chars:
        return clean
    return _Cut(max(0, max_chars - _ROOM_FOR_NOTE)).of_result(clean, max_chars)


def _one_joiner(run: re.Match[str]) -> str:
    before = run.string[run.start() - 1 : run.start()]
    after = run.string[run.end() : run.end() + 1]
    return run[0][0] if _is_joined(before) and _is_joined(after) else ""


def _is_joined(char: str) -> bool:
    return bool(char) and not char.isascii() and not char.isspace()


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item, clean) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    return value


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + _PER_VALUE
    if isinstance(value, dict):
        return sum(len(key) + _PER_VALUE + _size(item) for key, item in value.items()) + _PER_VALUE
    if isinstance(value, list):
        return sum(map(_size, value)) + _PER_VALUE
    return len(str(value)) + _PER_VALUE


class _Cut:
    """Takes as much of a result as there is room for, from its beginning."""

    def __init__(self, room: int) -> None:
        self._room = room

    def of_result(self, result: dict[str, Any], max_chars: int) -> dict[str, Any]:
        cut: dict[str, Any] = self._value(result)
        name = "truncated"
        while name in cut:
            name += "_"
        return {
            **cut,
            name: f"The result was longer than {max_chars} characters; the rest is cut off.",
        }

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            self._room -= _PER_VALUE
            return self._entries(value)
        if isinstance(value, list):
            self._room -= _PER_VALUE
            return self._items(value)
        size = _size(value)
        if isinstance(value, str) and size > self._room:
            value = value[: max(0, self._room - _PER_VALUE - len(CUT))] + CUT
        self._room -= size
        return value

    def _entries(self, entries: dict[str, Any]) -> dict[str, Any]:
        kept = {}
        for key, item in entries.items():
            self._room -= len(key) + _PER_VALUE
            if self._room <= 0:
                break
            kept[key] = self._value(item)
        return kept

    def _items(self, items: list[Any]) -> list[Any]:
        kept = []
        for item in items:
            if self._room <= 0:
                break
            kept.append(self._value(item))
        return kept
