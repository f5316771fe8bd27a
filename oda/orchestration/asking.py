"""A question with which a turn waits for its user, in ADK's own form, and what they answer.

A scene asks by `Reply.asks`; what is answered comes to it as the next message of the same turn.
Whoever sends a new message instead starts a turn, to which the question does not matter.
"""

import json
from collections.abc import Iterable, Sequence

from google.adk.events import Event
from google.genai.types import FunctionCall, Part

from oda.agent.outcome import INPUT
from oda.orchestration.response import Question


def question_part(question: Question, call_id: str) -> Part:
    """The call by which ADK and its clients know that a person is asked."""
    args = question.model_dump(mode="json", exclude_none=True)
    return Part(function_call=FunctionCall(id=call_id, name=INPUT, args=args))


def answers_in(events: Iterable[Event], invocation_id: str) -> Sequence[Event]:
    """What has been answered in a turn so far, the oldest first."""
    return [
        event
        for event in events
        if event.invocation_id == invocation_id
        and event.author == "user"
        and event.get_function_responses()
    ]


def words_of(event: Event) -> str:
    """What a user has said in an event; an answer that is no text is told as JSON."""
    parts = (event.content and event.content.parts) or ()
    texts = [part.text for part in parts if part.text]
    for response in event.get_function_responses():
        told = response.response or {}
        answer = told.get("result", told)
        texts.append(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return "".join(texts)
