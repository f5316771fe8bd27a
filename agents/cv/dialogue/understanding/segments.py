"""The words of an entry that nothing marks: between commas, or side by side."""

import re
from collections.abc import Iterator

from mcp_tools.resume import field_kind

from .canvas import Canvas
from .fields import Fields, look_of
from .vocabulary import aliases, vocabulary
from .words import TAKEN

_PROSE_LENGTH = 6
"""From this many characters on, words without a field are taken as a description.

Where an entry has nothing but its title before the description, any Chinese word is one.
"""
_PLACE = re.compile(
    r"[A-Z][a-z'.-]+(?: (?:de|of|la|the)| [A-Z][a-z'.-]+(?<!Team)(?<!Platform)(?<!Division)){1,3}"
    r"|[A-Z][a-z'. -]{1,20}, ?[A-Z][A-Za-z. ]{1,20}"
)
"""Words that are written like the name of a place: "Los Gatos", "Austin, TX"."""
_PROSE_LEAD = re.compile(r"(?<![a-z])(?:an?|the|[a-z]+ed|built|led|made|wrote) $", re.IGNORECASE)


def take_segments(fields: Fields, canvas: Canvas) -> None:
    """Give the words that are left to the fields that they look like, the rest in order.

    No description stands before everything that has been understood: that is how people begin.
    """
    rest: list[tuple[int, int]] = []
    for begin, stop in _pieces(fields, canvas):
        name = look_of(fields, canvas.text[begin:stop])
        if name is None or not fields.put(name, canvas.value(begin, stop)):
            rest.append((begin, stop))
    if not rest and not fields.wanted:
        _part_glued(fields)
    asked = [name for name in fields.wanted if name in fields.facts.order]
    order = [*asked, *(fields.facts.order if asked or not fields.wanted else ())]
    taken = fields.data.keys() | fields.known
    free = iter([name for name in dict.fromkeys(order) if name not in taken])
    known_from = canvas.text.find(TAKEN)
    for begin, stop in rest:
        name = next(free, None) or fields.facts.prose
        if name == fields.facts.prose and begin < known_from:
            continue
        article = _PROSE_LEAD.search(canvas.text, 0, begin) if name == fields.facts.prose else None
        value = canvas.value(article.start() if article else begin, stop)
        follows = len(fields.facts.order) == 1 and _has_han(value)
        if name == fields.facts.prose and len(value) < (2 if follows else _PROSE_LENGTH):
            continue
        if name == fields.facts.prose and _names_place(fields, value):
            name = "location"
        if name and name in fields.data and name == fields.facts.prose:
            fields.data[name] = f"{fields.data[name]}; {value}"
        elif name and fields.put(name, value):
            fields.unmarked.add(name)


def _names_place(fields: Fields, value: str) -> bool:
    """Tell whether words that are left over look like a place, and the entry may have one."""
    free = field_kind(fields.section, "location") and "location" not in fields.data
    return bool(free) and _PLACE.fullmatch(value) is not None


def _part_glued(fields: Fields) -> None:
    """Part "豆瓣后端工程师" where words begin that can begin a position."""
    title, position = fields.facts.order[0], fields.data.get("position")
    if title in fields.data.keys() | fields.known or not isinstance(position, str):
        return
    glued = vocabulary().grammar.glued.fullmatch(position)
    if glued:
        fields.data |= {title: glued["title"], "position": glued["position"]}


def _pieces(fields: Fields, canvas: Canvas) -> Iterator[tuple[int, int]]:
    """Yield the segments; one of several words apart is split where the words look like fields."""
    for begin, stop in canvas.segments():
        words = [
            (begin + match.start(), begin + match.end())
            for match in re.finditer(r"\S+", canvas.text[begin:stop])
        ]
        texts = [canvas.text[b:s] for b, s in words]
        chinese = any(map(_has_han, texts))
        named = [look_of(fields, text) for text in texts]
        if len(words) > 1 and (all(map(_has_han, texts)) or (chinese and any(named))):
            yield from (t for b, s in words if (t := canvas.trimmed(b, s)))
        elif end := _end_of_title(fields, canvas, words):
            yield begin, end
            yield canvas.trimmed(end, stop) or (end, stop)
        else:
            yield begin, stop


def _end_of_title(fields: Fields, canvas: Canvas, words: list[tuple[int, int]]) -> int | None:
    """Return where the title ends in "KPMG auditor", if what follows looks like a field."""
    if fields.facts.order[0] in fields.data.keys() | fields.known:
        return None
    begin, stop = words[0][0], words[-1][1]
    for _, end in words[:-1]:
        title, rest = canvas.text[begin:end], canvas.text[end:stop].strip()
        if look_of(fields, rest) in fields.facts.order[1:] and _is_title(fields, title, rest):
            return end
    return None


def _is_title(fields: Fields, title: str, rest: str) -> bool:
    """Tell whether words are a title of their own: known, or capital before other words."""
    known = title.casefold() in aliases() and look_of(fields, title) == fields.facts.order[0]
    written = title.istitle() and rest.islower()
    ranked = vocabulary().grammar.ranked
    begins = " " in rest and ranked.match(rest) is not None and ranked.search(title) is None
    return known or written or begins


def _has_han(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
