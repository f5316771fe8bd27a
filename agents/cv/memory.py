"""What the agent keeps in the ADK session state; the only place that knows the keys.

resume       the JSON Resume document, the one source of truth
cv_history   edits that can be undone, oldest first
cv_pending   what the conversation has not finished
cv_turn      what the last message led to, for whoever shows it (see `Turn`)
"""

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, computed_field

from mcp_tools.resume import EditRecord, JsonObject, Language, Resume, load_resume

from .dialogue.decision import ToolCall
from .dialogue.pending import Pending, dump_pending, load_pending
from .dialogue.reporting import ToolResult

RESUME_KEY = "resume"
HISTORY_KEY = "cv_history"
PENDING_KEY = "cv_pending"
TURN_KEY = "cv_turn"

_HISTORY: TypeAdapter[list[EditRecord]] = TypeAdapter(list[EditRecord])

Layer = Literal["rules", "llm", "none"]
ReplyType = Literal["text", "tool_call", "tool_result", "clarify", "error"]


class State(Protocol):
    """The part of ADK's session state that is used here."""

    def get(self, key: str, default: object = None) -> object: ...

    def __setitem__(self, key: str, value: object) -> None: ...


class Turn(BaseModel):
    """What a message led to; `calls` are planned, `results` those that have been answered."""

    model_config = ConfigDict(frozen=True)

    invocation_id: str
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


class Memory:
    """Typed access to the session state of one conversation."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def resume(self) -> Resume:
        """The resume; empty when there is none.

        Raises:
            InvalidDocumentError: what is stored is no resume.
        """
        stored = self._state.get(RESUME_KEY)
        return load_resume(stored if isinstance(stored, dict) else None)

    @resume.setter
    def resume(self, resume: Resume) -> None:
        self._state[RESUME_KEY] = resume.to_json()

    def settle_resume(self) -> Resume:
        """Make sure that the stored resume is canonical, and return it.

        Raises:
            InvalidDocumentError: what is stored is no resume.
        """
        resume = self.resume
        if self._state.get(RESUME_KEY) != resume.to_json():
            self.resume = resume
        return resume

    @property
    def history(self) -> list[EditRecord]:
        """The edits that can be undone, oldest first."""
        return _HISTORY.validate_python(self._state.get(HISTORY_KEY) or [])

    @history.setter
    def history(self, history: list[EditRecord]) -> None:
        self._state[HISTORY_KEY] = history

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What has not been finished; the last one is asked for."""
        return load_pending(self._state.get(PENDING_KEY))

    @pending.setter
    def pending(self, pending: tuple[Pending, ...]) -> None:
        self._state[PENDING_KEY] = dump_pending(pending)

    @property
    def turn(self) -> Turn | None:
        """What the last message led to."""
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
