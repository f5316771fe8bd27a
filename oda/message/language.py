"""In which of the languages that oda speaks a text is written."""

import re
from typing import Literal

Language = Literal["zh", "en"]

_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-z]")


def language_of(text: str, default: Language = "en") -> Language:
    """Chinese where there is any Chinese, English where there are other letters."""
    if _CHINESE.search(text):
        return "zh"
    return "en" if _LATIN.search(text) else default
