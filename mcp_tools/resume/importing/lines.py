"""A file as lines of text: what every kind of file becomes before it is understood."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

MAX_CHARACTERS = 100_000
MAX_LINES = 4_000
"""More text or more lines than this is no resume."""

_BULLET = re.compile(
    r"\s*(?:[-–—+*>]\s+(?=\S)|[•●◦▪■□◆◇▶▸➤➢►✓✔·○※‣∙⚫★☆→\uf000-\uf0ff]\s*(?=\S)|\(cid:\d+\)\s*(?=\S)"
    r"|\(?\d{1,2}[.)](?:\s+|(?=[^\s\d.,]))|[(（]?\d{1,2}[、．）]\s*(?![\d])|[①-⑳]\s*)"
)
_ICON = re.compile(r"[\ue000-\uf8ff]|\(cid:\d+\)")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f"))
_COMPATIBLE = re.compile(r"[\u2e80-\u2fdf\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb00-\ufb06]")
_SPACES = re.compile(r"[ \u00a0\u2000-\u200a\u202f]+")
_GAP = re.compile(r"[ \u00a0\u2000-\u200a\u202f]{3,}|\u3000+[ \u3000]*|[ ]*\t[\t ]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Line(NamedTuple):
    """One line or paragraph; tabs stand for gaps between columns.

    `style` names how the line is set apart from the body ("" when it is not): two lines of one
    style are of one rank. `gap` says that there is empty space before the line.
    """

    text: str
    bullet: bool = False
    style: str = ""
    gap: bool = False


@dataclass(frozen=True)
class Bulleted:
    """A line's text without its bullet, and where that text begins."""

    text: str
    bullet: bool
    width: int


def clean(text: str) -> str:
    """Return text with spaces made plain, invisible signs removed and look-alikes unified."""
    text = _COMPATIBLE.sub(lambda sign: unicodedata.normalize("NFKC", sign[0]), text)
    text = _GAP.sub("\t", text.translate(_INVISIBLE))
    return _SPACES.sub(" ", _CONTROL.sub(" ", text)).strip()


def take_bullet(text: str) -> Bulleted:
    """Take the bullet, or the number of a list, off a line."""
    match = _BULLET.match(text)
    width = match.end() if match else len(text) - len(text.lstrip())
    bare = _ICON.sub(" ", text[width:])
    return Bulleted(clean(bare), match is not None, width)


def is_cjk(sign: str) -> bool:
    """Tell whether a character is Chinese script or Chinese punctuation."""
    return "\u3000" <= sign <= "\u9fff" or "\uff00" <= sign <= "\uffef"


def is_chinese(texts: Iterable[str]) -> bool:
    """Tell whether a text is mainly in Chinese: one sign says as much as three letters."""
    joined = "".join(texts)
    signs = sum(is_cjk(sign) for sign in joined)
    letters = sum(sign.isalpha() for sign in joined) - signs
    return signs * 3 > letters


def display_width(text: str) -> int:
    """Return how many columns a text takes; a Chinese sign takes two."""
    return sum(2 if is_cjk(sign) else 1 for sign in text)


def joined(first: str, second: str) -> str:
    """Join the two halves of a broken line."""
    if not first or not second:
        return first + second
    tight = is_cjk(first[-1]) or is_cjk(second[0])
    hyphenated = first[-1] == "-" and first[-2:-1].isalpha()
    return first + second if tight or hyphenated else f"{first} {second}"
