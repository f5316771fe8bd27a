"""Resuming a turn from its stored events. Pure functions over ADK events.

The session's events are the log of a turn. Before an attempt resumes from them, each function call
without a response is *sealed*: an error response is appended that tells the model what happened to
the call. Otherwise ADK would drop the call from the prompt or end the run silently.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent.notices import is_notice
from oda.tools.idempotency import IDEMPOTENT_TOOLS, original_call_id, repeated_call_id
from oda.tools.ledger import CallRecord
from oda.tools.recording import OUTCOME_UNKNOWN, Answer, told_of

RECORDED_CALLS = "oda_recorded_calls"
"""Key in the `custom_metadata` of a call's event: true if a ledger records calls that start."""

_ASKS_A_PERSON = "adk_request_"

Recorded = Mapping[str, CallRecord]
"""The ledger's records of a turn, by call id without the repetition counter."""

SealReason = Literal["cancelled", "failed", "unknown", "repeated"]

_SEALS: dict[SealReason, Answer] = {
    "cancelled": {
        "error": "The call was cancelled before it finished. It may have taken effect in part.",
        "status": "cancelled",
    },
    "failed": {
        "error": "The turn failed before the call finished. It may have taken effect in part.",
        "status": "failed",
    },
    "unknown": OUTCOME_UNKNOWN,
    "repeated": {
        "error": "The call was interrupted before its result was recorded and is being repeated.",
        "status": "repeated",
    },
}


@dataclass(frozen=True)
class OpenCall:
    """A function call without a response."""

    event: Event
    call: FunctionCall


def events_of(events: Iterable[Event], invocation_id: str) -> list[Event]:
    """Return the events of one turn, in order."""
    return [event for event in events if event.invocation_id == invocation_id]


def open_calls(turn: Iterable[Event]) -> list[OpenCall]:
    """Return the turn's calls that have no response and do not wait for a person."""
    return [call for call in unanswered_calls(turn) if not _waits_for_a_person(call)]


def unanswered_calls(turn: Iterable[Event]) -> list[OpenCall]:
    """Return the turn's calls without a response."""
    unanswered: dict[str, OpenCall] = {}
    for event in turn:
        for response in event.get_function_responses():
            unanswered.pop(response.id or "", None)
        for call in event.get_function_calls():
            if call.id:
                unanswered[call.id] = OpenCall(event, call)
    return list(unanswered.values())


def calls_never_begun(turn: Iterable[Event], recorded: Recorded | None) -> list[OpenCall]:
    """Return calls of long-running tools that look pending but were never started."""
    return [
        call
        for call in unanswered_calls(turn)
        if _waits_for_a_person(call)
        and not (call.call.name or "").startswith(_ASKS_A_PERSON)
        and _record_of(call, recorded) is None
        and _would_be_recorded(call, recorded)
    ]


def unmade_repeats(turn: Iterable[Event]) -> list[OpenCall]:
    """Return calls sealed as repeated by a process that died before it repeated them."""
    called: dict[str, OpenCall] = {}
    unmade: dict[str, OpenCall] = {}
    for event in turn:
        for response in event.get_function_responses():
            call = called.get(response.id or "")
            if call is not None and response.response == _SEALS["repeated"]:
                unmade[repeated_call_id(call.call.id or "")] = call
        for made in event.get_function_calls():
            if made.id:
                unmade.pop(made.id, None)
                called[made.id] = OpenCall(event, made)
    return list(unmade.values())


def _waits_for_a_person(open_call: OpenCall) -> bool:
    call = open_call.call
    return call.id in (open_call.event.long_running_tool_ids or ()) or (call.name or "").startswith(
        _ASKS_A_PERSON
    )


def seal(call: OpenCall, answer: Answer) -> Event:
    """Return the event that closes `call` with the response `answer`.

    Its timestamp comes from ADK's clock like that of all stored events, which are sorted by it.
    """
    event = Event(
        author=call.event.author,
        invocation_id=call.event.invocation_id,
        branch=call.event.branch,
        content=Content(
            role="user",
            parts=[
                Part(
                    function_response=FunctionResponse(
                        id=call.call.id,
                        name=call.call.name,
                        response=dict(answer),
                    )
                )
            ],
        ),
    )
    event.node_info = call.event.node_info.model_copy(
        update={"output_for": None, "message_as_output": None}
    )
    event.isolation_scope = call.event.isolation_scope
    return event


@dataclass(frozen=True)
class Repeat:
    """A call to be repeated under a new id, by the agent that made it."""

    agent: str
    branch: str | None
    node_path: str
    call: FunctionCall


def repeat(call: OpenCall) -> Repeat:
    """Return the call with a new id, derived from the original to keep the idempotency key."""
    original = call.call
    return Repeat(
        agent=call.event.author,
        branch=call.event.branch,
        node_path=call.event.node_info.path,
        call=FunctionCall(
            id=repeated_call_id(original.id or ""), name=original.name, args=original.args
        ),
    )


def is_user_message(event: Event) -> bool:
    """Return whether an event is a person's message rather than a tool result."""
    return (
        event.author == "user"
        and event.content is not None
        and bool(event.content.parts)
        and not event.get_function_responses()
    )


