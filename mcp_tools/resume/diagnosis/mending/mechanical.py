"""Drafts that need no answer: what to do follows from the resume alone."""

from collections.abc import Sequence
from datetime import date

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Entry, Reading
from mcp_tools.resume.diagnosis.rules.order import newest_first
from mcp_tools.resume.diagnosis.rules.spelling import corrected
from mcp_tools.resume.document import Resume, Section
from mcp_tools.resume.path import Path

from .edits import ProposedEdit, replaced, text_at


def order_draft(section: Section, resume: Resume, today: date) -> list[ProposedEdit]:
    """Move entries until the newest stand first; those without clear dates keep their places."""
    reading = Reading.of(resume, today=today)
    entries = reading.filled(section)
    sorted_entries = newest_first(entries, reading.now)
    places = sorted(entry.index for entry in sorted_entries)
    wanted = dict(zip(places, sorted_entries, strict=True))
    standing: list[Entry] = list(reading.entries(section))
    edits: list[ProposedEdit] = []
    for place, entry in wanted.items():
        at = next(n for n, other in enumerate(standing) if other.index == entry.index)
        if at != place:
            standing.insert(place, standing.pop(at))
            edits += [
                ProposedEdit(path=f"{section}[{at}]", action="delete"),
                ProposedEdit(path=f"{section}[{place}]", action="add", value=entry.content),
            ]
    return edits


def duplicate_draft(defects: Sequence[Defect]) -> list[ProposedEdit]:
    """Remove repeated values, the last first so that no index changes."""
    places = {Path.parse(str(defect.detail["path"])) for defect in defects}
    last_first = sorted(places, key=lambda place: [str(s).zfill(6) for s in place.steps])[::-1]
    return [ProposedEdit(path=str(place), action="delete") for place in last_first]


def spelling_draft(defects: Sequence[Defect], resume: Resume) -> list[ProposedEdit]:
    """Put every text right in which something is written wrongly."""
    paths = dict.fromkeys(str(defect.detail["path"]) for defect in defects)
    return [
        ProposedEdit(path=path, action="update", value=corrected(text_at(resume, path)))
        for path in paths
    ]


def tense_draft(defects: Sequence[Defect], resume: Resume) -> list[ProposedEdit]:
    """Put the verbs that lines begin with in the past."""
    lines = [line for defect in defects for line in _lines(defect)]
    return replaced(resume, [(line["path"], line["line"], line["better"]) for line in lines])


def _lines(defect: Defect) -> list[dict[str, str]]:
    found = defect.detail.get("lines")
    lines = [line for line in found if isinstance(line, dict)] if isinstance(found, list) else []
    return [{key: str(value) for key, value in line.items()} for line in lines]
