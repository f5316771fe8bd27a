"""Mending: what to ask for a task, what a message answers, and the edits that come of it."""

from datetime import date
from typing import cast

from mcp_tools.resume.diagnosis.planning import Task
from mcp_tools.resume.document import Resume, Section

from .edits import ProposedEdit, apply_edits
from .evidence import is_answer, tells_deed
from .gathering import gather
from .mechanical import duplicate_draft, order_draft, spelling_draft, tense_draft
from .needs import Answers, missing, questions
from .told import (
    asked_draft,
    contact_draft,
    content_draft,
    dates_draft,
    gap_draft,
    instead_draft,
    lines_draft,
    section_draft,
    skills_draft,
    too_long_draft,
    too_short_draft,
    weak_verbs_draft,
)

__all__ = [
    "Answers",
    "ProposedEdit",
    "apply_edits",
    "draft",
    "gather",
    "is_answer",
    "missing",
    "questions",
    "tells_deed",
]


def draft(
    task: Task, resume: Resume, answers: Answers, *, today: date
) -> list[ProposedEdit] | None:
    """Propose edits that mend a task; `None` while `missing` names something.

    What is written comes from the resume and from the answers. The edits are meant for the resume
    that the task was made for; no edits mean that all may stay as it is.
    """
    if missing(task, resume, answers):
        return None
    if not task.defects:
        return []
    match task.kind:
        case "order":
            return order_draft(cast(Section, task.section), resume, today)
        case "duplicate":
            return duplicate_draft(task.defects)
        case "spelling":
            return spelling_draft(task.defects, resume)
        case "inconsistent_tense":
            return tense_draft(task.defects, resume)
        case "missing_dates" | "impossible_dates":
            return dates_draft(task, answers)
        case "gap":
            return gap_draft(task, resume, answers)
        case "missing_contact":
            return contact_draft(task, answers)
        case "missing_section":
            return section_draft(task, answers)
        case "weak_verbs":
            return weak_verbs_draft(task, resume, answers)
        case "no_metrics":
            return lines_draft(task, answers["result"])
        case "too_short":
            return too_short_draft(task, resume, answers)
        case "too_long":
            return too_long_draft(task, resume, answers)
        case "unsupported_skill":
            return skills_draft(task, resume, answers)
        case "relevance":
            return asked_draft(task, resume, answers)
        case "buzzwords":
            return instead_draft(task, answers, resume)
        case "content":
            return content_draft(task, resume, answers)
