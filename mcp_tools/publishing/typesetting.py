"""How wide text is, roughly, and where it may be broken; for pictures and slides."""

import re
import unicodedata
from collections.abc import Iterator

_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, direction overrides, non-characters and halves of characters."""
_NOT_FIRST = frozenset("，。、；：？！）》」』】〉…—·’”%),.;:?!]}\"'")
"""Marks that may not begin a line."""
_NOT_LAST = frozenset("（《「『【〈‘“([{")
_NARROW = frozenset("ijl.,;:'|!()[]{}ftrI1 ")
_WIDE = frozenset("mwMW@%—…")


def fit_text(text: str) -> str:
    """Text without the characters that no document can hold; line ends are newlines."""
    return _UNFIT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Text as a single line with single blanks."""
    return " ".join(fit_text(text).split())


def text_width(text: str, before: float = 0.0) -> float:
    """Return the width of a text after a given width, in ems of a typical sans-serif font."""
    return sum(map(_character_width, text), before)


def shortened(text: str, length: int) -> str:
    """Text of at most `length` characters, cut at the end of a sentence or word if one is near."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    for ends in ("。！？", ".!?", "，；、,; "):
        cut = max(
            (at for at, one in enumerate(head) if one in ends and _ends_there(head, at)), default=0
        )
        if cut > length * 0.6:
            full_stop = ends in ("。！？", ".!?")
            return head[: cut + 1] if full_stop else head[:cut].rstrip(" ,，;；、") + "…"
    return head.rstrip() + "…"


def wrap(text: str, width: float) -> list[str]:
    """Break text into lines of at most `width` ems, by the rules of Latin and CJK texts."""
    lines: list[str] = []
    line: list[str] = []
    used = 0.0
    for piece in _pieces(text, width):
        if line and text_width(piece.rstrip(), used) > width:
            lines.append("".join(line).rstrip())
            line, used = [], 0.0
            piece = piece.lstrip()
        if piece:
            line.append(piece)
            used = text_width(piece, used)
    last = "".join(line).rstrip()
    return [*lines, last] if last else lines


def balanced(text: str, width: float) -> list[str]:
    """Break text as `wrap` does, into as many lines, but of about the same length."""
    lines = wrap(text, width)
    while width > 2 and len(narrower := wrap(text, width - 0.5)) == len(lines):
        width, lines = width - 0.5, narrower
    return lines


def _ends_there(text: str, at: int) -> bool:
    """Return whether a punctuation mark ends something, as opposed to a decimal point."""
    return text[at] not in ".!?,;" or text[at + 1 : at + 2].isspace()


def _pieces(text: str, width: float) -> Iterator[str]:
    """The parts of a text that must stay on one line: words with the blank behind them, single CJK
    characters with the marks that stick to them."""
    piece: list[str] = []
    used = 0.0
    for character in one_line(text):
        own = _character_width(character)
        if piece and (used + own > width or _may_break(piece[-1], character)):
            yield "".join(piece)
            piece, used = [], 0.0
        piece.append(character)
        used += own
    if piece:
        yield "".join(piece)


def _may_break(before: str, after: str) -> bool:
    if after == " " or after in _NOT_FIRST or before in _NOT_LAST:
        return False
    return before == " " or _is_cjk(before) or _is_cjk(after)


def _is_cjk(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _character_width(character: str) -> float:
    if _is_cjk(character):
        return 1.0
    if unicodedata.combining(character):
        return 0.0
    if character in _NARROW:
        return 0.32
    if character in _WIDE:
        return 0.9
    return 0.68 if character.isupper() else 0.56
