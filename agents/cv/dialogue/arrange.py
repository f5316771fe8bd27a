"""Another order of entries, sections and lines: what a wish points at, and the calls for it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from mcp_tools.resume import JsonObject, Resume, Section, title_field

from .decision import Act, Ask, Outcome, Say, Step, ToolCall
from .pending import PendingEntry
from .plan import edit_call
from .resolve import Found, Several, recency, resolve
from .understanding.arranging import (
    Arrangement,
    Insertion,
    is_only_filler,
    only_names_line,
    understand_arrangement,
    without_filler,
    words_of_line,
)
from .understanding.canvas import Canvas
from .understanding.confidence import CERTAIN
from .understanding.message import Message, prepare
from .understanding.outline import Outline, Place
from .understanding.pointing import other_names, take_mentions, take_ordinals
from .understanding.recognition import Intent, Recognition, Target
from .understanding.sections import find_nouns

_ANY_DAY = date(2000, 1, 1)
"""Phrases that point at entries tell no dates of "last year"."""
_LIKE = 0.6
"""From this share of its words on a phrase may mean a line."""
_LINES = "highlights"
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-z\d][a-z\d+#.-]*[a-z\d+#]|[a-z\d]", re.IGNORECASE)
_ENDING = re.compile(r"(?<=\w{3})(?:ings?|ed|es|s|ion|ment|ers?)$")
_SMALL = frozenset(
    {
        "the",
        "section",
        "part",
        "a",
        "an",
        "my",
        "on",
        "of",
        "in",
        "to",
        "and",
        "for",
        "with",
        "about",
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line in the list of an entry."""

    place: Place
    index: int
    text: str

    @property
    def list_path(self) -> str:
        """The path of the list."""
        return f"{self.place.section}[{self.place.index}].{_LINES}"


@dataclass(frozen=True, slots=True)
class Nowhere:
    """Nothing that words could point at, or several things."""

    options: tuple[str, ...] = ()


Pointed = Section | Place | Line | Nowhere


def arrange(message: Message, resume: Resume, outline: Outline) -> tuple[Recognition, Step] | None:
    """Decide on a wish for another order; `None` if the message is none."""
    wish = understand_arrangement(message, outline)
    if wish is None:
        return None
    return _Arranger(message, resume, outline).done(wish)


def insert_at(
    insertion: Insertion, outcome: Outcome, resume: Resume, outline: Outline
) -> Outcome | None:
    """Return the outcome of an addition with its place beside another entry, if it has one."""
    arranger = _Arranger(prepare(insertion.rest, today=_ANY_DAY), resume, outline)
    top = outcome.pending[-1] if outcome.pending else None
    section = top.section if isinstance(top, PendingEntry) else outcome.recognition.section
    index = 0
    if insertion.other:
        beside = arranger.pointed(insertion.other, section)
        if not isinstance(beside, Place) or beside.section != section:
            return None
        index = beside.index + insertion.after
    decision = outcome.decision
    if isinstance(decision, Ask) and isinstance(top, PendingEntry):
        return replace(
            outcome, pending=(*outcome.pending[:-1], top.model_copy(update={"at": index}))
        )
    if not isinstance(decision, Act) or len(decision.calls) != 1:
        return None
    (call,) = decision.calls
    value = call.params.get("value")
    if call.params.get("action") != "add" or call.params.get("path") != section:
        return None
    items = value if isinstance(value, list) else [value]
    calls = tuple(
        edit_call(f"{section}[{index + offset}]", "add", item) for offset, item in enumerate(items)
    )
    return replace(outcome, decision=Act(calls))


