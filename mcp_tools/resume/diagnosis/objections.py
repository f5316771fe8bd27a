"""What a model objects to, as defects: only words that do stand in the resume, where they stand."""

import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from mcp_tools.resume.access import find
from mcp_tools.resume.document import Resume
from mcp_tools.resume.errors import ResumeError
from mcp_tools.resume.path import Path

from .defects import Defect, Kind
from .reading import statements

_FIELDS = ("highlights", "summary", "description")
"""The fields whose words a person would say in another way; not names, titles or dates."""
_END = "。.;；"
"""What stays where it is when a sentence is replaced."""
_OF_LETTERS: frozenset[Kind] = frozenset({"spelling", "inconsistent_tense"})
"""Kinds that say nothing of what a line tells."""


def objection(resume: Resume, path: str, quotation: str) -> Defect | None:
    """Return the defect that a quotation stands for; None if it does not stand in that entry.

    Args:
        path: Where it is said to stand: an entry, or a place in it.
        quotation: Its words; white space may differ. The defect is of the whole statement.
    """
    try:
        place = Path.parse(path)
        exists = find(resume.to_json(), place) is not None
    except ResumeError:
        return None
    entry = place.steps[1] if len(place.steps) > 1 else None
    is_entry = place.section == "basics" or isinstance(entry, int)
    if not exists or not is_entry or not any(map(str.isalnum, quotation)):
        return None
    holder = Path(place.steps[: 1 if place.section == "basics" else 2])
    texts = [*_texts(resume, holder)]
    for where, text in sorted(texts, key=lambda one: one[0] != place):
        if line := _statement(where, text, quotation):
            return Defect(
                kind="content",
                section=place.section,
                entry=entry if isinstance(entry, int) else None,
                detail={"path": str(where), "line": line},
            )
    return None


def is_known(new: Defect, defects: Iterable[Defect]) -> bool:
    """Tell whether defects that rules have found are about the same words."""
    line = str(new.detail["line"])
    return any(
        path == new.detail["path"] and (known in line or line in known)
        for defect in defects
        if defect.kind not in _OF_LETTERS
        for path, known in _places(defect)
    )


def _texts(resume: Resume, holder: Path) -> Iterator[tuple[Path, str]]:
    for name in _FIELDS:
        value = find(resume.to_json(), holder / name)
        for number, item in enumerate(value if isinstance(value, list) else []):
            if isinstance(item, str):
                yield holder / name / number, item
        if isinstance(value, str):
            yield holder / name, value


def _statement(where: Path, text: str, quotation: str) -> str:
    """Return the statements of a text that hold a quotation, without the last one's end; "" if it
    is not there.
    """
    found = re.search(r"\s+".join(map(re.escape, quotation.split())), text)
    if found is None:
        return ""
    begin, end = found.span()
    whole = isinstance(where.steps[-1], int)
    position = 0
    for one in statements(str(where), str(where.steps[-1]), text, whole=whole):
        starts = text.index(one.text, position)
        position = starts + len(one.text)
        if starts < found.end() and found.start() < position:
            begin, end = min(begin, starts), max(end, position)
    return text[begin:end] if whole else text[begin:end].rstrip(_END)


def _places(defect: Defect) -> Iterator[tuple[JsonValue, str]]:
    """Yield the places that a defect names, and what it names there; "" for all of the text."""
    lines = defect.detail.get("lines")
    for one in (defect.detail, *(lines if isinstance(lines, list) else ())):
        if isinstance(one, dict) and "path" in one:
            yield one["path"], str(one.get("line") or "")
