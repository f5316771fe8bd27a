"""How a turn ended, told from its events."""

from typing import Any

from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent import notices
from oda.agent.failure import Failure
from oda.agent.outcome import outcome_of

FAILURE = Failure(code="overloaded", message="try later", error_type="X", retryable=True)


def said(text: str, **fields: Any) -> Event:
    return Event(author="agent", content=Content(role="model", parts=[Part(text=text)]), **fields)


def asked(call_id: str) -> Event:
    call = FunctionCall(id=call_id, name="ask", args={"about": "x"})
    return Event(
        author="agent",
        content=Content(role="model", parts=[Part(function_call=call)]),
        long_running_tool_ids={call_id},
    )


def replied(call_id: str, author: str) -> Event:
    response = FunctionResponse(id=call_id, name="ask", response={})
    content = Content(role="user", parts=[Part(function_response=response)])
    return Event(author=author, content=content)


def gave_up(*, exhausted: bool) -> Event:
    return notices.gave_up(
        FAILURE,
        invocation_id="t1",
        retries=3,
        retries_exhausted=exhausted,
        discard_partial=False,
        timestamp=0.0,
    )


def test_turn_with_an_answer_has_succeeded() -> None:
    outcome = outcome_of([said("first"), said("second"), said("sec", partial=True)])
    assert (outcome.status, outcome.reply, outcome.error) == ("succeeded", "second", None)


def test_turn_whose_last_event_says_so_has_failed_whatever_was_said_before() -> None:
    outcome = outcome_of([said("first"), gave_up(exhausted=True)])
    assert (outcome.status, outcome.reply) == ("failed", "")
    assert outcome.error == {
        "code": "overloaded",
        "message": "Agent execution failed after 3 retry attempts: try later",
        "retryable": True,
    }


def test_reason_of_a_failure_is_not_told_twice() -> None:
    outcome = outcome_of([gave_up(exhausted=False)])
    assert (outcome.error or {})["message"] == "try later"


def test_cancelled_turn_is_cancelled() -> None:
    outcome = outcome_of([said("first"), notices.cancelled(invocation_id="t1", timestamp=0.0)])
    assert (outcome.status, outcome.reply, outcome.error) == ("cancelled", "", None)


def test_turn_waits_while_a_person_has_not_answered() -> None:
    waiting = outcome_of([asked("q1"), replied("q1", "agent"), said("I asked.")])
    assert (waiting.status, waiting.reply) == ("waiting_input", "I asked.")
    assert waiting.pending_input == ({"id": "q1", "name": "ask", "args": {"about": "x"}},)
    assert outcome_of([asked("q1"), replied("q1", "user"), said("done")]).status == "succeeded"


def test_turn_waits_for_each_question_that_is_left() -> None:
    waiting = outcome_of([asked("q1"), asked("q2"), replied("q1", "user")])
    assert [question["id"] for question in waiting.pending_input] == ["q2"]


def test_turn_without_events_has_succeeded_with_nothing() -> None:
    assert outcome_of([]).status == "succeeded"
