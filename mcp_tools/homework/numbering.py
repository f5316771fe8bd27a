"""How items of homework are numbered, and a page taken apart by it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_AT_START = re.compile(
    rf"\s*(?:(?P<circled>[{_CIRCLED}])"
    r"|[(（]\s*(?P<bracket>\d{1,3})\s*[)）](?!\s*[-+*/×÷^=<>])"
    r"|(?P<half>\d{1,3})\s*[、)）]"
    r"|(?P<dot>\d{1,3})\s*[.．](?!\d)"
    r"|第\s*(?P<word>\d{1,3}|[一二三四五六七八九十]{1,3})\s*题"
    r"|[Qq](?:uestion)?\s*(?P<letter>\d{1,3})\s*(?=[.:：)])"
    r"|(?P<part>[一二三四五六七八九十]{1,3})、)"
    r"[.:：、)\s]*"
)
_INSIDE = re.compile(
    rf"\s*(?P<circled>[{_CIRCLED}])\s*"
    r"|\s+[(（](?P<bracket>\d{1,3})[)）]\s*(?![-+*/×÷^=<>])"
    r"|\s+(?P<dot>\d{1,3})[.、．)）](?!\d)\s*"
)
_TIGHT = re.compile(r"\s*(\d{1,3})[.．]\s*")


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
    start = _AT_START.match(line)
    if start is None:
        yield Line(line, False)
        return
    number, rest = _number(start), line[start.end() :]
    if start["part"]:
        yield Line(rest, _asks(rest))
        return
    begin = 0
    for mark in _INSIDE.finditer(rest):
        if number is not None and _number(mark) == number + 1:
            yield Line(rest[begin : mark.start()].strip(), True)
            begin, number = mark.end(), number + 1
    yield Line(rest[begin:].strip(), True)


def _number(found: re.Match[str]) -> int | None:
    name, text = next((name, text) for name, text in found.groupdict().items() if text)
    if name == "circled":
        return _CIRCLED.index(text) + 1
    return int(text) if text.isdigit() else None


def _asks(text: str) -> bool:
    """Tell a question from a heading such as 计算题."""
    return any(sign.isdigit() or sign in "?？=" for sign in text)
