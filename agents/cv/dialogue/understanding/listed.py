"""Lists in one message: "Python, Go and Rust (advanced)", "精通 Python 和 Go，熟悉 Docker"."""

import re
from dataclasses import dataclass, replace
from functools import cache

from mcp_tools.resume import JsonObject, Section

from .canvas import Canvas
from .vocabulary import section_facts, vocabulary
from .words import DELIMITERS, TAKEN

_OTHER_NAME = re.compile(r"(?<![A-Za-z])[A-Z][a-z]{2,}")
"""A word of a name that goes on: "French Creole"."""


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    grade: str | None = None
    spreads: bool = False
    """Whether the grade stands before the name and so holds for the items that follow."""
    led: bool = False
    """Whether words like "I know" begin anew with this item."""


def listed_entries(canvas: Canvas, section: Section) -> list[JsonObject]:
    """Return an entry for everything that the rest of a message lists."""
    facts = section_facts()[section]
    if facts.listed is None:
        return []
    items = [replace(_understood(item, section), led=led) for item, led in _items(canvas, section)]
    entries: list[JsonObject] = []
    for item in _graded(items):
        if not item.name:
            continue
        grade: JsonObject = {facts.grade: item.grade} if facts.grade and item.grade else {}
        again = next((entry for entry in entries if entry[facts.listed] == item.name), None)
        if again is None:
            entries.append({facts.listed: item.name, **grade})
        else:
            again.update(grade)
    return entries


def grade_of(text: str) -> str | None:
    """Return the grade that a text consists of: "expert level" is "expert"."""
    match = _grade_forms()[2].fullmatch(text.strip())
    return match["grade"] if match else None


def split_list(text: str) -> list[str]:
    """Split a list that stands in one value."""
    parts = vocabulary().joiners.split(text)
    return [part.strip(DELIMITERS + " ()") for part in parts if part.strip(DELIMITERS + " ()")]


def _items(canvas: Canvas, section: Section) -> list[tuple[str, bool]]:
    """Return the words of every item and whether it was led in; grades are still with them."""
    found: list[tuple[str, bool]] = []
    begin = 0
    text = re.sub(rf"[。!?\n:{TAKEN}]", ",", canvas.text)
    for match in [*vocabulary().joiners.finditer(text), None]:
        stop = match.start() if match else len(text)
        lead = vocabulary().lead_ins.match(text[begin:stop].lstrip())
        offset = len(text[begin:stop]) - len(text[begin:stop].lstrip())
        start = begin + offset + (lead.end() if lead else 0)
        if trimmed := canvas.trimmed(start, stop):
            found.append((_with_brackets(canvas, *trimmed), lead is not None))
        begin = match.end() if match else stop
    return found


def _with_brackets(canvas: Canvas, begin: int, stop: int) -> str:
    """Return a value with the bracket that trimming has cut from its end."""
    closing = canvas.text[stop : stop + 1] in ")）" and "(" in canvas.text[begin:stop]
    return canvas.value(begin, stop) + (")" if closing and stop < len(canvas.text) else "")


def _understood(text: str, section: Section) -> _Item:
    """Take the grade off an item."""
    facts = section_facts()[section]
    if facts.grade is None:
        return _Item(text)
    if known := _known_name(text, section):
        return known
    before, after, _ = _grade_forms()
    if grade := grade_of(text):
        return _Item("", grade=grade)
    if match := before.match(text):
        return _Item(text[match.end() :].strip(), grade=match["grade"], spreads=True)
    if match := after.search(text):
        return _Item(text[: match.start()].strip(" (（-:是"), grade=match["grade"])
    return _Item(text)


def _known_name(text: str, section: Section) -> _Item | None:
    """Split "English C1" after the name when the name is of a known kind."""
    listed = section_facts()[section].listed
    looks = vocabulary().sections[section].looks.get(listed or "")
    match = looks.search(text) if looks else None
    if match is None:
        return None
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    grade = vocabulary().grades.search(rest)
    fluency = vocabulary().sections[section].looks.get("fluency")
    said = fluency.search(rest) if fluency else None
    best = grade or said
    if _OTHER_NAME.search(rest.replace(best[0], "") if best else rest):
        return None
    before = text[: match.start()]
    said_before = best is not None and best[0] in before
    return _Item(match[0], grade=best[0].strip(" ()") if best else None, spreads=said_before)


def _graded(items: list[_Item]) -> list[_Item]:
    """Give every item the grade that a neighbour says for it."""
    result: list[_Item] = []
    spreading: str | None = None
    for item in items:
        if not item.name:
            result = [replace(done, grade=done.grade or item.grade) for done in result]
        elif item.grade:
            spreading = item.grade if item.spreads else None
            result.append(item)
        else:
            spreading = None if item.led else spreading
            result.append(replace(item, grade=spreading))
    return result


@cache
def _grade_forms() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return how a grade stands before a name, after it, and alone."""
    grammar = vocabulary().grammar
    grade = f"(?P<grade>{vocabulary().grades.pattern})"
    beside = rf"\s*(?:{grammar.graded.pattern})\s*"
    lead = rf"[\s(\-–—:]*(?:{grammar.graded_lead.pattern})?(?:{beside}:?)?\s*"
    return (
        re.compile(rf"{grade}(?:{grammar.graded_name.pattern})?\s*(?=\S)", re.IGNORECASE),
        re.compile(rf"{lead}{grade}(?:{beside})?\s*\)?$", re.IGNORECASE),
        re.compile(rf"(?:{beside})*{grade}(?:{beside})*", re.IGNORECASE),
    )
