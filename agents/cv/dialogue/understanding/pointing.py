"""Which entries of a section a message points at: by number, by name, by "the last one"."""

import re

from .canvas import Canvas
from .listed import split_list
from .outline import Outline
from .recognition import Target
from .vocabulary import vocabulary

_ORDINAL_ONLY = re.compile(
    r"\s*(?:选|就|要|no\.?|number|option|#)?\s*(\d{1,2}|[一二两三四五六七八九十])\s*[.。、!号]?\s*",
    re.IGNORECASE,
)
_ENGLISH = "first second third fourth fifth sixth seventh eighth ninth tenth"
_NUMBERS = {
    **{word: number for number, word in enumerate("一二三四五六七八九十", start=1)},
    "两": 2,
    **{word: number for number, word in enumerate(_ENGLISH.split(), start=1)},
}


def take_ordinals(canvas: Canvas) -> Target:
    """Take the words that point by number or place from a canvas."""
    ordinals: list[int] = []
    newest = False
    for form in vocabulary().references.ordinal:
        for match in list(form.finditer(canvas.text)):
            kind = match.lastgroup or "last"
            if kind == "newest":
                newest = True
            else:
                ordinals.append(_index(kind, match[kind] if match.lastgroup else "second"))
            _take_group(canvas, match)
    every = vocabulary().references.every.search(canvas.text)
    if every:
        canvas.take(*every.span())
    return Target(ordinals=tuple(dict.fromkeys(ordinals)), newest=newest, every=every is not None)


def take_names(canvas: Canvas, outline: Outline) -> tuple[str, ...]:
    """Return the names that are left in a canvas once everything else has been taken.

    Titles of existing entries come first; then whatever other words there are.
    """
    names: list[str] = []
    for mention in outline.mentions(canvas.text):
        if canvas.has(mention.begin, mention.stop):
            names.append(canvas.value(mention.begin, mention.stop))
            canvas.take(mention.begin, mention.stop)
    filler = vocabulary().references.filler
    for begin, stop in canvas.segments():
        if trimmed := canvas.trimmed(begin, stop, filler):
            token = canvas.message.token_at(trimmed[0])
            if token and token.when:
                when = token.when
                names += [date for date in (when.point, when.start or when.end) if date]
            else:
                names += split_list(canvas.value(*trimmed))
    return tuple(dict.fromkeys(names))


def ordinal_only(text: str) -> int | None:
    """Return the index that a whole message names: "2", "2.", "第二个", "the second one"."""
    match = re.fullmatch(
        r"\s*(?:选|就|要|no\.?|number|option|#)?\s*(\d{1,2}|[一二两三四五六七八九十])\s*[.。、!号]?\s*",
        text,
        re.I,
    )
    return _index("number", match[1]) if match else None


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
    number = _number(words)
    return -number if kind == "back" else number - 1


def _number(words: str) -> int:
    folded = words.strip().lower()
    digits = re.match(r"\d+", folded)
    if digits:
        return int(digits[0])
    if folded in _NUMBERS:
        return _NUMBERS[folded]
    tens, _, ones = folded.partition("十")
    return _NUMBERS.get(tens, 1) * 10 + _NUMBERS.get(ones, 0)