class _Arranger:
    def __init__(self, message: Message, resume: Resume, outline: Outline) -> None:
        self._message = message
        self._resume = resume
        self._outline = outline

    def done(self, wish: Arrangement) -> tuple[Recognition, Step] | None:
        if wish.act == "order":
            return self._in_order(wish)
        if wish.act == "sort":
            return self._sorted(wish)
        if wish.act == "swap" and (lines := self._two_lines(wish)):
            return self._line(wish, *lines)
        hint = self._section_of(wish.other) or self._section_of(wish.what)
        of_lines = wish.act in ("replace", "delete")
        what = self._pointed_line(wish.what) if of_lines else self.pointed(wish.what, hint)
        if what is None:
            return None
        if isinstance(what, Nowhere):
            return _asked(what)
        if isinstance(what, Line):
            return self._line(wish, what)
        if wish.act == "copy":
            return self._copied(what) if isinstance(what, Place) else None
        if isinstance(what, Place):
            return self._entry(wish, what)
        if wish.act == "reverse":
            return self._reversed(what)
        return self._section(wish, what)

    def pointed(self, words: str, hint: Section | None) -> Pointed:
        """Return what words point at: a section, an entry, or a line of one."""
        if line := self._pointed_line(words):
            return line
        canvas = Canvas(prepare(without_filler(words), today=_ANY_DAY))
        names = take_mentions(canvas, self._outline.without_focus())
        names = names or take_mentions(canvas, self._outline)
        nouns = find_nouns(canvas)
        target = replace(take_ordinals(canvas), names=names)
        for noun in nouns:
            canvas.take(noun.begin, noun.stop)
        section = nouns[0].section if nouns else None
        if not target:
            rest = other_names(canvas)
            known = tuple(name for name in rest if self._outline.find(name))
            if not known:
                return section if section and not rest and section != "basics" else Nowhere()
            target = Target(names=known)
        elif any(name.casefold() not in _SMALL for name in other_names(canvas)):
            return Nowhere()
        found = resolve(self._resume, self._outline, section or hint, target)
        if not isinstance(found, Found) and section is None:
            found = resolve(self._resume, self._outline, None, target)
        match found:
            case Found((place,)):
                return place
            case _ if target.every:
                return Nowhere()
            case Found(places) | Several(places):
                return Nowhere(tuple(f"{place.section}[{place.index}]" for place in places))
        return Nowhere()

    def _section_of(self, words: str) -> Section | None:
        """Return the section that words name, or that of the entry that they name."""
        if not words:
            return None
        nouns = find_nouns(Canvas(prepare(words, today=_ANY_DAY)))
        mentioned = self._outline.mentions(words)
        if nouns:
            return nouns[0].section
        return mentioned[0].place.section if mentioned else None

    # Lines

    def _lines(self) -> Iterator[Line]:
        for place, _ in self._outline.places():
            found = self._resume.entries(place.section)[place.index].get(_LINES)
            for index, text in enumerate(found if isinstance(found, list) else []):
                yield Line(place, index, str(text))

    def _pointed_line(self, words: str) -> Line | Nowhere | None:
        lines = [*self._lines()]
        canvas = Canvas(prepare(words, today=_ANY_DAY))
        names = take_mentions(canvas, self._outline)
        entries = {place for name in names for place in self._outline.find(name)}
        if entries:
            lines = [line for line in lines if line.place in entries]
        ordinals = take_ordinals(canvas).ordinals
        counts = only_names_line(canvas.text) or (len(entries) == 1 and is_only_filler(canvas.text))
        if ordinals and lines and counts:
            places = {line.place for line in lines}
            focused = self._outline.focused
            if len(places) > 1 and focused in places:
                lines = [line for line in lines if line.place == focused]
            elif len(places) > 1:
                return None
            counted = [
                line for line in lines if {line.index, line.index - len(lines)} & {*ordinals}
            ]
            return counted[0] if len(counted) == 1 else None
        named = words_of_line(canvas.value(0, len(canvas.text)) if not entries else _rest(canvas))
        if named is None or self._outline.find(named):
            return None
        fits = [(_likeness(named, line.text), line) for line in lines]
        best = max((fit for fit, _ in fits), default=0.0)
        found = [line for fit, line in fits if fit == best and best >= _LIKE]
        if len(found) == 1:
            return found[0]
        return (
            Nowhere(tuple(f"{line.list_path}[{line.index}]" for line in found)) if found else None
        )

    def _two_lines(self, wish: Arrangement) -> tuple[Line, Line] | None:
        """Return the lines of a swap, of which one may be but a number: "the first and third"."""
        one, other = self._pointed_line(wish.what), self._pointed_line(wish.other)
        if isinstance(one, Line):
            other = self._counted_line(wish.other, one.place) or other
        elif isinstance(other, Line):
            one = self._counted_line(wish.what, other.place)
        return (one, other) if isinstance(one, Line) and isinstance(other, Line) else None

    def _counted_line(self, words: str, place: Place) -> Line | None:
        """Return the line of an entry that words point at by nothing but its number."""
        canvas = Canvas(prepare(words, today=_ANY_DAY))
        ordinals = take_ordinals(canvas).ordinals
        if len(ordinals) != 1 or not (is_only_filler(canvas.text) or only_names_line(canvas.text)):
            return None
        lines = [line for line in self._lines() if line.place == place]
        found = [line for line in lines if ordinals[0] in (line.index, line.index - len(lines))]
        return found[0] if found else None

    def _line(
        self, wish: Arrangement, line: Line, beside_line: Line | None = None
    ) -> tuple[Recognition, Step] | None:
        path = f"{line.list_path}[{line.index}]"
        section = line.place.section
        if wish.act == "replace":
            return _acts(section, [edit_call(path, "update", wish.text)])
        if wish.act == "delete":
            return _acts(section, [edit_call(path, "delete")], Intent.DELETE)
        count = sum(other.place == line.place for other in self._lines())
        other = beside_line or (self.pointed(wish.other, section) if wish.other else None)
        if not isinstance(other, Line):
            other = self._counted_line(wish.other, line.place)
        beside = other.index if other and other.place == line.place else None
        index = _new_index(wish, line.index, count, beside)
        if index is None:
            return None
        if wish.act == "swap":
            order = _swapped(count, line.index, index)
            return _acts(section, [edit_call(line.list_path, "move", [*order])])
        return _moved(section, path, line.index, index)

    # Entries

    def _entry(self, wish: Arrangement, place: Place) -> tuple[Recognition, Step] | None:
        section = place.section
        count = len(self._resume.entries(section))
        other = self.pointed(wish.other, section) if wish.other else None
        if isinstance(other, Nowhere) and other.options:
            return _asked(other)
        beside = other.index if isinstance(other, Place) and other.section == section else None
        index = _new_index(wish, place.index, count, beside)
        if index is None:
            return None
        if wish.act == "swap":
            order = _swapped(count, place.index, index)
            return _acts(section, [edit_call(section, "move", [*order])])
        return _moved(section, f"{section}[{place.index}]", place.index, index)

    def _copied(self, place: Place) -> tuple[Recognition, Step]:
        entry: JsonObject = self._resume.entries(place.section)[place.index]
        call = edit_call(f"{place.section}[{place.index + 1}]", "add", entry)
        return _acts(place.section, [call], Intent.ADD)

    def _sorted(self, wish: Arrangement) -> tuple[Recognition, Step] | None:
        focus = self._outline.focus.section if self._outline.focus else "work"
        what = self.pointed(wish.what, None) if wish.what else focus
        if not isinstance(what, str) or what == "basics":
            return None
        entries = self._resume.entries(what)
        if wish.by_name:
            title = title_field(what) or "name"
            order = sorted(
                range(len(entries)), key=lambda index: str(entries[index].get(title)).casefold()
            )
        else:
            order = sorted(
                range(len(entries)),
                key=lambda index: recency(self._resume, Place(what, index)),
                reverse=not wish.ascending,
            )
        return _reordered(what, order)

    def _reversed(self, section: Section) -> tuple[Recognition, Step] | None:
        """Turn the entries of a section round."""
        count = len(self._resume.entries(section))
        return _reordered(section, [*reversed(range(count))]) if count > 1 else None

    # Sections

    def _shown(self) -> list[Section]:
        return [section for section in self._resume.order if self._resume.entries(section)]

    def _section(self, wish: Arrangement, section: Section) -> tuple[Recognition, Step] | None:
        shown = self._shown()
        if wish.act == "swap" and not wish.other:
            count = len(self._resume.entries(section))
            return _reordered(section, [1, 0]) if count == 2 else None
        if section not in shown:
            return _said(section, Ask("empty_section"))
        other = self.pointed(wish.other, None) if wish.other else None
        beside = shown.index(other) if isinstance(other, str) and other in shown else None
        index = _new_index(wish, shown.index(section), len(shown), beside)
        if index is None:
            return None
        if wish.act == "swap":
            order = [shown[number] for number in _swapped(len(shown), shown.index(section), index)]
            return _acts(section, _section_moves(shown, order))
        return _acts(section, [edit_call(section, "move", index)])

    def _in_order(self, wish: Arrangement) -> tuple[Recognition, Step] | None:
        """Put the sections, or the entries of one, into an order that is listed."""
        hint = self._section_of(wish.what)
        found = [self.pointed(words, hint) for words in wish.listed]
        sections = [one for one in found if isinstance(one, str)]
        places = [one for one in found if isinstance(one, Place)]
        if len(found) < 2 or len({*found}) != len(found):
            return None
        if len(sections) == len(found):
            shown = self._shown()
            order = [*(name for name in sections if name in shown)]
            calls = _section_moves(shown, [*order, *(name for name in shown if name not in order)])
            if not calls and order:
                calls = [edit_call(order[0], "move", 0)]
            return _acts(sections[0], calls) if calls else None
        if len(places) == len(found) and len({place.section for place in places}) == 1:
            first = [place.index for place in places]
            section = places[0].section
            rest = [i for i in range(len(self._resume.entries(section))) if i not in first]
            return _reordered(section, [*first, *rest])
        return None


