"""A conversation with the rules, as the agent holds it but without a server and a model."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from google.adk.sessions.state import State

from agents.cv.dialogue.attention import focus_after
from agents.cv.dialogue.decide import decide
from agents.cv.dialogue.decision import Act, Outcome, ToolCall
from agents.cv.dialogue.pending import Pending
from agents.cv.dialogue.reporting import ToolResult
from agents.cv.memory import Memory
from mcp_tools.resume import JsonObject, Resume, ResumeDesk, load_resume
from mcp_tools.resume.history import undo


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one message.

    `before` and `after` are the resume without its version, `shown` the paths that were read,
    `refused` the code of the error that a tool answered with, `waiting` how much was pending
    before; `order` is that of the sections, `undone` the resume if the message is taken back.
    """

    outcome: Outcome
    before: JsonObject
    after: JsonObject
    shown: tuple[str, ...]
    refused: str | None
    waiting: int
    order: tuple[str, ...] = ()
    undone: JsonObject = field(default_factory=dict)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that were planned."""
        decision = self.outcome.decision
        return decision.calls if isinstance(decision, Act) else ()


class Talk:
    """Says messages one after the other; everything in between is kept in a session state."""

    def __init__(self, resume: JsonObject, today: date) -> None:
        self._memory = Memory(State(value={}, delta={}))
        self._memory.resume = load_resume(resume)
        self._language = self._memory.language
        self._today = today

    @property
    def resume(self) -> Resume:
        """The resume as it is now."""
        return self._memory.resume

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What has not been finished."""
        return self._memory.pending

    @property
    def undoable(self) -> int:
        """How many edits can be taken back."""
        return len(self._memory.history)

    def say(self, text: str) -> Seen:
        """Decide on a message and carry out what was decided."""
        memory = self._memory
        situation = replace(memory.situation(self._today), language=self._language)
        outcome = decide(text, situation)
        memory.pending = outcome.pending
        self._language = outcome.language
        calls = outcome.decision.calls if isinstance(outcome.decision, Act) else ()
        calls = tuple(call for call in calls if call.name not in ("CVExport", "CVDiagnose"))
        shown, refused = self._carried_out(calls)
        return Seen(
            outcome=outcome,
            before=_content(situation.resume.to_json()),
            after=_content(memory.resume.to_json()),
            shown=shown,
            refused=refused,
            waiting=len(situation.pending),
            order=memory.resume.order,
            undone=self._undone(memory.resume),
        )

    def _undone(self, resume: Resume) -> JsonObject:
        """Return the resume as one undo would make it."""
        history = self._memory.history
        return _content(undo(resume, history).resume.to_json()) if history else {}

    def _carried_out(self, calls: tuple[ToolCall, ...]) -> tuple[tuple[str, ...], str | None]:
        """Call tools up to the first that fails."""
        shown: list[str] = []
        for number, call in enumerate(calls):
            answer = self._called(call, goes_on="CVEditor" in (one.name for one in calls[:number]))
            if not answer["success"]:
                return tuple(shown), str(answer["code"])
            self._memory.focus = focus_after(
                self._memory.focus, [(call, ToolResult.model_validate(answer))]
            )
            if call.name == "CVReader":
                shown.append(str(call.params["path"]))
        return tuple(shown), None

    def _called(self, call: ToolCall, *, goes_on: bool) -> dict[str, Any]:
        desk = ResumeDesk(self._memory, goes_on=goes_on)
        tools: dict[str, Callable[..., dict[str, Any]]] = {
            "CVReader": desk.read,
            "CVEditor": desk.edit,
            "CVUndo": desk.undo,
        }
        return tools[call.name](**call.params)


def _content(document: JsonObject) -> JsonObject:
    return {name: value for name, value in document.items() if name != "meta"}
