"""Questions of a turn as forms that a client shows to its user, and their answers. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from mcp.types import ElicitRequestFormParams
from pydantic import BaseModel, Field

from oda.agent.outcome import INPUT, OpenQuestion
from oda.session.answers import CONFIRMATION, Answer
from oda.turn.budget import GRANT

_PRIMITIVE = frozenset({"string", "number", "integer", "boolean"})
_FORM_KEYS = frozenset({"type", "properties", "required"})
_ANSWER = "answer"
"""The one field of a form for an answer that is no object."""


class Question(BaseModel):
    """A question that a turn waits for."""

    id: str = Field(description="What an answer is given under")
    name: str = Field(description="What kind of question it is")
    args: dict[str, Any] = Field(description="What is asked about, as the agent says it")
    message: str = Field(description="The question in words")
    kind: Literal["confirmation", "input"] = Field(
        description="Whether `confirmed` answers it, or a `payload`"
    )


def question_of(asked: OpenQuestion) -> Question:
    """Return an open question of a turn with its wording."""
    args = asked["args"]
    confirms = asked["name"] in (CONFIRMATION, GRANT)
    return Question(
        id=asked["id"],
        name=asked["name"],
        args=args,
        message=_wording(asked["name"], args),
        kind="confirmation" if confirms else "input",
    )


def form_of(question: Question) -> ElicitRequestFormParams:
    """Return the form that asks a question; it has nothing but plain fields."""
    if question.kind == "confirmation":
        field = {"type": "boolean", "title": "Confirmed", "description": "Yes, or no"}
        return _form(question, {"confirmed": field})
    schema = _schema(question)
    if _is_flat(schema):
        kept = {key: value for key, value in schema.items() if key in _FORM_KEYS}
        return ElicitRequestFormParams(message=question.message, requested_schema=kept)
    plain = schema if schema.get("type") in _PRIMITIVE else {"type": "string"}
    return _form(question, {_ANSWER: plain})


def answer_of(question: Question, result: Mapping[str, Any]) -> Answer | None:
    """Return a user's answer for the engine; None where the user has dismissed the question.

    To decline a confirmation is to answer it with no.

    Args:
        result: What the client says of its user: `action` and, if accepted, `content`.
    """
    accepted = result.get("action") == "accept"
    content = result.get("content")
    filled = content if isinstance(content, Mapping) else {}
    if question.kind == "confirmation":
        if accepted:
            return question.id, bool(filled.get("confirmed", not filled)), None
        return (question.id, False, None) if result.get("action") == "decline" else None
    if not accepted:
        return None
    payload = dict(filled) if _is_flat(_schema(question)) else filled.get(_ANSWER)
    return question.id, None, payload


def _form(question: Question, fields: dict[str, Any]) -> ElicitRequestFormParams:
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return ElicitRequestFormParams(message=question.message, requested_schema=schema)


def _schema(question: Question) -> Mapping[str, Any]:
    schema = question.args.get("response_schema") or question.args.get("responseSchema")
    return schema if isinstance(schema, Mapping) else {}


def _is_flat(schema: Mapping[str, Any]) -> bool:
    fields = schema.get("properties")
    return (
        schema.get("type") == "object"
        and isinstance(fields, Mapping)
        and bool(fields)
        and all(
            isinstance(one, Mapping) and one.get("type") in _PRIMITIVE for one in fields.values()
        )
    )


def _wording(name: str, args: Mapping[str, Any]) -> str:
    if name == CONFIRMATION:
        call = args.get("originalFunctionCall") or {}
        hint = (args.get("toolConfirmation") or {}).get("hint")
        given = json.dumps(call.get("args") or {}, ensure_ascii=False)
        return f"Run {call.get('name', 'the tool')} with {given}?" + (f" {hint}" if hint else "")
    if name == GRANT:
        return f"The limit of {args.get('limit')} is used up. Allow as much again?"
    if name == INPUT and args.get("message"):
        return str(args["message"])
    return str(args.get("message") or f"What is the result of {name}?")
