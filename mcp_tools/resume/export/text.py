"""Text that every format can hold: no control characters, and in which language it is written."""

import re
from collections.abc import Iterable

from mcp_tools.resume.labels import Language

_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, direction overrides, non-characters and halves of characters."""

_LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_SPACES = re.compile(r"[^\S\n]+")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]{2,}")
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


def lines(text: str) -> tuple[str, ...]:
    """Split text into its lines that hold something, without what no format can hold."""
    fit = _UNFIT.sub("", _LINE_END.sub("\n", text))
    return tuple(line for part in _SPACES.sub(" ", fit).split("\n") if (line := part.strip()))


def one_line(text: str) -> str:
    """Return text as a single line."""
    return " ".join(lines(text))


def language_of(texts: Iterable[str]) -> Language:
    """Tell in which language most is written; one Chinese character weighs as much as a word."""
    han = words = 0
    for text in texts:
        han += len(_HAN.findall(text))
        words += len(_WORD.findall(text))
    return "zh" if han > words else "en"


def has_cjk(text: str) -> bool:
    """Tell whether text needs a font for Chinese, Japanese or Korean."""
    return _CJK.search(text) is not None
