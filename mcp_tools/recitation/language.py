"""The supported languages, and the scripts by which they are detected."""

import re
from typing import Literal

Language = Literal["zh", "en"]

HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a character class."""
WORD = rf"[^\W\d_{HAN}]+(?:'[^\W\d_{HAN}]+)*"
"""A word of another script, perhaps with apostrophes inside."""

_CHARACTER_PATTERN = re.compile(f"[{HAN}]")
_WORD_PATTERN = re.compile(WORD)


def is_han(unit: str) -> bool:
    """Return whether a unit is a Chinese character, as opposed to a word."""
    return _CHARACTER_PATTERN.match(unit) is not None


def detect(text: str) -> Language:
    """Chinese when the text has as many Chinese characters as words of other scripts, or more."""
    characters = len(_CHARACTER_PATTERN.findall(text))
    return "zh" if characters >= len(_WORD_PATTERN.findall(text)) else "en"
