"""The two languages of homework, and which of them a text is in."""

import re
from typing import Literal

Language = Literal["zh", "en"]

_CHINESE = re.compile(r"[\u4e00-\u9fff]|……")
_ENGLISH = re.compile(r"[A-Za-z]{3,}|\d\s*[rR]\s*\d")


def language_of(text: str, *, otherwise: Language = "zh") -> Language:
    """Tell the language of a text; one of signs alone, such as `3+4=7`, is in `otherwise`."""
    if _CHINESE.search(text):
        return "zh"
    return "en" if _ENGLISH.search(text) else otherwise
