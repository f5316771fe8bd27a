"""Detection and repair of defects that a recruiter would notice in a resume; no model, no I/O.

defects = diagnose(resume, today=today) tasks = plan(defects, resume, intent="focus on work
experience", language="en") answers = gather(tasks[0], resume, "cut response times by 40 %", {})
edits = draft(tasks[0], resume, answers, today=today)
"""

from .advice import advice
from .defects import KINDS, Defect, Kind, Severity
from .diagnose import diagnose
from .following import followed, reopened
from .measures import measures as is_measured
from .mending import (
    Answers,
    ProposedEdit,
    apply_edits,
    draft,
    gather,
    is_answer,
    missing,
    questions,
    tells_deed,
)
from .objections import is_known, objection
from .planning import MAX_TASKS, Status, Task, plan
from .relevance import Fit, fit, is_job
from .rewording import inventions, telling_texts, texts_changed, without_filler
from .scoring import Rating, rate, score

__all__ = [
    "KINDS",
    "MAX_TASKS",
    "Answers",
    "Defect",
    "Fit",
    "Kind",
    "ProposedEdit",
    "Rating",
    "Severity",
    "Status",
    "Task",
    "advice",
    "apply_edits",
    "diagnose",
    "draft",
    "fit",
    "followed",
    "gather",
    "inventions",
    "is_answer",
    "is_job",
    "is_known",
    "is_measured",
    "missing",
    "objection",
    "plan",
    "questions",
    "rate",
    "reopened",
    "score",
    "telling_texts",
    "tells_deed",
    "texts_changed",
    "without_filler",
]
