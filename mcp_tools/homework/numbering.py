"""How items of homework are numbered, and a page taken apart by it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_HAN = "一二三四五六七八九十"
_NUMBER = (
    rf"(?:(?P<circled>[{_CIRCLED}])"
    r"|[(（]\s*(?P<bracket>\d{1,3})\s*[)）](?!\s*[-+*/×÷^=<>])"
    r"|(?P<half>\d{1,3})\s*[、)）]"
    r"|(?P<dot>\d{1,3})\s*[.．](?!\d)"
    rf"|第\s*(?P<word>\d{{1,3}}|[{_HAN}]{{1,3}})\s*题"
    r"|[Qq](?:uestion)?\s*(?P<letter>\d{1,3})\s*(?=[.:：)])"
    rf"|(?P<part>[{_HAN}]{{1,3}})、)"
    r"[.:：、)\s]*"
)
_AT_START = re.compile(rf"\s*{_NUMBER}")
_INSIDE = re.compile(rf"(?:(?<=[\s,，;；。:：?？])|(?=[{_CIRCLED}])){_NUMBER}")
_TIGHT = re.compile(r"\s*(\d{1,3})[.．]\s*")
_TIGHT_INSIDE = re.compile(r"(?:^|(?<=[\s,，;；]))(\d{1,3})[.．](?=\d)")
_LEAST_TIGHT = 3
"""Number of items numbered without a space in one line from which they cannot be decimals."""
_WORK = re.compile(r"[=＝<>＜＞≈?？□_]")
_ENDS = " ,，;；。"


class Line(NamedTuple):
    """One item's line; `numbered` if it begins an item for sure."""

    text: str
    numbered: bool


def lines(text: str) -> list[Line]:
    """The lines of a page, without numbers; a line with several numbered items gives several."""
    raw = [line.strip() for line in text.splitlines() if line.strip()]
    if _counted(raw):
        return [Line(_TIGHT.sub("", line, count=1), True) for line in raw]
    return [part for line in raw for part in _parts(line) if part.text]


def _counted(raw: Sequence[str]) -> bool:
    """Tell whether lines are counted `1.3×4`, which could be read as a decimal."""
    found = [_TIGHT.match(line) for line in raw]
    return len(raw) > 1 and [int(each[1]) if each else 0 for each in found] == list(
        range(1, len(raw) + 1)
    )


def _parts(line: str) -> Iterator[Line]:
    if tight := _tight(line):
        yield from tight
        return
    start = _AT_START.match(line)
    if start is None:
        yield from _behind_heading(line)
        return
    pieces = _pieces(line, [start, *_INSIDE.finditer(line, start.end())])
    for piece in pieces:
        if not start["part"]:
            yield Line(piece, True)
        elif _INSIDE.search(piece):
            yield from _behind_heading(piece)
        else:
            yield Line(piece, _asks(piece))


def _behind_heading(line: str) -> Iterator[Line]:
    """Split `Homework: 1. … 2. …`, and a line whose numbering starts at its second item."""
    marks = list(_INSIDE.finditer(line))
    if not marks:
        yield Line(line, False)
        return
    head, number = line[: marks[0].start()].strip(_ENDS), _number(marks[0])
    is_first = number == 2 and _WORK.search(head)
    is_heading = number == 1 and not _asks(head)
    if not is_first and not is_heading:
        yield Line(line, False)
        return
    if is_first:
        yield Line(head, True)
    for piece in _pieces(line, marks):
        yield Line(piece, True)


def _pieces(line: str, marks: Sequence[re.Match[str]]) -> list[str]:
    """Return the texts after those marks whose numbers are consecutive from the first one."""
    kept = [marks[0]]
    for mark in marks[1:]:
        number, before = _number(mark), _number(kept[-1])
        counts_on = number is not None and before is not None and number == before + 1
        # `2、` and the like may also occur within a list of numbers
        is_sure = mark.lastgroup in ("circled", "bracket", "dot")
        if counts_on and (is_sure or _WORK.search(line, kept[-1].end(), mark.start())):
            kept.append(mark)
    bounds = pairwise([*((mark.start(), mark.end()) for mark in kept), (len(line), 0)])
    return [line[begin:end].strip(_ENDS) for (_, begin), (end, _) in bounds]


def _tight(line: str) -> list[Line]:
    """Return the items of `1.3+4=7 2.5+6=11 3.8×7=56`; empty if they may be decimals."""
    marks = list(_TIGHT_INSIDE.finditer(line))
    numbers = [int(mark[1]) for mark in marks]
    if len(marks) < _LEAST_TIGHT or marks[0].start() or numbers != list(range(1, len(marks) + 1)):
        return []
    bounds = pairwise([*((mark.start(), mark.end()) for mark in marks), (len(line), 0)])
    return [Line(line[begin:end].strip(_ENDS), True) for (_, begin), (end, _) in bounds]


def _number(found: re.Match[str]) -> int | None:
    name, text = next((name, text) for name, text in found.groupdict().items() if text)
    if name == "circled":
        return _CIRCLED.index(text) + 1
    if text.isdigit():
        return int(text)
    return _HAN.index(text) + 1 if len(text) == 1 else None


def _asks(text: str) -> bool:
    """Tell a question from a heading such as 计算题."""
    return any(sign.isdigit() or sign in "?？=" for sign in text)
