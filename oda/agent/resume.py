"""What a turn's stored events say about going on with it. Pure functions over ADK events.

The session's events are the journal of a turn. Before an attempt goes on from them, each function
call without a response is *sealed*: an error response is appended, so that the model learns what
became of the call, and ADK neither drops the call from the prompt nor ends the run in silence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent.notices import is_notice
from oda.tools.idempotency import IDEMPOTENT_TOOLS, repeated_call_id

SealReason = Literal["cancelled", "failed", "unknown", "repeated"]

_SEALS = {
    "cancelled": "The call was cancelled before it finished. It may have taken effect in part.",
    "failed": "The turn failed before the call finished. It may have taken effect in part.",
    "unknown": (
        "Outcome unknown: the call was interrupted before its result was recorded. It may or may "
        "not have taken effect. Check before you call it again."
    ),
    "repeated": "The call was interrupted before its result was recorded and is being repeated.",
}


@dataclass(frozen=True)
class OpenCall:
    """A function call that has no response yet."""

    event: Event
    call: FunctionCall


def events_of(events: Iterable[Event], invocation_id: str) -> list[Event]:
    """The stored events of one turn, in order."""
    return [event for event in events if event.invocation_id == invocation_id]


def open_calls(turn: Iterable[Event]) -> list[OpenCall]:
    """Calls of the turn that still lack a response and are not waiting for a person."""
    waiting: dict[str, OpenCall] = {}
    for event in turn:
        for response in event.get_function_responses():
            waiting.pop(response.id or "", None)
        for call in event.get_function_calls():
            if call.id and not _waits_for_a_person(call, event):
                waiting[call.id] = OpenCall(event, call)
    return list(waiting.values())


def _waits_for_a_person(call: FunctionCall, event: Event) -> bool:
    return call.id in (event.long_running_tool_ids or ()) or (call.name or "").startswith(
        "adk_request_"
    )


def seal(call: OpenCall, reason: SealReason) -> Event:
    """The event that closes `call` with an error response the model understands.

    Its time is ADK's, as that of all stored events: databases order them by it.
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
                        response={
                            "error": _SEALS[reason],
                            "status": "outcome_unknown" if reason == "unknown" else reason,
                        },
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
    """An idempotent call that is made again, under a new id, by the agent that made it."""

    agent: str
    branch: str | None
    node_path: str
    call: FunctionCall


def repeat(call: OpenCall) -> Repeat:
    """The same call with the next id of the original one, so that its idempotency key is kept."""
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
    """Whether the event is what a person said, not a tool result posted back."""
    return (
        event.author == "user"
        and event.content is not None
        and bool(event.content.parts)
        and not event.get_function_responses()
    )


def is_stored(turn: Iterable[Event], message: Content) -> bool:
    """Whether `message` is already in the history of the turn."""
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
    """Whether the event reports a failure; a text cut off at the output limit is an answer."""
    if not event.error_code:
        return False
    return not (event.error_code == "MAX_TOKENS" and text_of(event))


def is_answer(event: Event) -> bool:
    """Whether the event is a complete text by an agent that asks for no tool."""
    return (
        not event.partial
        and event.author != "user"
        and not is_notice(event)
        and not is_error(event)
        and not event.get_function_calls()
        and bool(text_of(event))
    )


def is_waiting(event: Event) -> bool:
    """Whether the event leaves its agent waiting for a person or for a long-running tool."""
    asked = event.actions.requested_tool_confirmations or event.actions.requested_auth_configs
    return bool(event.long_running_tool_ids or asked)


def has_content(event: Event) -> bool:
    """Whether an event is more than a checkpoint, a change of state or a node's value."""
    return bool(event.content and event.content.parts)


def ends_a_run(event: Event) -> bool:
    """Whether an agent has nothing left to do after the event: it answered, or waits."""
    return has_content(event) and not is_error(event) and event.is_final_response()


def recorded_end(turn: Sequence[Event]) -> list[Event]:
    """The events that the turn has ended with: its answer, or what it waits for a person with.

    Empty when an agent had still something to do.
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
    """The visible text of an event: no thoughts."""
    if event.content is None:
        return ""
    return "".join(
        part.text for part in event.content.parts or () if part.text and not part.thought
    )


def answer_of(events: Iterable[Event]) -> str:
    """The answer of a turn: its last complete text."""
    answer = ""
    for event in events:
        if is_answer(event):
            answer = text_of(event)
    return answer


def declares_idempotent(call: OpenCall) -> bool:
    """Whether the tool was declared idempotent when the call was recorded."""
    return call.call.name in (call.event.custom_metadata or {}).get(IDEMPOTENT_TOOLS, ())


def close_to_resume(turn: Sequence[Event]) -> tuple[list[Event], list[Repeat]]:
    """Seals for the open calls of a turn that goes on, and the calls that are to be made again."""
    seals: list[Event] = []
    repeats: list[Repeat] = []
    for call in open_calls(turn):
        if declares_idempotent(call):
            repeats.append(repeat(call))
            seals.append(seal(call, "repeated"))
        else:
            seals.append(seal(call, "unknown"))
    return seals, repeats


def close_for_good(turn: Iterable[Event], reason: SealReason) -> list[Event]:
    """Seals for the open calls of a turn that will not go on."""
    return [seal(call, reason) for call in open_calls(turn)]
