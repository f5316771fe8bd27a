"""Content of an entry's lines: duties or achievements, with or without measured results."""

from collections.abc import Iterator

from mcp_tools.resume.diagnosis.defects import Defect, Severity
from mcp_tools.resume.diagnosis.measures import measures
from mcp_tools.resume.diagnosis.reading import Entry, Line, Reading, length
from mcp_tools.resume.diagnosis.vocabulary import words

_WORTH_MEASURING = {"en": 12, "zh": 20}
"""In words of English or characters of Chinese; a shorter entry has another defect."""
_LONG_AGO = 10 * 12
"""Age in months from which figures are not requested."""


def no_metrics(reading: Reading) -> Iterator[Defect]:
    """Find jobs and projects that tell something, but no number that measures anything."""
    for section in ("work", "projects"):
        for entry in reading.filled(section):
            told = length(entry.prose) >= _WORTH_MEASURING[reading.language]
            if told and not _is_old(entry, reading) and not measures(entry.prose):
                severity: Severity = "medium" if section == "work" else "low"
                yield Defect(
                    kind="no_metrics", section=section, entry=entry.index, severity=severity
                )


def weak_verbs(reading: Reading) -> Iterator[Defect]:
    """Find lines that begin with a duty: "Responsible for …", "参与…".

    Where there are highlights, the sentences around them may say what the duty was.
    """
    for section in ("work", "volunteer", "projects"):
        for entry in reading.filled(section):
            for line in _deeds(entry):
                if opening := weak_opening(line.text):
                    yield Defect(
                        kind="weak_verbs",
                        section=section,
                        entry=entry.index,
                        detail={"path": line.path, "line": line.text, "opening": opening},
                        severity="medium" if section == "work" else "low",
                    )


def weak_opening(line: str) -> str:
    """Return the weak words that a line begins with; "" if it does not, or has a result."""
    found = words().weak_opening.match(line)
    if found is None:
        return ""
    excused = words().excused
    has_result = excused.opening.match(line) and excused.result.search(line) and measures(line)
    return "" if has_result else found[0].strip()


def _deeds(entry: Entry) -> Iterator[Line]:
    has_highlights = bool(entry.texts("highlights"))
    return (line for line in entry.lines if line.field == "highlights" or not has_highlights)


def _is_old(entry: Entry, reading: Reading) -> bool:
    return entry.end is not None and entry.end.last < reading.now.first - _LONG_AGO