def is_stored(turn: Iterable[Event], message: Content) -> bool:
    """Return whether `message` is among the turn's events."""
    posted = {
        part.function_response.id
        for part in message.parts or ()
        if part.function_response and part.function_response.id
    }
    for event in turn:
        if event.author != "user":
            continue
        if posted:
            if posted <= {response.id for response in event.get_function_responses()}:
                return True
        elif is_user_message(event):
            return True
    return False


def is_error(event: Event) -> bool:
    """Return whether an event reports a failure; text cut off at the output limit is an answer."""
    if not event.error_code:
        return False
    return not (event.error_code == "MAX_TOKENS" and text_of(event))


def is_answer(event: Event) -> bool:
    """Return whether an event is an agent's complete text without function calls."""
    return (
        not event.partial
        and event.author != "user"
        and not is_notice(event)
        and not is_error(event)
        and not event.get_function_calls()
        and bool(text_of(event))
    )


def is_waiting(event: Event) -> bool:
    """Return whether an event leaves its agent waiting for a person or a long-running tool."""
    asked = event.actions.requested_tool_confirmations or event.actions.requested_auth_configs
    return bool(event.long_running_tool_ids or asked)


def has_content(event: Event) -> bool:
    """Return whether an event is more than a checkpoint, a state change or a node's output."""
    return bool(event.content and event.content.parts)


def ends_a_run(event: Event) -> bool:
    """Return whether an event ends its agent's run: the agent has answered or is waiting."""
    return has_content(event) and not is_error(event) and event.is_final_response()


def recorded_end(turn: Sequence[Event]) -> list[Event]:
    """Return the events that ended the turn: its answer, or its questions to a person.

    Empty if an agent still had something to do.
    """
    said = [event for event in turn if has_content(event) and not is_error(event)]
    if not said or said[-1].author == "user" or not ends_a_run(said[-1]):
        return []
    answered = {
        response.id
        for event in turn
        if event.author == "user"
        for response in event.get_function_responses()
    }
    waiting = [event for event in said[:-1] if set(event.long_running_tool_ids or ()) - answered]
    return [*waiting, said[-1]]


def text_of(event: Event) -> str:
    """Return the text of an event, without thoughts."""
    if event.content is None:
        return ""
    return "".join(
        part.text for part in event.content.parts or () if part.text and not part.thought
    )


def answer_of(events: Iterable[Event]) -> str:
    """Return the answer of a turn: its last complete text."""
    answer = ""
    for event in events:
        if is_answer(event):
            answer = text_of(event)
    return answer


def declares_idempotent(call: OpenCall) -> bool:
    """Return whether the tool was declared idempotent when the call was stored."""
    return call.call.name in (call.event.custom_metadata or {}).get(IDEMPOTENT_TOOLS, ())


@dataclass(frozen=True)
class Closing:
    """Decision on the open calls of a turn that is resumed."""

    seals: list[Event]
    repeats: list[Repeat]
    """Calls to repeat."""
    unknown: list[OpenCall]
    """Calls that may or may not have taken effect."""


def close_to_resume(turn: Sequence[Event], recorded: Recorded | None = None) -> Closing:
    """Decide how to close the open calls of a turn that is resumed.

    Args:
        turn: The turn's events.
        recorded: The ledger's records of the turn. A call with a recorded result gets that result;
            a call without a record never ran and is repeated. Without a ledger, only idempotent
            calls are repeated.
    """
    closing = Closing([], [repeat(call) for call in unmade_repeats(turn)], [])
    for call in (*open_calls(turn), *calls_never_begun(turn, recorded)):
        record = _record_of(call, recorded)
        if record is not None and record.ended:
            closing.seals.append(seal(call, told_of(record)))
        elif _may_repeat(call, record, recorded):
            closing.repeats.append(repeat(call))
            closing.seals.append(seal(call, _SEALS["repeated"]))
        else:
            closing.unknown.append(call)
            closing.seals.append(seal(call, _SEALS["unknown"]))
    return closing


def close_for_good(
    turn: Iterable[Event], reason: SealReason, recorded: Recorded | None = None
) -> list[Event]:
    """Return seals for the open calls of a turn that will not be resumed; recorded results win."""
    return [
        seal(call, told_of(record) if record is not None and record.ended else _SEALS[reason])
        for call in open_calls(turn)
        for record in (_record_of(call, recorded),)
    ]


def _record_of(call: OpenCall, recorded: Recorded | None) -> CallRecord | None:
    return None if recorded is None else recorded.get(original_call_id(call.call.id or ""))


def _may_repeat(call: OpenCall, record: CallRecord | None, recorded: Recorded | None) -> bool:
    if declares_idempotent(call):
        return True
    if record is not None:
        return record.idempotent or record.status == "waiting"
    return _would_be_recorded(call, recorded)


def _would_be_recorded(call: OpenCall, recorded: Recorded | None) -> bool:
    """Return whether the ledger would have a record of the call, had it started."""
    is_marked = (call.event.custom_metadata or {}).get(RECORDED_CALLS) is True
    return recorded is not None and is_marked
