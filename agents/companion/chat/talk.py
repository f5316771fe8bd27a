"""What the steps of the chat are sent and what they answer."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from google.genai.types import Content, Part
from pydantic import BaseModel, Field, JsonValue

from oda.message.language import Language, language_of
from oda.orchestration import PendingSwitch
from oda.orchestration.guardrails import Answer

LONGEST_MESSAGE = 20_000
_SPOKEN_BY = {"user": "user", "assistant": "model", "model": "model"}


class TalkRequest(BaseModel):
    """Something that a child has said."""

    user_input: Annotated[str, Field(max_length=LONGEST_MESSAGE)]
    session_id: str | None = None
    context: JsonValue = None
    """What was said before: `{said, replied}` or `{role, content}`, the oldest first; anything else
    is told to the model as what is going on."""
    pending_switch: PendingSwitch | None = None
    """What the child was asked about and has not answered."""
    language: Language | None = None
    """Of the answer; that of the message by default."""

    @property
    def answered_in(self) -> Language:
        return self.language or language_of(self.user_input, "zh")


class Talk(BaseModel):
    """What is said to the child."""

    reply: str
    suggested_actions: list[str] = []
    decision: Answer | None = None
    """Whether the child agrees to `pending_switch`; only of `confirm-handoff`."""
    answered: bool = True
    """Whether the reply answers; not where it only says that nobody could."""
    unclear: bool = False
    """Whether the child is asked what they want."""


def said_before(context: JsonValue) -> list[Content]:
    """The conversation that a context tells."""
    turns = context if isinstance(context, Sequence) and not isinstance(context, str) else ()
    return [content for turn in turns for content in _contents(turn)]


def going_on(context: JsonValue) -> str:
    """What a context tells besides a conversation."""
    if isinstance(context, Mapping):
        return "\n".join(f"{name}: {value}" for name, value in context.items())
    return context if isinstance(context, str) else ""


def _contents(turn: JsonValue) -> list[Content]:
    if not isinstance(turn, Mapping):
        return []
    spoken = [("user", turn.get("said")), ("model", turn.get("replied"))]
    if role := _SPOKEN_BY.get(str(turn.get("role"))):
        spoken.append((role, turn.get("content")))
    return [
        Content(role=role, parts=[Part(text=text)])
        for role, text in spoken
        if isinstance(text, str) and text.strip()
    ]
