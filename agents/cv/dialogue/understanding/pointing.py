"""Which entries of a section a message points at: by number, by name, by "the last one"."""

import re

from .canvas import Canvas
from .counting import number_of
from .listed import split_list
from .outline import Outline
from .recognition import Beside, Target
from .vocabulary import vocabulary

_BESIDE: dict[str, Beside] = {"before": "before", "after": "after", "other": "other"}


def take_ordinals(canvas: Canvas) -> Target:
    """Take the words that point by number or place from a canvas."""
    ordinals: list[int] = []
    by_time: set[str] = set()
    beside: Beside | None = None
    for form in vocabulary().references.ordinal:
        for match in list(form.finditer(canvas.text)):
            kind = match.lastgroup or "last"
            if kind in ("newest", "oldest"):
                by_time.add(kind)
            elif kind in _BESIDE:
                beside = _BESIDE[kind]
            elif kind in ("firsts", "lasts"):
                count = number_of(match[kind])
                ordinals += range(count) if kind == "firsts" else range(-count, 0)
            else:
                ordinals.append(_index(kind, match[kind] if match.lastgroup else "second"))
            _take_group(canvas, match)
    every = vocabulary().references.every.search(canvas.text)
    if every:
        canvas.take(*every.span())
    return Target(
        ordinals=tuple(dict.fromkeys(ordinals)),
        newest="newest" in by_time,
        oldest="oldest" in by_time,
        every=every is not None,
        beside=beside,
    )


def take_mentions(canvas: Canvas, outline: Outline) -> tuple[str, ...]:
    """Take the titles of existing entries from a canvas."""
    names: list[str] = []
    for mention in outline.mentions(canvas.text):
        if canvas.has(mention.begin, mention.stop):
            names.append(canvas.value(mention.begin, mention.stop))
            canvas.take(mention.begin, mention.stop)
    return tuple(dict.fromkeys(names))


def other_names(canvas: Canvas) -> tuple[str, ...]:
    """Return the words that are left once everything else has been taken; a date as in a resume."""
    names: list[str] = []
    for begin, stop in canvas.segments():
        if trimmed := canvas.trimmed(begin, stop, vocabulary().references.filler):
            token = canvas.message.token_at(trimmed[0])
            if token and token.when:
                when = token.when
                names += [date for date in (when.point, when.start or when.end) if date]
            else:
                names += split_list(canvas.value(*trimmed))
    return tuple(dict.fromkeys(names))


def ordinal_only(text: str) -> int | None:
    """Return the index that a whole message names: "2", "2.", "第二个", "the second one"."""
    match = vocabulary().references.number.fullmatch(text.strip())
    return _index("number", match["number"]) if match else None


def _take_group(canvas: Canvas, match: re.Match[str]) -> None:
    """Take a match, but leave the name of a section that it begins with."""
    begin = match.start()
    if match.lastgroup in ("plain", "number") and not match[0].startswith("第"):
        begin = match.start(match.lastgroup)
    canvas.take(begin, match.end())


def _index(kind: str, words: str) -> int:
    if kind == "last":
        return -1
    if kind == "first":
        return 0
    number = number_of(words)
    return -number if kind == "back" else number - 1
