"""What rules know about a question on the resume: what the diagnosis has found."""

from datetime import date

from mcp_tools.resume import Language, Resume
from mcp_tools.resume.diagnosis import diagnose, plan

from .phrases import numbered, phrase

_MOST = 3
"""As many findings as a person reads in an answer to another question."""


def known_advice(resume: Resume, section: str | None, language: Language, *, today: date) -> str:
    """Return what is worth mending, in the section that is asked about if there is something."""
    tasks = plan(diagnose(resume, today=today), resume, language=language)
    about = [task for task in tasks if section and task.section == section] or tasks
    if not about:
        return phrase("no_model_advice", language)
    lines = numbered(f"{task.diagnosis} {task.goal}" for task in about[:_MOST])
    return phrase("no_model_advice", language) + phrase("diagnosed", language, findings=lines)
