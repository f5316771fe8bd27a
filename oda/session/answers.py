"""Questions that a turn asks a person, and their answers. Pure functions over ADK events."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, FunctionResponse, Part

from oda.agent.outcome import INPUT, outcome_of
from oda.errors import ConflictError

Answer = tuple[str, bool | None, Any]
"""Id of the question, whether it is confirmed, and the payload."""

CONFIRMATION = "adk_request_confirmation"


def answer_content(pending: Iterable[Mapping[str, Any]], responses: Sequence[Answer]) -> Content:
    """Return the message that answers pending calls.

    Args:
        pending: The calls, each as `{id, name, args}`.
        responses: At least one answer.

    Raises:
        ConflictError: an id does not belong to a pending call, or is answered twice.
    """
    waiting = {item["id"]: item["name"] for item in pending}
    parts = []
    for request_id, confirmed, payload in responses:
        name = waiting.pop(request_id, None)
        if name is None:
            raise ConflictError(
                f"Nothing waits for an answer under {request_id!r}.",
                remedy="it may have been answered already",
            )
        response = _response(name, confirmed, payload)
        parts.append(
            Part(function_response=FunctionResponse(id=request_id, name=name, response=response))
        )
    return Content(role="user", parts=parts)


def answered_by(message: Content) -> frozenset[str]:
    """Return the ids of the calls that a message answers."""
    responses = (part.function_response for part in message.parts or ())
    return frozenset(response.id or "" for response in responses if response)


def withdraw_questions(turn: Sequence[Event]) -> list[Event]:
    """Return events that close a turn's open questions."""
    asked = {item["id"] for item in outcome_of(turn).pending_input}
    return [
        Event(
            author=event.author,
            invocation_id=event.invocation_id,
            branch=event.branch,
            content=Content(
                role="user",
                parts=[
                    Part(
                        function_response=FunctionResponse(
                            id=call.id,
                            name=call.name,
                            response={"error": "Nobody answers any more.", "status": "cancelled"},
                        )
                    )
                ],
            ),
        )
        for event in turn
        for call in event.get_function_calls()
        if call.id in asked
    ]


def _response(name: str, confirmed: bool | None, payload: Any) -> dict[str, Any]:
    if name == CONFIRMATION:
        response: dict[str, Any] = {"confirmed": bool(confirmed)}
        return response if payload is None else {**response, "payload": payload}
    if isinstance(payload, dict) and name != INPUT:
        return payload
    return {"result": payload}
