"""Requests and responses of the chat's steps."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from google.genai.types import Content, Part
from pydantic import BaseModel, Field, JsonValue

from oda.message.language import Language, language_of
from oda.orchestration import Classification, PendingSwitch
from oda.orchestration.guardrails import Answer

from ..learning.records import Id

LONGEST_MESSAGE = 20_000
_MOST_TOLD = 200
"""Maximum number of entries in `context`, whether a list or an object."""
_SPOKEN_BY = {"user": "user", "assistant": "model", "model": "model"}


Context = (
    Annotated[str, Field(max_length=LONGEST_MESSAGE)]
    | Annotated[list[JsonValue], Field(max_length=_MOST_TOLD)]
    | Annotated[dict[str, JsonValue], Field(max_length=_MOST_TOLD)]
    | float
    | bool
    | None
)


class Doing(BaseModel):
    """The task in whose middle something is said."""

    activity: Annotated[str, Field(max_length=100)]
    """The name of its scene."""
    details: Annotated[dict[str, JsonValue], Field(max_length=20)] = {}
    """Which text, line or item, and how it stands."""
    question: Annotated[str, Field(max_length=LONGEST_MESSAGE)] | None = None
    """The question whose answer is awaited."""
    doubtful: bool = False
    """Whether the message may be its answer: then only a model can tell that it is talk."""


class TalkRequest(BaseModel):
    """Something that a child has said."""

    user_input: Annotated[str, Field(max_length=LONGEST_MESSAGE)]
    session_id: Id | None = None
    context: Context = None
    """The previous conversation: `{said, replied}` or `{role, content}`, oldest first. Anything
    else is given to the model as the current activity.
    """
    doing: Doing | None = None
    earlier: Annotated[list[JsonValue], Field(max_length=_MOST_TOLD)] = []
    """What was talked about in other sessions: `{said, replied}`, oldest first."""
    child: Annotated[dict[str, JsonValue], Field(max_length=20)] = {}
    """Who it is: `name`, `grade`."""
    pending_switch: PendingSwitch | None = None
    """The question to the child that has not been answered yet."""
    language: Language | None = None
    """Language of the answer; by default that of the message."""

    @property
    def answered_in(self) -> Language:
        return self.language or language_of(self.user_input, "zh")


class Talk(BaseModel):
    """The reply to the child."""

    reply: str
    suggested_actions: list[str] = []
    decision: Answer | None = None
    """Whether the child agrees to `pending_switch`; only set by `confirm-handoff`."""
    answered: bool = True
    """Whether the reply is an answer; false if it only says that there is none."""
    unclear: bool = False
    """Whether the child is asked what they want."""
    means: Classification | None = None
    """What the child wants to do instead; the reply is then empty."""
    answer: str | None = None
    """The child's answer to the question of `doing`; the reply is then empty."""


def said_before(context: JsonValue) -> list[Content]:
    """The conversation that a context tells."""
    turns = context if isinstance(context, Sequence) and not isinstance(context, str) else ()
    return [content for turn in turns for content in _contents(turn)]


def going_on(context: JsonValue) -> str:
    """Return the part of a context that describes the current activity."""
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
