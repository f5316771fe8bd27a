"""All that is known of a resume's coaching between two messages; it lives in the session state."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal

from pydantic import BaseModel

from mcp_tools.resume import JsonObject, Language, Resume, load_resume
from mcp_tools.resume.diagnosis import Fit, Rating, Task, fit, followed, rate, reopened
from mcp_tools.resume.diagnosis.reading import Reading
from oda.adapter import AgentAction, WorkflowState

from .execution import ExecutionDoc

Status = Literal["pending", "active", "done", "skipped"]


class PartScore(BaseModel):
    """One thing that the score measures, 0 to 100; None where there is nothing to measure."""

    before: int | None
    after: int | None


class Parts(BaseModel):
    """What the score measures."""

    completeness: PartScore
    """Whether all is there that a reader needs: contact, sections, dates, and enough to read."""
    evidence: PartScore
    """Whether deeds and results back it up."""
    relevance: PartScore
    """Whether it shows what the wanted job asks for; None without a job."""
    form: PartScore
    """Whether order, dates, lengths, tense and spelling are right."""


class Score(BaseModel):
    """How good the resume was and is, 0 to 100."""

    before: int
    after: int
    parts: Parts

    @classmethod
    def of(cls, before: Rating, after: Rating) -> "Score":
        """Compare two ratings."""
        old, new = before.model_dump(), after.model_dump()
        parts = {name: PartScore(before=old[name], after=new[name]) for name in Parts.model_fields}
        return cls(before=before.score, after=after.score, parts=Parts.model_validate(parts))


class Progress(BaseModel):
    """How many tasks there are, and what has become of them."""

    done: int
    skipped: int
    total: int


class Line(BaseModel):
    """Something that was said."""

    who: Literal["person", "coach"]
    text: str


_MOST_LINES = 40


class CoachState(WorkflowState):
    """One resume from its plan to its last task."""

    resume: JsonObject
    original: JsonObject
    """The resume as it came."""
    intent: str = ""
    job: str = ""
    """The description of the job that the resume is compared with; "" for what is wanted of it."""
    language: Language = "en"
    today: date
    """The day of the latest message, where the person lives."""
    tasks: tuple[Task, ...] = ()
    current_task: str | None = None
    """The id of a task; None once all are done or skipped."""
    current_exec_doc: ExecutionDoc | None = None
    """The draft that waits for a yes, or the edits that are being made."""
    openings: Mapping[str, str] = {}
    """How a model begins to talk about a task, by the task's id."""
    dialogue: tuple[Line, ...] = ()
    """What was said last, the oldest first."""
    after_skip: bool = False
    """Whether the task before the current one was skipped."""
    score: Score
    action: AgentAction = AgentAction.WAIT_INPUT
    """The action that the latest reply waits for."""
    reply: str = ""

    @property
    def document(self) -> Resume:
        """The resume as it is now."""
        return load_resume(self.resume)

    @property
    def wanted_job(self) -> str:
        """The job's description, or else what the person has said of it."""
        return self.job or self.intent

    @property
    def beside_job(self) -> Fit | None:
        """The resume beside the job that was described; None without a description."""
        if not self.job:
            return None
        return fit(Reading.of(self.document, today=self.today, job=self.job))

    @property
    def active(self) -> Task | None:
        """The current task."""
        return next((task for task in self.tasks if task.id == self.current_task), None)

    @property
    def draft(self) -> ExecutionDoc | None:
        """The draft that waits for confirmation."""
        return self.current_exec_doc if self.action is AgentAction.REQUEST_CONFIRM else None

    @property
    def scores(self) -> dict[str, str]:
        """The score and its parts, to be told."""
        parts = {name: part["after"] for name, part in self.score.parts.model_dump().items()}
        told = {"before": self.score.before, "after": self.score.after, **parts}
        return {name: "–" if one is None else str(one) for name, one in told.items()}

    @property
    def finished(self) -> bool:
        """Whether all tasks are closed."""
        return self.current_task is None

    @property
    def progress(self) -> Progress:
        """How far it is."""
        count = [task.status for task in self.tasks].count
        return Progress(done=count("done"), skipped=count("skipped"), total=len(self.tasks))

    def of_status(self, status: Status) -> Sequence[Task]:
        """The tasks with a status."""
        return [task for task in self.tasks if task.status == status]

    def with_exchange(self, message: str) -> "CoachState":
        """The state with a message and its reply on record."""
        said = (Line(who="person", text=message), Line(who="coach", text=self.reply))
        lines = (*self.dialogue, *(line for line in said if line.text))
        return self.model_copy(update={"dialogue": lines[-_MOST_LINES:]})

    def close(self, status: Literal["done", "skipped"]) -> None:
        """End the current task."""
        self._mark(self.current_task, status)
        self.after_skip = status == "skipped"

    def edited(self, resume: Resume) -> None:
        """Take over an edited resume: rate it, and have the tasks follow its entries."""
        before = self.document
        self.resume = resume.to_json()
        self.rated()
        open_ones = [
            task.model_copy(update={"status": "pending"}) if task.status == "skipped" else task
            for task in self.tasks
        ]
        moved = followed(
            open_ones,
            before,
            resume,
            today=self.today,
            language=self.language,
            job=self.wanted_job,
        )
        self.tasks = tuple(map(_after_edit, self.tasks, moved))

    def rated(self) -> None:
        """Rate the resume as it came and as it is."""
        job, today = self.wanted_job, self.today
        before = rate(load_resume(self.original), today=today, job=job)
        self.score = Score.of(before, rate(self.document, today=today, job=job))

    def open(self, task: Task | None) -> None:
        """Make a task the current one, anew if it was done; None where none is left."""
        if (left := self.active) is not None and left.status == "active":
            self._mark(left.id, "pending" if left.defects else "done")
        self.current_task = None if task is None else task.id
        if task is not None and task.status == "done":
            anew = reopened(
                task,
                self.document,
                today=self.today,
                language=self.language,
                job=self.wanted_job,
            )
            self.tasks = tuple(anew if one.id == task.id else one for one in self.tasks)
        self.current_exec_doc = None
        self._mark(self.current_task, "active")

    def _mark(self, task_id: str | None, status: Status) -> None:
        self.tasks = tuple(
            task.model_copy(update={"status": status}) if task.id == task_id else task
            for task in self.tasks
        )


def _after_edit(task: Task, moved: Task) -> Task:
    """A task after an edit; as it was, with its wording, unless the edit has touched it."""
    if task.status == "skipped":
        return task if moved.status == "done" else moved.model_copy(update={"status": "skipped"})
    unchanged = (moved.entry, moved.defects, moved.status) == (
        task.entry,
        task.defects,
        task.status,
    )
    return task if unchanged else moved
