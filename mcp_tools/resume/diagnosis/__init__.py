"""Detection and repair of defects that a recruiter would notice in a resume; no model, no I/O.

defects = diagnose(resume, today=today) tasks = plan(defects, resume, intent="focus on work
experience", language="en") answers = gather(tasks[0], resume, "cut response times by 40 %", {})
edits = draft(tasks[0], resume, answers, today=today)
"""

from .defects import KINDS, Defect, Kind, Severity
from .diagnose import diagnose
from .following import followed, reopened
from .mending import Answers, ProposedEdit, apply_edits, draft, gather, missing, questions
from .planning import MAX_TASKS, Status, Task, plan
from .scoring import score, score_of

__all__ = [
    "KINDS",
    "MAX_TASKS",
    "Answers",
    "Defect",
    "Kind",
    "ProposedEdit",
    "Severity",
    "Status",
    "Task",
    "apply_edits",
    "diagnose",
    "draft",
    "followed",
    "gather",
    "missing",
    "plan",
    "questions",
    "reopened",
    "score",
    "score_of",
]
