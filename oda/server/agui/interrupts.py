"""What a waiting turn asks for, as AG-UI's interrupts, and the answers to them."""

from collections.abc import Iterable, Sequence
from typing import Any

from ag_ui.core.types import Interrupt, ResumeEntry

from oda.agent.outcome import INPUT, OpenQuestion
from oda.session.answers import CONFIRMATION, Answer
from oda.turn.budget import GRANT
from oda.turn.record import Turn

_CREDENTIAL = "adk_request_credential"
_REASONS = {
    CONFIRMATION: "tool_call",
    INPUT: "input_required",
    _CREDENTIAL: "oda:credential",
    GRANT: "oda:limit",
}


def interrupting(turn: Turn) -> list[OpenQuestion]:
    """Return the questions of a turn that are for people, not for tools of the client."""
    return [question for question in turn.pending_input if not question.get("client")]


def client_calls(turn: Turn) -> list[str]:
    """Return the ids of the calls that wait for tools of the client, in order."""
    return [question["id"] for question in turn.pending_input if question.get("client")]


def interrupt_of(question: OpenQuestion) -> Interrupt:
    """Return a question as an interrupt; its answer is `{"confirmed": bool, "payload"?: any}`."""
    name, args = question["name"], question["args"]
    call = args.get("originalFunctionCall")
    return Interrupt(
        id=question["id"],
        reason=_REASONS.get(name, "input_required"),
        message=_prompt(name, args),
        tool_call_id=str(call["id"]) if isinstance(call, dict) and call.get("id") else None,
        response_schema={
            "type": "object",
            "properties": {"confirmed": {"type": "boolean"}, "payload": _payload_schema(args)},
            "required": ["confirmed"],
        },
        metadata={"name": name, "args": args},
    )


def answers_of(entries: Sequence[ResumeEntry]) -> list[Answer]:
    """Return the answers that a run brings; one that is cancelled refuses."""
    return [(entry.interrupt_id, *_answer(entry)) for entry in entries]


def _answer(entry: ResumeEntry) -> tuple[bool, Any]:
    """Return whether it is confirmed, and the payload.

    A payload that is not of the form that the interrupt has asked for is the answer itself.
    """
    payload: Any = entry.payload
    if entry.status == "cancelled":
        return False, payload.get("payload") if _has_form(payload) else None
    if isinstance(payload, bool):
        return payload, None
    if _has_form(payload):
        return payload.get("confirmed", True), payload.get("payload")
    return True, payload


def _has_form(payload: Any) -> bool:
    return (
        isinstance(payload, dict)
        and bool(payload)
        and payload.keys() <= {"confirmed", "payload"}
        and isinstance(payload.get("confirmed", True), bool)
    )


def _prompt(name: str, args: dict[str, Any]) -> str:
    if name == GRANT:
        return f"The limit of {args.get('limit')} is reached. May the turn use it once more?"
    confirmation = args.get("toolConfirmation")
    hint = confirmation.get("hint") if isinstance(confirmation, dict) else None
    said: Iterable[Any] = (hint, args.get("message"), args.get("prompt"))
    return next((text for text in said if isinstance(text, str) and text), "An answer is needed.")


def _payload_schema(args: dict[str, Any]) -> dict[str, Any]:
    schema = args.get("response_schema") or args.get("responseSchema")
    return schema if isinstance(schema, dict) else {}
