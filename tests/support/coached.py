"""A resume with defects of many kinds, and its coaching without a server."""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from agents.resume_coach.messages import Answer
from agents.resume_coach.state import CoachState
from agents.resume_coach.team import create_default_orchestrator
from agents.resume_coach.workflow import ResumeWorkflow
from mcp_tools.resume import load_resume
from mcp_tools.resume.diagnosis import Task, diagnose, plan
from oda.adapter import AgentInput, AgentOutput
from oda.message.language import Language

AGENTS = Path(__file__).parents[2] / "agents"
APP = "resume_coach"
TODAY = date(2026, 3, 15)

RESUME: dict[str, Any] = {
    "basics": {
        "name": "Tom Brennan",
        "summary": "Sales manager in building materials. Keeps long relations with wholesalers "
        "and likes difficult regions.",
    },
    "work": [
        {
            "name": "Brickworks",
            "position": "Sales Representative",
            "startDate": "2014-09",
            "endDate": "2019-05",
            "highlights": [
                "Won 40 new accounts among wholesalers in Scotland",
                "Trained 12 new colleagues and wrote the handbook for the ordering system",
            ],
        },
        {
            "name": "Holloway Timber",
            "position": "Regional Sales Manager",
            "startDate": "2019-06",
            "highlights": [
                "Raised revenue in the region from 3.1 to 4.6 million pounds",
                "Helped the marketing department with the yearly trade fair",
            ],
        },
    ],
    "education": [
        {"institution": "University of Stirling", "area": "Business Studies", "studyType": "BA"}
    ],
    "skills": [{"name": "Negotiation"}, {"name": "Salesforce"}, {"name": "Key account management"}],
}
"""No contact, the oldest job first, a weak verb, education without dates."""

ANSWERS = {
    "missing_contact": "tom@brennan.example, +44 20 7946 0000",
    "missing_dates": "2010-09 to 2014-06",
    "weak_verbs": "Planned the stand of the yearly trade fair and won 9 customers there",
}
"""What mends a task of a kind; the others need no answer but a yes."""


def task_of(kind: str, *, language: Language = "en") -> Task:
    """The task of a kind in the plan of `RESUME`."""
    resume = load_resume(RESUME)
    tasks = plan(diagnose(resume, today=TODAY), resume, language=language)
    return next(task for task in tasks if task.kind == kind)


async def restarted(
    state: CoachState, input: AgentInput, agent: str
) -> tuple[CoachState, AgentOutput]:
    """Work on an input in a new team, which knows what a JSON text of the state tells."""
    again = CoachState.model_validate(json.loads(state.model_dump_json()))
    items = [item async for item in create_default_orchestrator().run(again, input, agent=agent)]
    assert isinstance(items[-1], AgentOutput)
    return again, items[-1]


async def begun(intent: str = "", language: Language = "en") -> CoachState:
    """The coaching of `RESUME` at its first opening."""
    return await workflow().begin(load_resume(RESUME), intent, language)


async def told(state: CoachState, messages: Sequence[str | Answer]) -> CoachState:
    """The coaching after messages."""
    for message in messages:
        state = await workflow().go_on(state, message)
    return state


def workflow() -> ResumeWorkflow:
    return ResumeWorkflow(restarted, today=TODAY)
