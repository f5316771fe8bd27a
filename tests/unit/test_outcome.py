"""How a turn has ended, told from its events."""

from collections.abc import Mapping
from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent import notices
from oda.agent.failure import Failure
from oda.agent.outcome import TurnOutcome, outcome_of

FAILURE = Failure("rate_limited", "Too many requests.", "RateLimitError", retryable=True)
LASTING = Failure("authentication", "The key is wrong.", "AuthenticationError", retryable=False)


def said(text: str, *, author: str = "agent", partial: bool | None = None) -> Event:
    return Event(author=author, content=Content(parts=[Part(text=text)]), partial=partial)


def asked(*ids: str, args: Mapping[str, Any] | None = None) -> Event:
    """A call of a long-running tool for each id."""
    parts = [
        Part(function_call=FunctionCall(id=one, name="approve", args=dict(args) if args else None))
        for one in ids
    ]
    return Event(author="agent", content=Content(parts=parts), long_running_tool_ids=set(ids))


def responded(call_id: str, author: str) -> Event:
    response = FunctionResponse(id=call_id, name="approve", response={"ok": True})
    return Event(author=author, content=Content(parts=[Part(function_response=response)]))


def retrying() -> Event:
    return notices.retry_attempt(
        FAILURE,
        invocation_id="t",
        retry=1,
        max_retries=3,
        delay_s=1,
        discard_partial=False,
        timestamp=0,
    )


def gave_up(failure: Failure, *, retries: int) -> Event:
    return notices.gave_up(
        failure,
        invocation_id="t",
        retries=retries,
        retries_exhausted=retries > 0,
        discard_partial=False,
        timestamp=0,
    )


def test_answer_is_the_reply() -> None:
    assert outcome_of([said("hello")]) == TurnOutcome("succeeded", "hello")


def test_last_of_several_texts_is_the_reply() -> None:
    assert outcome_of([said("draft"), said("final")]).reply == "final"


def test_partial_texts_messages_and_retries_are_no_replies() -> None:
    events = [said("hi", author="user"), said("hel", partial=True), retrying(), said("hello")]
    assert outcome_of(events) == TurnOutcome("succeeded", "hello")


def test_partial_text_behind_the_final_notice_changes_nothing() -> None:
    events = [gave_up(LASTING, retries=0), said("hel", partial=True)]
    assert outcome_of(events).status == "failed"


def test_retries_used_up_are_a_failure_that_names_count_and_cause() -> None:
    outcome = outcome_of([retrying(), gave_up(FAILURE, retries=1)])
    assert (outcome.status, outcome.reply) == ("failed", "")
    assert outcome.error == {
        "code": "rate_limited",
        "message": "Agent execution failed after 1 retry attempts: Too many requests.",
        "retryable": True,
    }


def test_lasting_failure_is_told_once() -> None:
    assert outcome_of([gave_up(LASTING, retries=0)]).error == {
        "code": "authentication",
        "message": "The key is wrong.",
        "retryable": False,
    }


def test_final_notice_without_details_still_has_a_code_and_a_message() -> None:
    bare = Event(
        author=notices.AUTHOR, error_code=notices.NON_RETRYABLE_ERROR, error_message="It failed."
    )
    assert outcome_of([bare]).error == {
        "code": "non_retryable_error",
        "message": "It failed.",
        "retryable": False,
    }


def test_text_before_a_failure_or_a_cancellation_is_not_the_reply() -> None:
    cancelled = notices.cancelled(invocation_id="t", timestamp=0)
    assert outcome_of([said("draft"), gave_up(FAILURE, retries=3)]).reply == ""
    assert outcome_of([said("draft"), cancelled]) == TurnOutcome("cancelled", "")


def test_agents_own_error_code_is_not_taken_for_a_notice() -> None:
    impostor = Event(author="agent", error_code=notices.CANCELLED, error_message="no")
    assert outcome_of([said("hello"), impostor]).status == "succeeded"


@pytest.mark.parametrize("args", [None, {"sum": 3}])
def test_long_running_call_without_a_response_waits_for_input(args: dict[str, Any] | None) -> None:
    outcome = outcome_of([said("May I?"), asked("c1", args=args)])
    assert (outcome.status, outcome.reply) == ("waiting_input", "May I?")
    assert outcome.pending_input == ({"id": "c1", "name": "approve", "args": args or {}},)


def test_tools_own_first_response_does_not_answer_a_long_running_call() -> None:
    outcome = outcome_of([asked("c1"), responded("c1", "agent"), said("I have asked.")])
    assert (outcome.status, outcome.reply) == ("waiting_input", "I have asked.")


def test_only_the_calls_that_the_user_has_not_answered_are_pending() -> None:
    events = [asked("c1", "c2", "c3"), responded("c2", "user"), said("Two to go.")]
    assert [one["id"] for one in outcome_of(events).pending_input] == ["c1", "c3"]


def test_turn_whose_calls_are_all_answered_has_succeeded() -> None:
    events = [asked("c1"), responded("c1", "user"), said("done")]
    assert outcome_of(events) == TurnOutcome("succeeded", "done")


def test_failure_counts_more_than_a_pending_call() -> None:
    assert outcome_of([asked("c1"), gave_up(LASTING, retries=0)]).status == "failed"