def _new_index(wish: Arrangement, index: int, count: int, beside: int | None) -> int | None:
    """Return where something goes, or for a swap with what it changes places."""
    match wish.act:
        case "first":
            return 0
        case "last":
            return count - 1
        case "up":
            return max(index - 1, 0)
        case "down":
            return min(index + 1, count - 1)
        case "nth":
            return min(wish.number, count) - 1
        case "swap":
            return beside if beside != index else None
        case "before" | "after" if beside is not None and beside != index:
            return beside + (wish.act == "after") - (index < beside)
    return None


def _swapped(count: int, one: int, other: int) -> list[int]:
    order = [*range(count)]
    order[one], order[other] = other, one
    return order


def _section_moves(shown: Sequence[Section], order: Sequence[Section]) -> list[ToolCall]:
    """Return the calls that lead from one order of sections to another."""
    now, calls = [*shown], []
    for index, section in enumerate(order):
        if now[index] != section:
            now.remove(section)
            now.insert(index, section)
            calls.append(edit_call(section, "move", index))
    return calls


def _reordered(section: Section, order: list[int]) -> tuple[Recognition, Step]:
    if order == [*range(len(order))]:
        return _said(section, Say("in_order"))
    return _acts(section, [edit_call(section, "move", [*order])])


def _moved(section: Section, path: str, before: int, index: int) -> tuple[Recognition, Step]:
    if index == before:
        return _said(section, Say("in_order"))
    return _acts(section, [edit_call(path, "move", index)])


