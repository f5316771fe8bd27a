"""The planner: what is to be mended in a resume, found by rules, and worded by a model.

The model also adds what rules cannot see. Of that counts what it quotes from the resume; what it
finds makes tasks, but never changes the score.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from mcp_tools.resume import Language, Resume
from mcp_tools.resume.diagnosis import Defect, Task, diagnose, is_known, objection, plan
from oda.telemetry import get_logger

from .asking import Wordsmith
from .prompts import instruction

log = get_logger(__name__)

TaskList = list[Task]


@dataclass(frozen=True)
class Plan:
    """Tasks, and how to begin to talk about each; the rules begin where nothing stands."""

    tasks: TaskList
    openings: Mapping[str, str] = field(default_factory=dict)


class _Phrase(BaseModel):
    id: str
    diagnosis: Annotated[str, Field(min_length=1, max_length=1000)]
    goal: Annotated[str, Field(min_length=1, max_length=500)]
    opening: Annotated[str, Field(max_length=1000)] = ""


class _Finding(BaseModel):
    path: str
    quotation: str
    diagnosis: Annotated[str, Field(max_length=1000)]
    goal: Annotated[str, Field(max_length=500)] = ""
    opening: Annotated[str, Field(max_length=1000)] = ""


class _Answer(BaseModel):
    tasks: list[_Phrase] = []
    findings: list[_Finding] = []


class PlanAgent:
    """Plans by rules; with a model it words the plan and adds to it. Stateless."""

    def __init__(self, wordsmith: Wordsmith) -> None:
        self._wordsmith = wordsmith

    async def generate_plan(
        self, intent: str, resume: Resume, *, today: date, language: Language, job: str = ""
    ) -> Plan:
        """Diagnose a resume.

        Args:
            intent: What the person wants of it; may name sections or kinds of defects.
            language: Of the tasks.
            job: The description of the job that it is for.
        """
        defects = diagnose(resume, today=today, job=job or intent)
        tasks = plan(defects, resume, intent=intent, language=language)
        asked, told = instruction("plan", language), _told(intent, job, resume, tasks)
        answer = await self._wordsmith.words(asked, told, _Answer)
        if answer is None:
            return Plan(tasks)
        added = _added(answer.findings, resume, defects)
        found = [*defects, *(defect for defect, _ in added.values())]
        tasks = plan(found, resume, intent=intent, language=language)
        findings = {path: finding for path, (_, finding) in added.items()}
        return _worded(tasks, {one.id: one for one in answer.tasks}, findings)


def _told(intent: str, job: str, resume: Resume, tasks: Sequence[Task]) -> str:
    shown = {"id", "kind", "section", "entry", "diagnosis", "goal"}
    listed = [task.model_dump(mode="json", include=shown) for task in tasks]
    told = {"wanted": intent, "job": job, "resume": resume.to_json(), "defects": listed}
    return json.dumps(told, ensure_ascii=False)


def _added(
    findings: Iterable[_Finding], resume: Resume, known: Sequence[Defect]
) -> Mapping[str, tuple[Defect, _Finding]]:
    """Return what the model has found besides, as defects by place; a misquotation is none."""
    added: dict[str, tuple[Defect, _Finding]] = {}
    for finding in findings:
        defect = objection(resume, finding.path, finding.quotation)
        if defect is None:
            log.warning("model_misquoted", path=finding.path)
        elif not is_known(defect, known):
            added.setdefault(str(defect.detail["path"]), (defect, finding))
    return added


def _worded(
    tasks: Sequence[Task], phrases: Mapping[str, _Phrase], findings: Mapping[str, _Finding]
) -> Plan:
    """Say what the model says of each task, and begin as it begins."""
    worded, openings = [], {}
    for task in tasks:
        phrase: _Phrase | _Finding | None = phrases.get(task.id)
        if task.kind == "content":
            phrase = findings[str(task.defects[0].detail["path"])]
        worded.append(task if phrase is None else _said_of(task, phrase))
        openings[task.id] = "" if phrase is None else phrase.opening.strip()
    return Plan(worded, {task: opening for task, opening in openings.items() if opening})


def _said_of(task: Task, phrase: _Phrase | _Finding) -> Task:
    """Return a task in the model's words; what it has found itself stands there as a quotation."""
    diagnosis = phrase.diagnosis.strip()
    if isinstance(phrase, _Finding) and phrase.quotation.strip() not in diagnosis:
        diagnosis = f"{task.diagnosis} {diagnosis}".strip()
    said = {"diagnosis": diagnosis, "goal": phrase.goal.strip() or task.goal}
    return task.model_copy(update=said)
