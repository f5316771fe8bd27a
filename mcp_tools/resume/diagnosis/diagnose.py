"""The diagnosis: all rules, applied to one resume."""

from datetime import date

from mcp_tools.resume.document import SECTIONS, Resume
from mcp_tools.resume.labels import Language

from .defects import KINDS, Defect
from .reading import Reading
from .rules import RULES

_SECTIONS = ("", *SECTIONS)


def diagnose(
    resume: Resume, *, today: date, language: Language | None = None, job: str = ""
) -> list[Defect]:
    """Return what a recruiter would stumble over, by kind and place; the same for the same resume.

    Args:
        resume: Any resume that could be loaded.
        today: Against which times are judged.
        language: Whose limits hold for lengths; without it, that in which most is written.
        job: The description of the job that it is meant for, or its name.
    """
    reading = Reading.of(resume, today=today, language=language, job=job)
    found = [defect for rule in RULES for defect in rule(reading)]
    return sorted(found, key=_place)


def _place(defect: Defect) -> tuple[int, int, int]:
    section = _SECTIONS.index(defect.section) if defect.section in _SECTIONS else len(_SECTIONS)
    return KINDS.index(defect.kind), section, -1 if defect.entry is None else defect.entry
