"""The planner: what is to be mended in a resume, found by rules and phrased by a model."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from mcp_tools.resume import Language, Resume
from mcp_tools.resume.diagnosis import Task, diagnose, plan

from .asking import Wordsmith

TaskList = list[Task]

_INSTRUCTION = """\
You are a career coach. You get a resume (JSON Resume), what the person wants, and the defects \
that a program has found in the resume. For each defect write, in the language `{language}`:
diagnosis: what is wrong and why a recruiter of the wanted position minds, one or two sentences \
that quote the resume where that helps;
goal: what the text should be like in the end, one sentence.
Keep each id. Add no defects and leave none out. Invent no facts: never propose numbers, \
employers, dates or skills that the resume does not hold.
"""


class _Phrase(BaseModel):
    id: str
    diagnosis: Annotated[str, Field(min_length=1, max_length=1000)]
    goal: Annotated[str, Field(min_length=1, max_length=500)]


class _Phrases(BaseModel):
    tasks: list[_Phrase]


class PlanAgent:
    """Plans by rules; with a model it words the plan. Stateless."""

    def __init__(self, wordsmith: Wordsmith) -> None:
        self._wordsmith = wordsmith

    async def generate_plan(
        self, intent: str, resume: Resume, *, today: date, language: Language
    ) -> TaskList:
        """Diagnose a resume.

        Args:
            intent: What the person wants of it; may name sections or kinds of defects.
            language: Of the tasks.
        """
        defects = diagnose(resume, today=today)
        tasks = plan(defects, resume, intent=intent, language=language)
        if not tasks:
            return tasks
        instruction, said = _INSTRUCTION.format(language=language), _told(intent, resume, tasks)
        phrases = await self._wordsmith.words(instruction, said, _Phrases)
        return tasks if phrases is None else _phrased(tasks, phrases)


def _told(intent: str, resume: Resume, tasks: Sequence[Task]) -> str:
    shown = {"id", "kind", "section", "entry", "diagnosis", "goal"}
    listed = [task.model_dump(mode="json", include=shown) for task in tasks]
    told = {"wanted": intent, "resume": resume.to_json(), "defects": listed}
    return json.dumps(told, ensure_ascii=False)


def _phrased(tasks: Sequence[Task], phrases: _Phrases) -> TaskList:
    by_id = {one.id: one.model_dump(exclude={"id"}) for one in phrases.tasks}
    return [task.model_copy(update=by_id.get(task.id, {})) for task in tasks]
