"""Questions with which a turn waits for its user, in ADK's own form, and their answers.

A scene asks by `Reply.asks`; the answer reaches it as the next message of the same turn. A new
message instead of an answer starts another turn, which is unrelated to the question.
"""

import json
from collections.abc import Iterable, Sequence

from google.adk.events import Event
from google.genai.types import FunctionCall, Part

from oda.agent.outcome import INPUT
from oda.orchestration.response import Question


def question_part(question: Question, call_id: str) -> Part:
    """Return the call that represents the question for ADK and its clients."""
    args = question.model_dump(mode="json", exclude_none=True)
    return Part(function_call=FunctionCall(id=call_id, name=INPUT, args=args))


def answers_in(events: Iterable[Event], invocation_id: str) -> Sequence[Event]:
    """Return the answers given in a turn so far, oldest first."""
    return [
        event
        for event in events
        if event.invocation_id == invocation_id
        and event.author == "user"
        and event.get_function_responses()
    ]


def words_of(event: Event) -> str:
    """Return the text of a user's event; an answer that is not text is returned as JSON."""
    parts = (event.content and event.content.parts) or ()
    texts = [part.text for part in parts if part.text]
    for response in event.get_function_responses():
        told = response.response or {}
        answer = told.get("result", told)
        texts.append(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return "".join(texts)
