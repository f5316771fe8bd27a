"""Past exchanges: those of a session, from its events, and those of a user in all sessions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Any

from google.adk.events import Event
from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError

from oda.message.language import Language, language_of
from oda.orchestration.asking import words_of
from oda.orchestration.response import TRACE_KEY
from oda.orchestration.rules import OrchestrationRules

HISTORY_KEY = "user:orchestration_history"

_SHOWN_CHARS = 500
"""Maximum length of a remembered message or answer, in characters."""


def _shown(text: str) -> str:
    return text[:_SHOWN_CHARS]


Shown = Annotated[str, AfterValidator(_shown)]


class Exchange(BaseModel):
    """A message and its answer; of long ones, the beginning."""

    model_config = ConfigDict(frozen=True)

    scene: str
    """The scene that has answered; it may have ended with the answer."""
    said: Shown
    replied: Shown
    at: datetime


_Exchanges = TypeAdapter(list[Exchange])


def exchanges_of(events: Iterable[Event], zone: tzinfo | None) -> list[Exchange]:
    """The exchanges that events hold, the oldest first; those without an answer are left out."""
    said: dict[str, str] = {}
    found: list[Exchange] = []
    for event in events:
        parts = (event.content and event.content.parts) or ()
        text = "".join(part.text or "" for part in parts)
        record = (event.custom_metadata or {}).get(TRACE_KEY)
        if event.author == "user":
            said[event.invocation_id] = words_of(event)
        elif record is not None:
            found.append(
                Exchange(
                    scene=record["decision"]["scene"],
                    said=said.get(event.invocation_id, ""),
                    replied=text,
                    at=datetime.fromtimestamp(event.timestamp, zone),
                )
            )
    return found


def history_in(state: Mapping[str, Any]) -> list[Exchange]:
    """Return the user's remembered exchanges; empty if the stored value is invalid."""
    try:
        return _Exchanges.validate_python(state.get(HISTORY_KEY) or [])
    except ValidationError:
        return []


def remembered(
    history: Sequence[Exchange], latest: Exchange, rules: OrchestrationRules
) -> list[dict[str, Any]]:
    """Return the value to store for the user after an exchange.

    If two sessions of a user answer at the same time, the later write wins: the service replaces
    the whole value.
    """
    kept = [*history, latest][-rules.history :] if rules.history else []
    return [exchange.model_dump(mode="json") for exchange in kept]


def language_spoken(text: str, recent: Sequence[Exchange]) -> Language:
    """The language of a message; of one without words, that of the messages before it."""
    default: Language = "en"
    for exchange in recent:
        default = language_of(exchange.said, default)
    return language_of(text, default)
