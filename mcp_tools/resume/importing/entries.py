"""A section's lines in entries: where each begins, what is its head and what its body."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from .heads import is_place, is_role, pieces, take_url
from .lines import Line, display_width
from .spans import Dated, Span, find_span
from .vocabulary import labelled_fields, vocabulary

_LABEL = re.compile(r"([^:：\t|]{1,32}?)\s*[:：]\s*(.*)", re.DOTALL)
_SENTENCE = re.compile(r"[。；！]|[.;!]\s*$|(?<=[a-z]{4})[.!]\s+[A-Z]")
_ABBREVIATED = re.compile(
    r"(?:\b[A-Z]|inc|ltd|co|corp|s\.a|jr|sr|etc|ph\.d|b\.sc|m\.sc|sc|eng|dept|hons)\.\s*$",
    re.IGNORECASE,
)
_FACTS = re.compile(r"\t|\s*[|｜]\s*|\s+(?=[^\s:：]{2,10}[:：])")
_MOST_HEAD_LINES = 4


@dataclass
class Group:
    """One entry as it was written: the lines of its head without their time, and its body."""

    head: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    span: Span | None = None
    body: list[Line] = field(default_factory=list)
    styled: str = ""

    def size(self, wanted: int) -> int:
        """Return how many facts the head names already, places aside."""
        found = [piece for text in self.head for piece in pieces(text, wanted)]
        return sum(not is_place(piece) for piece in found) + len(self.labels)


def label_of(text: str, section: str) -> tuple[str, str] | None:
    """Split "Role: lead" into the field of the label and the value."""
    match = _LABEL.fullmatch(text)
    if match is None:
        return None
    name = match[1].strip(" 【】[]*•·").lower().replace(" ", "")
    spaced = match[1].strip(" 【】[]*•·").lower()
    fields = labelled_fields(section)
    found = fields.get(spaced) or fields.get(name)
    return (found, match[2].strip()) if found else None


def is_phrase(text: str) -> bool:
    """Tell whether a text is short and no sentence."""
    is_sentence = _SENTENCE.search(text) and not _ABBREVIATED.search(text)
    return display_width(text) <= 110 and not is_sentence


def is_short(text: str) -> bool:
    """Tell whether a text could stand in an entry's head: no sentence, no report of a deed."""
    if not is_phrase(text):
        return False
    first = text.lower().split(" ", 1)[0]
    return first not in vocabulary().actions and not _begins_with_deed(text)


def _begins_with_deed(text: str) -> bool:
    return text.startswith(_chinese_actions()) and display_width(text) > 16


@cache
def _chinese_actions() -> tuple[str, ...]:
    return tuple(word for word in vocabulary().actions if not word.isascii() and len(word) > 1)


def groups(lines: Sequence[Line], section: str, *, title: str, wanted: int) -> list[Group]:
    """Split a section into its entries; `title` is the field that names an entry.

    Lines before the first head come as a group without one.
    """
    if all(line.bullet for line in lines):
        lines = [line._replace(bullet=False, style="bulleted") for line in lines]
    return _Grouper(lines, section, title, wanted).groups()


