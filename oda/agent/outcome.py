"""The outcome of a turn, derived from its events. Pure functions over ADK events."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from google.adk.events import Event
from typing_extensions import TypedDict

from oda.agent.notices import CANCELLED, is_final_notice
from oda.agent.resume import answer_of
from oda.tools.client_tools import CLIENT_CALLS

INPUT = "adk_request_input"
"""Name of the call with which a graph node asks a person for input."""

Outcome = Literal["succeeded", "failed", "cancelled", "waiting_input"]


class OpenQuestion(TypedDict):
    """A question to a person: a long-running call without a response."""

    id: str
    name: str
    args: dict[str, Any]
    client: NotRequired[bool]
    """True if it is not for a person, but the call of a tool that the client runs."""


@dataclass(frozen=True)
class TurnOutcome:
    """Status, reply, error and open questions of a turn."""

    status: Outcome
    reply: str
    error: dict[str, Any] | None = None
    """`{code, message, retryable}`, if the turn failed."""
    pending_input: tuple[OpenQuestion, ...] = ()


def outcome_of(events: Iterable[Event]) -> TurnOutcome:
    """Return the outcome of a turn from its events; partial events are ignored."""
    turn = [event for event in events if not event.partial]
    last = turn[-1] if turn else None
    if last is not None and is_final_notice(last):
        if last.error_code == CANCELLED:
            return TurnOutcome("cancelled", "")
        return TurnOutcome("failed", "", error=_error(last))
    if waiting := _open_questions(turn):
        return TurnOutcome("waiting_input", answer_of(turn), pending_input=waiting)
    return TurnOutcome("succeeded", answer_of(turn))


def _error(notice: Event) -> dict[str, Any]:
    details = dict((notice.custom_metadata or {}).get("error") or {})
    return {
        "code": details.get("code", (notice.error_code or "").lower()),
        "message": f"{notice.error_message}: {details['message']}"
        if details.get("message") and details["message"] != notice.error_message
        else notice.error_message,
        "retryable": bool(details.get("retryable", False)),
    }


def _open_questions(turn: Iterable[Event]) -> tuple[OpenQuestion, ...]:
    asked: dict[str, OpenQuestion] = {}
    for event in turn:
        for call in event.get_function_calls():
            if call.id and call.id in (event.long_running_tool_ids or ()):
                asked[call.id] = {"id": call.id, "name": call.name or "", "args": call.args or {}}
                if call.id in (event.custom_metadata or {}).get(CLIENT_CALLS, ()):
                    asked[call.id]["client"] = True
        for response in event.get_function_responses():
            withdrawn = (response.response or {}).get("status") == "cancelled"
            if event.author == "user" or withdrawn:
                asked.pop(response.id or "", None)
    return tuple(asked.values())
