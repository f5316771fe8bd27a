"""Interpretation of ADK events: messages, questions, and what to remember. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, FunctionResponse, Part

from oda.adapter.base import nothing_waits
from oda.adapter.protocol import AgentInput, AgentMessage
from oda.agent.outcome import outcome_of
from oda.agent.resume import events_of, is_user_message
from oda.message.storable import storable

Question = Mapping[str, Any]
"""`{id, name, args}` of a call that waits for a person."""

_CONFIRMATION = "adk_request_confirmation"
_REQUEST = "adk_request_"
_TRANSFER = "transfer_to_agent"
_FOR_DEVELOPERS = "responding with a FunctionResponse"
"""Part of ADK's default hint for a confirmation, used if the tool's author has given none."""
_PROMPTS = ("message", "input_required", "auth_required")
"""Arguments with the question, of ADK's `RequestInput` and of remote agents."""
_TAKES_TEXT = frozenset({"adk_request_input", "mock_function_call_for_required_user_input"})


def messages_of(event: Event) -> Iterator[AgentMessage]:
    """Yield the messages in an event, without transfers, which are internal, and questions."""
    for part in (event.content and event.content.parts) or ():
        if part.text:
            yield AgentMessage(
                content=part.text,
                kind="thought" if part.thought else "text",
                partial=bool(event.partial),
            )
        elif (call := part.function_call) and not event.partial and _is_shown(call.name):
            data = {"id": call.id, "args": storable(call.args or {})}
            yield AgentMessage(content=call.name or "", kind="tool", data=data)
        elif (response := part.function_response) and _is_shown(response.name):
            data = {"id": response.id, "result": storable(response.response or {})}
            yield AgentMessage(content=response.name or "", kind="tool", data=data)


def _is_shown(name: str | None) -> bool:
    return name != _TRANSFER and not (name or "").startswith((_REQUEST, "mock_function_call"))


def open_questions(events: Sequence[Event]) -> Sequence[Question]:
    """Return the questions of the latest turn that are still open."""
    for turn in reversed(dict.fromkeys(event.invocation_id for event in events)):
        if asked := outcome_of(events_of(events, turn)).pending_input:
            return asked
    return ()


def wording(questions: Iterable[Question]) -> str:
    """Return the text with which a person is asked."""
    return "\n".join(_wording(question) for question in questions)


def _wording(question: Question) -> str:
    args = question["args"]
    if question["name"] != _CONFIRMATION:
        return str(next((args[name] for name in _PROMPTS if args.get(name)), question["name"]))
    hint = str((args.get("toolConfirmation") or {}).get("hint") or "")
    if hint and _FOR_DEVELOPERS not in hint:
        return hint
    call = args.get("originalFunctionCall") or {}
    shown = ", ".join(f"{name}={value!r}" for name, value in (call.get("args") or {}).items())
    return f"May {call.get('name')}({shown}) be called?"


def answer_to(questions: Sequence[Question], input: AgentInput) -> Content | None:
    """Return the message by which an input answers questions; None if it does not answer them.

    A request for input is answered by any text, a confirmation only by `confirmed`.

    Raises:
        ConflictError: the input is an answer, but no question is open.
    """
    if not questions and input.answers:
        raise nothing_waits()
    takes_text = all(question["name"] in _TAKES_TEXT for question in questions)
    if not questions or not (input.answers or (takes_text and input.content)):
        return None
    parts = [
        Part(
            function_response=FunctionResponse(
                id=question["id"],
                name=question["name"],
                response=_response(question["name"], input),
            )
        )
        for question in questions
    ]
    return Content(role="user", parts=parts)


def _response(name: str, input: AgentInput) -> dict[str, Any]:
    payload = input.context.get("payload")
    if name == _CONFIRMATION:
        response: dict[str, Any] = {"confirmed": input.confirmed}
        return response if payload is None else {**response, "payload": payload}
    if isinstance(payload, dict) and name not in _TAKES_TEXT:
        return payload
    if payload is None:
        payload = input.content or input.confirmed
    return {"result": payload}


def remembered(events: Sequence[Event], limit: int) -> Sequence[Event]:
    """The latest turns with at most `limit` events; at least the last one, and none in part."""
    begins = [number for number, event in enumerate(events) if is_user_message(event)]
    fitting = [number for number in begins if len(events) - number <= limit]
    return events[next(iter(fitting or begins[-1:]), 0) :]
