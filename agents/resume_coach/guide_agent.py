"""The guide: leads a person through one task, from what is wrong to a draft that they agree to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic import BaseModel, JsonValue

from mcp_tools.resume import Language, Resume
from mcp_tools.resume.diagnosis import Task, draft, gather, missing, questions

from .execution import ExecutionDoc
from .intents import Intent, Understood, understand
from .wording import say, shown_edits

_MOST_QUESTIONS = 3
"""In one message."""

Stage = Literal["opening", "gathering", "drafting", "confirming", "finished"]


@dataclass(frozen=True)
class Surroundings:
    """The context that the guide needs besides its task."""

    resume: Resume
    today: date
    language: Language
    completed: tuple[str, ...] = ()
    """The ids of the tasks that are done."""
    skipped: tuple[str, ...] = ()
    number: int = 1
    """Number of the task in the plan."""
    total: int = 1
    is_first_after_skip: bool = False


@dataclass(frozen=True)
class Decision:
    """The guide's reply, and its interpretation of the message."""

    intent: Intent
    reply: str
    execution_doc: ExecutionDoc | None = None
    """A draft while the stage is `confirming`, what is agreed to once it is `finished`."""
    target_section: str | None = None
    """Target of a `BACKTRACK`."""
    is_new_draft: bool = False
    """Whether the draft is shown for the first time."""


class _Memory(BaseModel):
    """All that the guide remembers."""

    task: Task | None = None
    stage: Stage = "opening"
    answers: dict[str, str] = {}
    """Answers by the key of the question."""
    execution_doc: ExecutionDoc | None = None


class GuideAgent:
    """Works on one task at a time, in one session."""

    def __init__(self) -> None:
        self._memory = _Memory()
        self._around = Surroundings(Resume(), date.min, "en")

    @property
    def stage(self) -> Stage:
        return self._memory.stage

    @property
    def answers(self) -> Mapping[str, str]:
        """The person's answers to the task's questions, by key."""
        return self._memory.answers

    def attend(self, task: Task, around: Surroundings) -> None:
        """Turn to a task; where it is another than before, begin with it."""
        self._around = around
        if self._memory.task is None or self._memory.task.id != task.id:
            self._memory = _Memory()
        self._memory.task = task

    def generate_opening(self) -> Decision:
        """Show the diagnosis, and ask the first question; what was said before is forgotten."""
        task = self._task
        self._memory = _Memory(task=task)
        around = self._around
        told = {
            "number": str(around.number),
            "total": str(around.total),
            "done": str(len(around.completed)),
            "skipped": str(len(around.skipped)),
            "diagnosis": task.diagnosis,
            "goal": task.goal,
        }
        name = "opening_after_skip" if around.is_first_after_skip else "opening"
        return Decision(Intent.CONTINUE, f"{self._say(name, **told)}\n{self._ask()}")

    def step(self, message: str) -> Decision:
        """Take a message."""
        return self._take(understand(message))

    def answer(self, *, confirmed: bool, values: Mapping[str, JsonValue] | None = None) -> Decision:
        """Take the answer to a draft, maybe with other values by their paths."""
        doc = self._memory.execution_doc
        if confirmed and doc is not None and values:
            self._memory.execution_doc = doc.with_values(values)
        return self._take(Understood(Intent.CONFIRM if confirmed else Intent.REJECT))

    def propose(self, doc: ExecutionDoc, intent: Intent) -> Decision:
        """Put a draft before the person, in the place of any other."""
        self._memory.execution_doc = doc
        self._memory.stage = "confirming"
        around = self._around
        shown = shown_edits(doc.edits, around.resume, around.language)
        name = "draft" if doc.edits else "draft_without_edits"
        return Decision(intent, self._say(name, edits=shown), doc, is_new_draft=True)

    def edit_failed(self, reason: str) -> Decision:
        """Take back a yes that came to nothing, and ask anew."""
        self._memory = _Memory(task=self._task, stage="gathering")
        return Decision(Intent.REJECT, f"{self._say('failed', reason=reason)}\n{self._ask()}")

    def export_state(self) -> dict[str, JsonValue]:
        return self._memory.model_dump(mode="json")

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        self._memory = _Memory.model_validate(state)

    def _take(self, said: Understood) -> Decision:
        if said.intent is Intent.BACKTRACK:
            doc = self._memory.execution_doc
            return Decision(said.intent, "", doc, target_section=said.target)
        if said.intent is Intent.PAUSE:
            return Decision(said.intent, self._say("paused"), self._memory.execution_doc)
        if said.intent is Intent.SKIP:
            self._memory = _Memory(task=self._task, stage="finished")
            return Decision(said.intent, self._say("skipped"))
        match self.stage:
            case "opening" | "gathering":
                return self._gather(said)
            case "drafting":
                return self._draft(said.intent)
            case "confirming":
                return self._settle(said)
            case "finished":
                return Decision(said.intent, self._say("done"), self._memory.execution_doc)

    def _gather(self, said: Understood) -> Decision:
        if not self._is_missing:
            if said.intent is Intent.REJECT:
                return Decision(said.intent, self._say("skip_instead"))
            return self._draft(said.intent)
        self._memory.stage = "gathering"
        if not said.said:
            return Decision(said.intent, f"{self._say('need_answer')}\n{self._ask()}")
        known = self._memory.answers
        self._memory.answers = gather(self._task, self._around.resume, said.said, known)
        if not self._is_missing:
            return self._draft(said.intent)
        asked = self._ask()
        if self._memory.answers == known:
            asked = f"{self._say('not_enough')}\n{asked}"
        return Decision(said.intent, asked)

    def _settle(self, said: Understood) -> Decision:
        """Take what is said to a draft."""
        doc = self._memory.execution_doc
        if said.intent is Intent.CONFIRM and doc is not None:
            self._memory.stage = "finished"
            return Decision(said.intent, self._say("agreed"), doc)
        self._memory = _Memory(task=self._task, stage="gathering")
        if not self._is_missing:
            return Decision(said.intent, self._say("skip_instead"))
        if said.said:
            return self._gather(said)
        return Decision(said.intent, f"{self._say('rejected')}\n{self._ask()}")

    def _draft(self, intent: Intent) -> Decision:
        """Propose edits; where an answer is missing all the same, ask for it."""
        self._memory.stage = "drafting"
        around, task = self._around, self._task
        edits = draft(task, around.resume, self._memory.answers, today=around.today)
        if edits is None:
            self._memory.stage = "gathering"
            return Decision(intent, self._ask())
        doc = ExecutionDoc(task=task.id, edits=tuple(edits), language=around.language)
        return self.propose(doc, intent)

    @property
    def _task(self) -> Task:
        assert self._memory.task is not None, "attend() comes first"
        return self._memory.task

    @property
    def _is_missing(self) -> bool:
        return bool(missing(self._task, self._around.resume, self._memory.answers))

    def _ask(self) -> str:
        """Return the next question with help to answer it, or the question whether to
        show a draft.
        """
        around, answers = self._around, self._memory.answers
        asked = questions(self._task, around.resume, language=around.language, answers=answers)
        or_else = "shall_i_draft" if self._task.defects else "nothing_left"
        return "\n".join(asked[:_MOST_QUESTIONS]) or self._say(or_else)

    def _say(self, name: str, **values: str) -> str:
        return say()(name, self._around.language, **values)