class _Grouper:
    def __init__(self, lines: Sequence[Line], section: str, title: str, wanted: int) -> None:
        self._lines = lines
        self._section = section
        self._title = title
        self._wanted = wanted
        self._groups: list[Group] = []
        self._has_dates = any(self._dated(line) for line in lines)
        self._lead = self._lead_style()
        self._above = self._lines_above_date()

    def groups(self) -> list[Group]:
        for index, line in enumerate(self._lines):
            dated = self._dated(line)
            label = None if line.bullet else label_of(line.text, self._section)
            if label and label[0] != "dates":
                self._labelled(line, label)
            elif dated and self._opens_by_date(line):
                above = [] if self._lead and line.style == self._lead else self._take_above(dated)
                self._begin(line, dated, taken=above)
            elif self._opens_by_look(line, index):
                self._begin(line, dated, taken=[])
            elif self._groups and self._in_head(line):
                self._add_to_head(line, dated)
            else:
                self._add_to_body(line)
        return self._groups

    def _dated(self, line: Line) -> Dated | None:
        if line.bullet:
            return None
        label = label_of(line.text, self._section)
        text = label[1] if label and label[0] == "dates" else line.text
        if label and label[0] != "dates":
            return None
        found = find_span(text)
        return found if found and is_phrase(found.rest) else None

    def _lead_style(self) -> str:
        first = self._lines[0] if self._lines else Line("")
        return first.style if not first.bullet and is_short(first.text) else ""

    def _lines_above_date(self) -> int:
        for index, line in enumerate(self._lines):
            if self._dated(line):
                return index if index < _MOST_HEAD_LINES else 0
            if line.bullet or not is_short(line.text):
                return 0
        return 0

    def _fresh(self) -> bool:
        """Return whether the last entry so far has only a head without a time."""
        return bool(self._groups) and not self._groups[-1].body and self._groups[-1].span is None

    def _opens_by_date(self, line: Line) -> bool:
        if self._fresh():
            return False
        return not (self._lead and self._below_styled_head(line))

    def _below_styled_head(self, line: Line) -> bool:
        if not self._groups or line.style == self._lead:
            return False
        return not self._groups[-1].body and self._groups[-1].span is None

    def _opens_by_look(self, line: Line, index: int) -> bool:
        if line.bullet or not is_short(line.text):
            return False
        if not self._groups:
            return True
        last = self._groups[-1]
        if self._lead and line.style == self._lead:
            if last.body or self._lead.startswith(("#", "bulleted")):
                return True
            return last.span is not None and last.size(self._wanted) >= self._wanted
        if self._lead or self._has_dates:
            return False
        before = self._lines[index - 1]
        followed = index + 1 < len(self._lines) and self._lines[index + 1].bullet
        return bool(last.body) and before.bullet and (line.gap or followed)

    def _take_above(self, dated: Dated) -> list[Line]:
        """Take back the lines above a date that belong to its head, not to the body before."""
        taken: list[Line] = []
        body = self._groups[-1].body if self._groups else []
        lacking = self._wanted - len(pieces(dated.rest, self._wanted)) if dated.rest else 1
        while body and len(taken) < max(self._above, min(lacking, 1)):
            last = body[-1]
            if last.bullet or not is_short(last.text) or label_of(last.text, self._section):
                break
            if take_url(last.text)[1]:
                break
            taken.insert(0, body.pop())
            if last.gap:
                break
        return taken

    def _begin(self, line: Line, dated: Dated | None, taken: list[Line]) -> None:
        group = Group(styled=line.style)
        if self._inherits(line, dated, taken):
            group.head.append(self._groups[-1].head[0])
        self._groups.append(group)
        group.head += [each.text for each in taken]
        self._add_to_head(line, dated)

    def _inherits(self, line: Line, dated: Dated | None, taken: list[Line]) -> bool:
        """Return whether this is another role under the last entry's heading."""
        if not (self._groups and self._lead and dated and dated.rest) or taken:
            return False
        last = self._groups[-1]
        ranked = last.styled == self._lead and line.style != self._lead and bool(self._lead)
        named_by_heading = len(last.head) > 1 and len(pieces(last.head[0], 1)) == 1
        return ranked and named_by_heading and len(pieces(dated.rest, 1)) == 1

    def _in_head(self, line: Line) -> bool:
        last = self._groups[-1]
        if line.bullet or last.body or len(last.head) >= _MOST_HEAD_LINES:
            return False
        if self._dated(line) and last.span is None:
            return True
        if not is_short(line.text) or (line.gap and last.span is not None and not last.styled):
            return False
        if last.span is None and len(last.head) < self._above:
            return True
        missing = last.size(self._wanted) < self._wanted
        roles = self._section == "projects" and len(last.head) == 1 and is_role(line.text)
        return ((missing or roles) and display_width(line.text) <= 90) or is_place(line.text)

    def _add_to_head(self, line: Line, dated: Dated | None) -> None:
        group = self._groups[-1]
        if dated and group.span is None:
            group.span = dated.span
        text = dated.rest if dated else line.text
        parts = [part for part in _FACTS.split(text) if part.strip()]
        if not any(label_of(part, self._section) for part in parts):
            parts = [text] if text else []
        for part in parts:
            self._add_fact(part)

    def _add_to_body(self, line: Line) -> None:
        if not self._groups:
            self._groups.append(Group())
        self._groups[-1].body.append(line)

    def _labelled(self, line: Line, label: tuple[str, str]) -> None:
        name, value = label
        last = self._groups[-1] if self._groups else None
        if name == self._title and (
            last is None or name in last.labels or last.body or last.size(1)
        ):
            self._groups.append(Group())
        if not self._groups or not self._is_fact(name):
            self._add_to_body(line)
            return
        self._add_labels(name, value)

    def _is_fact(self, name: str) -> bool:
        return name in (self._title, "position", "name", "area", "studyType", "location", "entity")

    def _add_labels(self, name: str, value: str) -> None:
        group = self._groups[-1]
        dated = find_span(value) if group.span is None else None
        group.span = dated.span if dated else group.span
        first, *others = _FACTS.split(dated.rest if dated else value)
        group.labels.setdefault(name, first)
        for other in others:
            self._add_fact(other)

    def _add_fact(self, text: str) -> None:
        label = label_of(text, self._section)
        if label is None:
            self._groups[-1].head.append(text)
        elif label[0] != "dates":
            self._groups[-1].labels.setdefault(*label)
