"""How good a resume is, as one number."""

from collections.abc import Iterable, Mapping
from datetime import date
from math import prod

from mcp_tools.resume.document import Resume

from .defects import Defect, Severity
from .diagnose import diagnose

_KEPT: Mapping[Severity, float] = {"high": 0.82, "medium": 0.93, "low": 0.98}
"""The part of the score that is left after one defect; so no defect can be made up by another."""


def score(resume: Resume, *, today: date) -> int:
    """Rate a resume from 0 to 100; 100 has no defects, and each one lowers it by its weight."""
    return score_of(diagnose(resume, today=today))


def score_of(defects: Iterable[Defect]) -> int:
    """Rate by defects; fewer of them never give less."""
    return round(100 * prod(_KEPT[defect.severity] for defect in defects))
