"""A page of homework, typed or transcribed from a photo, as items."""

import re
from collections.abc import Iterable, Iterator, Sequence

from .errors import TextTooLongError, TooManyItemsError
from .notation import plain
from .numbering import Line, lines
from .parting import by_colon, is_final, parts_of, unknown_of
from .understanding import can_understand
from .work import Item

MAX_TEXT = 20_000
MAX_ITEMS = 200
MAX_WORKING_LINES = 6

_CONTINUES = re.compile(r"\n\s*(?=[=＝])")
_GAP = re.compile(r"[ \t\u3000]{2,}")
_STRONG = re.compile(r"[;；]")
_WIDE = re.compile(r"\t| {2}|\u3000")
_COMMA = re.compile(r"[,，、](?!\d{3}(?!\d))|[,，、](?=\d{3}\s*[-+*/×÷])")
_RELATION = re.compile(r"[=＝<>＜＞≈]|等于|\bequals\b")
_ANSWERED = re.compile(r"\s*(?:答|(?:the\s+)?answer\b|ans\b|A\s*[:：])", re.IGNORECASE)
_ANSWER_LINE = re.compile(
    r"\s*(?:答案?|解|(?:the\s+)?answer|ans|A)\s*(?:[:：]|是|is\b)?\s*(?P<answer>\S.*)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\s*[-−]?[$¥￥]?\d[\d,./\s]*(?:%|[\u4e00-\u9fff]{1,3}|[A-Za-z]{1,8})?\s*[.。]?\s*$"
)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_SPACE = re.compile(r"\s+")
_RESULT = re.compile(
    r"[-−]?(?:\d+\s+\d+/\d+|\d+/\d+|\d+(?:\.\d+)?%?)(?:\s*(?:…+|\.{3,}|余|[rR])\s*\d+)?$"
)
_BEGINS = re.compile(r"[\d(（√]")


def collect(text: str, items: Iterable[Item] | None = None) -> list[Item]:
    """Find the items in a text; `items` that are known already come first.

    An item that has no answer in the text has `answer` `None`. An answer in the text completes
    the same question in `items`.

    Raises:
        TextTooLongError: the text has more than `MAX_TEXT` characters.
        TooManyItemsError: there are more than `MAX_ITEMS` items.
    """
    if len(text) > MAX_TEXT:
        raise TextTooLongError(length=len(text), limit=MAX_TEXT)
    found = {_key(item): item for item in items or ()}
    for item in _items(lines(_GAP.sub("  ", _CONTINUES.sub("", text)))):
        if (key := _key(item)) not in found or found[key].answer is None:
            known = found.get(key)
            found[key] = Item(question=known.question, answer=item.answer) if known else item
    if len(found) > MAX_ITEMS:
        raise TooManyItemsError(count=len(found), limit=MAX_ITEMS)
    return list(found.values())


def _key(item: Item) -> str:
    return "".join(plain(item.question).split()).rstrip("=□?").casefold()


def _items(page: Sequence[Line]) -> list[Item]:
    found: list[Item] = []
    position = 0
    while position < len(page):
        line = page[position]
        following = page[position + 1 : position + 1 + MAX_WORKING_LINES]
        used = _working(line, following)
        if used:
            answer = "\n".join(each.text for each in following[:used])
            found.append(Item(question=_question(line.text), answer=answer))
        else:
            for piece in _pieces(line.text):
                _add(found, piece, line.numbered)
        position += 1 + used
    return found


def _question(text: str) -> str:
    return text.strip(" ,，;；")


def _add(found: list[Item], piece: str, numbered: bool) -> None:
    if not numbered and found and found[-1].answer is None and (said := _loose_answer(piece)):
        found[-1] = Item(question=found[-1].question, answer=said)
    elif item := parts_of(piece):
        found.append(item)
    elif not numbered and (is_final(piece) or _VALUE.match(piece)):
        return
    elif numbered and not can_understand(piece) and (item := by_colon(piece)):
        found.append(item)
    elif numbered or _is_question(piece):
        found.append(Item(question=_question(piece)))


def _loose_answer(text: str) -> str | None:
    """An answer on a line of its own, below its question."""
    if said := _ANSWER_LINE.fullmatch(text):
        return said["answer"]
    return text if is_final(text) or _VALUE.match(text) else None


def _is_question(text: str) -> bool:
    return bool(
        text.rstrip().endswith(("?", "？")) or _RELATION.search(text) or can_understand(text)
    )


def _working(line: Line, following: Sequence[Line]) -> int:
    """How many of the following lines are the child's working of this one."""
    if parts_of(line.text) is not None:
        return 0
    own = _until_numbered(following)
    unknown = unknown_of(plain(line.text))
    if unknown is not None and not is_final(line.text):
        return _steps(unknown, own)
    if (_is_question(line.text) and not can_understand(line.text)) or line.numbered:
        for count, each in enumerate(own, start=1):
            if _ANSWERED.match(each.text):
                return count if count > 1 else 0
            if each.text.rstrip().endswith(("?", "？")):
                break
    return 0


def _until_numbered(following: Sequence[Line]) -> list[Line]:
    own: list[Line] = []
    for each in following:
        if each.numbered:
            break
        own.append(each)
    return own


def _steps(unknown: str, own: Sequence[Line]) -> int:
    """Equations in the same unknown down to the one that says what it is."""
    for count, each in enumerate(own, start=1):
        if unknown_of(plain(each.text).removeprefix("解:")) != unknown:
            return 0
        if is_final(each.text):
            return count if count > 1 else 0
    return 0


def _pieces(text: str) -> Iterator[str]:
    """The items that stand side by side in a line."""
    for separator in (_STRONG, _WIDE, _COMMA):
        parts = [part.strip() for part in separator.split(text) if part.strip()]
        if len(parts) > MAX_ITEMS:
            raise TooManyItemsError(count=len(parts), limit=MAX_ITEMS)
        if len(parts) > 1 and all(map(_stands_alone, parts)):
            for part in parts:
                yield from _pieces(part)
            return
    yield from _spaced(text)


def _stands_alone(text: str) -> bool:
    """Tell whether a piece is work of its own, and no part of a system or a list of solutions."""
    if _LETTER.search(plain(text)) and _RELATION.search(text):
        item = parts_of(text)
        return item is not None
    return bool(_RELATION.search(text)) or parts_of(text) is not None


def _spaced(text: str) -> Iterator[str]:
    """Split `3+4=7 5+6=11`: a result, a space, and what begins another calculation."""
    sides = re.split(r"[=＝]", text)
    if len(sides) < 3 or _LETTER.search(plain(text)):
        yield text
        return
    begun = sides[0]
    for side in sides[1:-1]:
        result, rest = _split_result(side.strip())
        if rest is None:
            begun = f"{begun}={side}"
        else:
            yield f"{begun}={result}"
            begun = rest
    yield f"{begun}={sides[-1]}"


def _split_result(side: str) -> tuple[str, str | None]:
    for gap in reversed(list(_SPACE.finditer(side))):
        result, rest = side[: gap.start()], side[gap.end() :]
        if _RESULT.match(result) and _BEGINS.match(rest):
            return result, rest
    return side, None