def _acts(
    section: Section, calls: Sequence[ToolCall], intent: Intent = Intent.UPDATE
) -> tuple[Recognition, Step]:
    said = Recognition(intent=intent, section=section, confidence=CERTAIN)
    return said, Step(Act(tuple(calls)), ())


def _said(section: Section, decision: Ask | Say) -> tuple[Recognition, Step]:
    said = Recognition(intent=Intent.UPDATE, section=section, confidence=CERTAIN)
    return said, Step(decision, ())


def _asked(nowhere: Nowhere) -> tuple[Recognition, Step] | None:
    """Ask which of several is meant; nothing that is there is no wish for another order."""
    if not nowhere.options:
        return None
    said = Recognition(intent=Intent.UPDATE, confidence=CERTAIN)
    return said, Step(Ask("which_entry", {"options": nowhere.options}), ())


def _rest(canvas: Canvas) -> str:
    """Return what is left of a phrase once the names of entries are taken."""
    return " ".join(canvas.value(*segment) for segment in canvas.segments())


def _likeness(words: str, text: str) -> float:
    """Return the share of some words that a line has, from 0 to 1."""
    folded = text.casefold()
    small = [word.casefold() for word in _WORD.findall(words) if word.casefold() not in _SMALL]
    han = _HAN.findall(words)
    hits = [_ENDING.sub("", word) in folded for word in small]
    hits += [character in text for character in han]
    return sum(hits) / len(hits) if hits else 0.0
