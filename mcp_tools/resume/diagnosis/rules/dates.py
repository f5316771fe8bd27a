"""Dates that are missing, and dates that cannot be."""

from collections.abc import Iterator

from mcp_tools.resume.diagnosis.defects import Defect, Severity
from mcp_tools.resume.diagnosis.months import Months, WrittenDate, written_date
from mcp_tools.resume.diagnosis.reading import LASTING, Entry, Reading
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.document import Section

_LONGEST_STUDY = 8 * 12
"""Months from now; a course that began before has ended, one that ends later is a slip."""
_SOON = 12
"""Months from now, for what is announced."""
_YOUNGEST_WORKER = 14 * 12
_LONGEST_LIFE_AT_WORK = 70 * 12
_SINGLE_DATES: dict[Section, str] = {
    "awards": "date",
    "certificates": "date",
    "publications": "releaseDate",
}


def missing_dates(reading: Reading) -> Iterator[Defect]:
    """Find jobs and studies without dates, and others where their neighbours have some."""
    for section in LASTING:
        entries = reading.filled(section)
        dated = any(entry.start or entry.end for entry in entries)
        begun = [entry.start.first for entry in entries if entry.start and not _is_lasting(entry)]
        latest = max(begun, default=0)
        for entry in entries:
            if fields := _missing(entry, reading, latest, others_have_dates=dated):
                severity: Severity = "high" if section == "work" else "medium"
                yield _defect("missing_dates", entry, severity, fields=fields)


def _missing(entry: Entry, reading: Reading, latest: int, *, others_have_dates: bool) -> list[str]:
    if entry.section == "education":
        if entry.start is None and entry.end is None:
            return ["startDate", "endDate"]
        return ["endDate"] if _study_has_no_end(entry, reading) else []
    if entry.section != "work" and not others_have_dates:
        return []
    if _is_written(entry, "startDate") or (entry.start and entry.end):
        return ["endDate"] if _was_left_open(entry, latest) else []
    return ["startDate"] if entry.text("endDate") else ["startDate", "endDate"]


def _is_written(entry: Entry, name: str) -> bool:
    """Tell whether a date is there; one that cannot be is another matter than none at all."""
    found = entry.date(name)
    return found is not None and (found.months is not None or not found.is_real)


def _study_has_no_end(entry: Entry, reading: Reading) -> bool:
    start = entry.start
    no_end = not entry.text("endDate")
    return bool(start and no_end and start.last < reading.now.first - _LONGEST_STUDY)


def _was_left_open(entry: Entry, latest: int) -> bool:
    """Check whether a job "until now" was followed by one that began later.

    `latest` is the month in which the latest job began, leaving out jobs that may continue beside
    others.
    """
    start = entry.start
    if entry.section != "work" or start is None or entry.text("endDate") or _is_lasting(entry):
        return False
    return latest > start.last


def _is_lasting(entry: Entry) -> bool:
    """Tell whether a job may go on beside another one: a founder's, a part-time one."""
    return bool(words().lasting_jobs.search(f"{entry.title} {entry.text('position')}"))


def impossible_dates(reading: Reading) -> Iterator[Defect]:
    """Find dates that no calendar or no life has."""
    born = _birth(reading)
    for section in LASTING:
        for entry in reading.filled(section):
            reason, fields = _impossible(entry, reading, born)
            if reason:
                written = {name: entry.text(name) for name in ("startDate", "endDate")}
                yield _defect(
                    "impossible_dates", entry, "high", reason=reason, fields=fields, **written
                )
    for section, name in _SINGLE_DATES.items():
        for entry in reading.filled(section):
            if reason := _impossible_single(entry, entry.date(name), reading):
                written = {name: entry.text(name)}
                yield _defect(
                    "impossible_dates", entry, "medium", reason=reason, fields=[name], **written
                )


def _impossible(entry: Entry, reading: Reading, born: Months | None) -> tuple[str, list[str]]:
    names = ("startDate", "endDate")
    unreal = [name for name in names if (found := entry.date(name)) and not found.is_real]
    if unreal:
        return "no_date", unreal
    if entry.is_backwards:
        return "end_before_start", ["startDate", "endDate"]
    if ahead := [name for name in names if _is_ahead(entry, name, reading)]:
        return "future", ahead
    if entry.start and _is_too_early(entry, born):
        return "before_birth", ["startDate"]
    if entry.start and entry.start.last < reading.now.first - _LONGEST_LIFE_AT_WORK:
        return "long_ago", ["startDate"]
    return "", []


def _is_ahead(entry: Entry, name: str, reading: Reading) -> bool:
    found = entry.date(name)
    if found is None or found.months is None:
        return False
    allowed = 0
    if entry.section == "education":
        allowed = _LONGEST_STUDY if name == "endDate" else _SOON
    elif words().announced.search(f"{entry.text('position')} {found.text} {entry.text('summary')}"):
        allowed = _SOON
    return found.months.first > reading.now.last + allowed


def _is_too_early(entry: Entry, born: Months | None) -> bool:
    if born is None or entry.start is None:
        return False
    youngest = _YOUNGEST_WORKER if entry.section == "work" else 0
    return entry.start.last < born.first + youngest


def _birth(reading: Reading) -> Months | None:
    """JSON Resume has no date of birth, but many people add one."""
    written = (reading.basic(name) for name in words().birth_fields)
    return next((written_date(text).months for text in written if text), None)


def _impossible_single(entry: Entry, found: WrittenDate | None, reading: Reading) -> str:
    if found is None:
        return ""
    if not found.is_real:
        return "no_date"
    told = f"{entry.title} {entry.text('publisher')} {found.text}"
    allowed = _SOON if words().announced.search(told) else 0
    ahead = found.months and found.months.first > reading.now.last + allowed
    return "future" if ahead else ""


def _defect(kind: str, entry: Entry, severity: Severity, **detail: object) -> Defect:
    return Defect.model_validate(
        {
            "kind": kind,
            "section": entry.section,
            "entry": entry.index,
            "severity": severity,
            "detail": detail,
        }
    )
