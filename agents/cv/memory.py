"""The agent's data in the ADK session state; the only module that uses its keys.

resume       the JSON Resume document, the one source of truth cv_history   edits that can be undone
(see `edits`) cv_pending   unfinished business of the conversation cv_focus     topic of the
conversation: the place that was touched last cv_turn      outcome of the last message, for display
(see `Turn`) cv_expected_version
             the version that the sender of a message has seen, until the message is read
cv_attached  the files that the message is about
cv_translations  the resume in other languages, by language: documents beside it
"""

from collections.abc import Iterable
from datetime import date
from typing import Literal

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, computed_field

from mcp_tools.resume import (
    EditRecord,
    JsonObject,
    Language,
    Resume,
    check_version,
    load_resume,
)

from .dialogue.decision import ToolCall
from .dialogue.pending import Pending, PendingEntry, dump_pending, load_pending
from .dialogue.reporting import ToolResult
from .dialogue.situation import Situation
from .dialogue.understanding.focus import Focus
from .edits import State, read_edits, write_edits
from .settings import cv_settings

RESUME_KEY = "resume"
PENDING_KEY = "cv_pending"
FOCUS_KEY = "cv_focus"
TURN_KEY = "cv_turn"
TRANSLATIONS_KEY = "cv_translations"
EXPECTED_VERSION_KEY = "cv_expected_version"
ATTACHED_KEY = "cv_attached"

_FOCUS: TypeAdapter[Focus | None] = TypeAdapter(Focus | None)

Layer = Literal["rules", "llm", "none"]
ReplyType = Literal["text", "tool_call", "tool_result", "clarify", "error"]


class Turn(BaseModel):
    """State of the conversation after a message.

    `calls` are the planned tool calls, `results` the results of those that have been answered.
    `left` is what is pending once the first call has succeeded, if that differs from what is
    pending now; `question` is what to ask then. `advice` says that nothing is to be edited.
    `before` is the resume before the model's first edit, kept until the model has replied.

    The turn's id is not stored: it follows from the events that wrote this value (`turn_in`), so
    the same conversation always leaves the same state.
    """

    model_config = ConfigDict(frozen=True)

    language: Language
    layer: Layer
    type: ReplyType
    intent: str
    section: str | None
    confidence: float
    missing_fields: tuple[str, ...] = ()
    pending_data: JsonObject | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    left: tuple[Pending, ...] | None = None
    question: str = ""
    before: JsonObject | None = None
    advice: bool = False

    def with_pending(self, pending: tuple[Pending, ...]) -> "Turn":
        """The turn, telling what is asked for now."""
        top = pending[-1] if pending else None
        entry = top if isinstance(top, PendingEntry) else None
        update = {
            "missing_fields": entry.missing_fields if entry else (),
            "pending_data": entry.told if entry else None,
        }
        return self.model_copy(update=update)

    @computed_field  # type: ignore[prop-decorator]  # mypy does not know it on properties
    @property
    def tool_call(self) -> ToolCall | None:
        """The call that was answered last."""
        return self.calls[len(self.results) - 1] if self.results else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tool_result(self) -> ToolResult | None:
        """The last result."""
        return self.results[-1] if self.results else None


def turn_in(events: Iterable[Event], invocation_id: str) -> Turn | None:
    """Return the latest `Turn` that an invocation wrote, or None.

    Args:
        events: The events of the session, newest first.
    """
    for event in events:
        if event.invocation_id == invocation_id and TURN_KEY in event.actions.state_delta:
            return Turn.model_validate(event.actions.state_delta[TURN_KEY])
    return None


def current_turn(context: CallbackContext) -> Turn | None:
    """Return the turn that is being answered; None until the rules have processed its message."""
    if TURN_KEY in context.actions.state_delta:  # not in an event yet
        return Turn.model_validate(context.actions.state_delta[TURN_KEY])
    return turn_in(reversed(context.session.events), context.invocation_id)


class Memory:
    """Typed access to the session state of one conversation."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def resume(self) -> Resume:
        """The resume; empty if there is none.

        Raises:
            InvalidDocumentError: the stored value is not a resume.
        """
        stored = self._state.get(RESUME_KEY)
        return load_resume(stored if isinstance(stored, dict) else None)

    @resume.setter
    def resume(self, resume: Resume) -> None:
        self._state[RESUME_KEY] = resume.to_json()

    def translation(self, language: Language) -> Resume | None:
        """The resume as it was translated to a language, if it was."""
        stored = self._state.get(TRANSLATIONS_KEY)
        found = stored.get(language) if isinstance(stored, dict) else None
        return load_resume(found) if isinstance(found, dict) else None

    def keep_translation(self, language: Language, resume: Resume) -> None:
        """Keep a translation beside the resume."""
        stored = self._state.get(TRANSLATIONS_KEY)
        others = stored if isinstance(stored, dict) else {}
        self._state[TRANSLATIONS_KEY] = {**others, language: resume.to_json()}

    @property
    def attached(self) -> list[str]:
        """The names of the files that the message is about, as its client gave them."""
        stored = self._state.get(ATTACHED_KEY)
        return (
            [name for name in stored if isinstance(name, str)] if isinstance(stored, list) else []
        )

    def settle_resume(self) -> Resume:
        """Make sure that the stored resume is canonical and the expected one, and return it.

        Raises:
            InvalidDocumentError: what is stored is no resume.
            VersionConflictError: it is at another version than the sender of the message has seen.
        """
        resume = self.resume
        expected = self._state.get(EXPECTED_VERSION_KEY)
        if isinstance(expected, int):
            self._state[EXPECTED_VERSION_KEY] = None
            check_version(resume, expected)
        if self._state.get(RESUME_KEY) != resume.to_json():
            self.resume = resume
        return resume

    @property
    def history(self) -> list[EditRecord]:
        """The edits that can be undone, oldest first."""
        return read_edits(self._state)

    @history.setter
    def history(self, history: list[EditRecord]) -> None:
        write_edits(self._state, history, most=cv_settings().undo_edits)

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The unfinished business; the last one is asked for."""
        return load_pending(self._state.get(PENDING_KEY))

    @pending.setter
    def pending(self, pending: tuple[Pending, ...]) -> None:
        self._state[PENDING_KEY] = dump_pending(pending)

    @property
    def focus(self) -> Focus | None:
        """The topic of the conversation."""
        return _FOCUS.validate_python(self._state.get(FOCUS_KEY))

    @focus.setter
    def focus(self, focus: Focus | None) -> None:
        dumped: JsonValue = _FOCUS.dump_python(focus, mode="json")
        self._state[FOCUS_KEY] = dumped

    def situation(self, today: date) -> Situation:
        """Return what the next message meets.

        Raises:
            ResumeError: as `settle_resume`.
        """
        return Situation(
            resume=self.settle_resume(),
            pending=self.pending,
            language=self.language,
            today=today,
            focus=self.focus,
            undoable=len(self.history),
        )

    @property
    def turn(self) -> Turn | None:
        """The outcome of the last message."""
        stored = self._state.get(TURN_KEY)
        return Turn.model_validate(stored) if stored else None

    @turn.setter
    def turn(self, turn: Turn) -> None:
        dumped: JsonValue = turn.model_dump(mode="json")
        self._state[TURN_KEY] = dumped

    @property
    def language(self) -> Language:
        """The language spoken last."""
        turn = self.turn
        return turn.language if turn else "zh"
