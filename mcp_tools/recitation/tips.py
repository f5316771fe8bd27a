"""Tips that a child can do something with: what was missed after what, which word it is."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from .compare import Mistake
from .language import Language
from .units import Line, joined, lines_of, parts_of

MAX_TIPS = 4

_LONGEST_QUOTE: Mapping[Language, int] = {"zh": 16, "en": 60}
"""In characters; of a text without punctuation, the line is all of it."""
_HEAD = 2
"""Number of units by which a line is identified."""
_FEET: Mapping[int, Sequence[int]] = {5: (0, 2, 5), 7: (0, 2, 4, 7)}
"""Boundaries of words in a classical verse, by the number of its characters."""


def memory_tips(
    errors: Sequence[Mistake], expected_text: str, language: Language | None = None
) -> list[str]:
    """At most `MAX_TIPS` tips, for the costliest mistakes first; none if there are no mistakes.

    Args:
        errors: As `compare` has found them in this text.
        expected_text: The text to recite.
        language: Of the tips; detected from the text if not given.

    Raises:
        TextTooLongError: the text is too long to be compared.
    """
    parts = parts_of(expected_text)
    lines = lines_of(expected_text, parts.language)
    text = _Text(parts.spelled().units, lines, language or parts.language)
    if not errors or not text.lines:
        return []
    tips: dict[str, None] = {}
    missing = sum(error.cost for error in errors if error.type == "missing")
    if 2 * missing > len(text.units) and len(text.lines) > 1:
        tips[text.told("start_small", text.lines[0], next=text.quoted(text.lines[1]))] = None
    for error in sorted(errors, key=lambda error: -error.cost):
        if len(tips) == MAX_TIPS:
            break
        tips[text.tip(error)] = None
    return list(tips)


class _Text:
    def __init__(self, units: Sequence[str], lines: Sequence[Line], language: Language) -> None:
        self.units, self.lines, self._language = units, lines, language
        self._ends = [line.end for line in lines]

    def tip(self, error: Mistake) -> str:
        line = self._line_at(error.position)
        details = {"expected": error.expected, "actual": error.actual}
        match error.type:
            case "missing":
                return self._missing(error)
            case "swapped":
                return self._swapped(error)
            case "extra":
                at_end = error.position >= len(self.units)
                return self.told("extra_at_end" if at_end else "extra", line, **details)
            case "homophone":
                return self.told("homophone", line, word=self._word(error, line), **details)
            case "wrong":
                return self.told("wrong", line, **details)

    def told(self, template: str, line: Line, **details: object) -> str:
        head = joined(self.units[line.start : min(line.end, line.start + _HEAD)])
        return _templates()[self._language][template].format(
            line=self.quoted(line), head=head, **details
        )

    def quoted(self, line: Line) -> str:
        longest = _LONGEST_QUOTE[self._language]
        return line.text if len(line.text) <= longest else line.text[:longest].rstrip() + "…"

    def _missing(self, error: Mistake) -> str:
        end = error.position + round(error.cost)
        whole = [line for line in self.lines if error.position <= line.start and line.end <= end]
        if not whole:
            line = self._line_at(error.position)
            return self.told("missing_words", line, expected=error.expected)
        if whole[0].start == 0:
            return self.told("missing_first_line", whole[0])
        before = self.quoted(self._line_at(whole[0].start - 1))
        if len(whole) == 1:
            return self.told("missing_line", whole[0], before=before)
        return self.told("missing_lines", whole[0], before=before, count=len(whole))

    def _swapped(self, error: Mistake) -> str:
        first = self._line_at(error.position)
        for second in self._lines_after(first):
            words = joined(self.units[second.start : second.end])
            if error.position == first.start and error.actual.startswith(words):
                quotes = {"first": self.quoted(first), "second": self.quoted(second)}
                return self.told("swapped_lines", first, **quotes)
        details = {"expected": error.expected, "actual": error.actual}
        return self.told("swapped_words", first, **details)

    def _word(self, error: Mistake, line: Line) -> str:
        """The word that a homophone is in: a foot of the verse, else it with its neighbours."""
        start, end = error.position, error.position + round(2 * error.cost)
        feet = _FEET.get(line.end - line.start, ()) if self._language == "zh" else ()
        if feet:
            bounds = [line.start + foot for foot in feet]
            start = max(bound for bound in bounds if bound <= start)
            end = min((bound for bound in bounds if bound >= end), default=end)
        elif end < line.end:
            end += 1
        else:
            start = max(line.start, start - 1)
        return joined(self.units[start:end])

    def _line_at(self, position: int) -> Line:
        found = bisect_right(self._ends, position)
        return self.lines[min(found, len(self.lines) - 1)]

    def _lines_after(self, line: Line) -> Iterator[Line]:
        return (other for other in self.lines if other.start >= line.end)


@cache
def _templates() -> Mapping[Language, Mapping[str, str]]:
    file = Path(__file__).with_name("tips.yaml")
    templates: Mapping[Language, Mapping[str, str]] = yaml.safe_load(
        file.read_text(encoding="utf-8")
    )
    return templates
