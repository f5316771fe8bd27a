"""Values that begin a list: "job: Palantir, Engineer, 2017-2019, built pipelines for hospitals".

Nothing in them is looked at as a sentence: "for" in "Habitat for Humanity" is only a word.
"""

import re

from mcp_tools.resume import JsonObject, Section

from .canvas import Canvas
from .labelled import find_labels
from .vocabulary import section_facts, vocabulary
from .words import TAKEN

_TITLED: tuple[Section, ...] = ("volunteer", "awards", "certificates", "publications", "projects")
"""Sections whose entries have titles of many kinds of words."""
_VALUE = rf"[^,;:{TAKEN}()\n-]+?"
_TITLE = re.compile(rf"[{TAKEN}\s:]*(?P<title>{_VALUE})\s*,\s*\w")
_PAIR = re.compile(rf"[{TAKEN}\s:]*(?P<first>{_VALUE})\s*,\s*(?P<second>{_VALUE})\s*,")


def take_leading(canvas: Canvas, section: Section) -> JsonObject:
    """Take the values that begin a list behind the name of the section and a colon."""
    if section == "work":
        return _pair(canvas)
    match = _TITLE.match(canvas.text)
    if (
        match is None
        or section not in _TITLED
        or not _is_plain(canvas, section, *match.span("title"))
    ):
        return {}
    return _taken(canvas, {section_facts()[section].order[0]: match.span("title")})


def _pair(canvas: Canvas) -> JsonObject:
    """Take an employer and a position, if neither tells of the other as in "SRE at Google"."""
    match = _PAIR.match(canvas.text)
    if match is None or not _is_plain(canvas, "work", match.start("first"), match.end()):
        return {}
    if vocabulary().grammar.joins_values.search(match[0]):
        return {}
    look = vocabulary().sections["work"].looks["position"]
    names = ["name", "position"]
    if look.fullmatch(match["first"]) and not look.fullmatch(match["second"]):
        names.reverse()
    return _taken(
        canvas, dict(zip(names, (match.span("first"), match.span("second")), strict=True))
    )


def _is_plain(canvas: Canvas, section: Section, begin: int, stop: int) -> bool:
    """Tell whether values follow a colon and are neither dates nor named."""
    before = canvas.message.text[:begin].rstrip()
    dates = any(token.when for token in canvas.message.tokens_in(begin, stop))
    return before.endswith(":") and not dates and not find_labels(canvas.until(stop), section)


def _taken(canvas: Canvas, places: dict[str, tuple[int, int]]) -> JsonObject:
    values = {name: canvas.value(*place) for name, place in places.items()}
    for place in places.values():
        canvas.take(*place)
    return {**values}
