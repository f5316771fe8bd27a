"""The client's view of a coaching session."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from mcp_tools.resume import JsonObject, Operation, diff
from mcp_tools.resume.diagnosis import Fit, Kind, Severity, Status, Task
from oda.adapter import AgentAction

from .state import CoachState, Progress, Score
from .wording import shown_edits


class TaskView(BaseModel):
    """One thing to mend."""

    id: str
    section: str
    """Section of JSON Resume; "" for the resume as a whole."""
    entry: int | None
    kind: Kind
    diagnosis: str
    goal: str
    priority: Severity
    status: Status


class View(BaseModel):
    """A coaching between two messages."""

    session_id: str
    action: AgentAction
    """The action that the reply waits for."""
    reply: str
    draft: dict[str, Any] | None
    """With `REQUEST_CONFIRM`: `{task, edits: [{path, action, value}], text}`."""
    current_task: TaskView | None
    tasks: list[TaskView]
    progress: Progress
    resume: dict[str, Any]
    diff: list[Operation]
    """Changes since the beginning, as a JSON Patch (RFC 6902)."""
    score: Score
    job: Annotated[Fit | None, Field(exclude_if=lambda job: job is None)] = None
    """What the job asks for that was described: where the resume shows it, and what is missing."""
    finished: bool
    trace_id: str


def view_of(state: CoachState, *, session_id: str, trace_id: str) -> View:
    """Show a state."""
    return View(
        session_id=session_id,
        action=state.action,
        reply=state.reply,
        draft=draft_of(state),
        current_task=None if state.active is None else _task(state.active),
        tasks=[_task(task) for task in state.tasks],
        progress=state.progress,
        resume=state.resume,
        diff=diff(state.original, state.resume),
        score=state.score,
        job=state.beside_job,
        finished=state.finished,
        trace_id=trace_id,
    )


def card(state: CoachState) -> JsonObject:
    """The same for clients of all doors, without what is in the session's state anyway."""
    view = view_of(state, session_id="", trace_id="")
    shown: JsonObject = view.model_dump(
        mode="json", exclude={"session_id", "trace_id", "reply", "resume"}
    )
    return shown


def _task(task: Task) -> TaskView:
    return TaskView.model_validate(task.model_dump())


def draft_of(state: CoachState) -> JsonObject | None:
    """The draft that waits for a yes: `{task, edits, text}`."""
    if (doc := state.draft) is None:
        return None
    told: JsonObject = doc.model_dump(mode="json", exclude={"language"})
    return {**told, "text": shown_edits(doc.edits, state.document, doc.language)}
