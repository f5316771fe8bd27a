"""Rule 4: the events by which a client learns of retries and of a turn's end, field by field."""

from typing import Any

import pytest
from google.adk.events import Event

from oda.agent.notices import is_final_notice, is_notice
from oda.agent.outcome import outcome_of
from oda.agent.resume import is_answer
from oda.testing.script import Call, Error, Text, ToolCalls
from oda.testing.scripted_model import Raise
from tests.support.roots import LLM, Kind, every_kind
from tests.support.stage import STREAMED, stage
from tests.support.transcript import seen_by_model, transcript

DOWN = Error(status=503, message="overloaded, try later")
ANSWER = Text(text="answer")
EMPTY_ACTIONS: dict[str, Any] = {
    "stateDelta": {},
    "artifactDelta": {},
    "requestedAuthConfigs": {},
    "requestedToolConfirmations": {},
}


def on_the_wire(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


async def notices_of(kind: Kind, *steps: Any, **options: Any) -> list[Event]:
    play = await stage(kind, [*steps, ANSWER], **options)
    return [event for event in await play.ask(invocation_id="turn-1") if is_notice(event)]


@every_kind
async def test_rule_4_retry_attempt_has_exactly_this_form(kind: Kind) -> None:
    [event] = await notices_of(kind, DOWN)
    text = "Retry attempt 1/3 for agent execution"
    assert on_the_wire(event) == {
        "author": "system",
        "content": {"parts": [{"text": text}]},
        "errorCode": "RETRY_ATTEMPT",
        "errorMessage": text,
        "actions": EMPTY_ACTIONS,
        "id": event.id,
        "timestamp": event.timestamp,
        "invocationId": "turn-1",
        "nodeInfo": {"path": ""},
        "customMetadata": {
            "attempt": 1,
            "max_retries": 3,
            "delay_s": 1.0,
            "error_type": "ScriptedHttpError",
            "error": {
                "code": "overloaded",
                "message": "overloaded, try later",
                "retryable": True,
            },
        },
    }
    assert event.id
    assert event.actions.escalate is None


@every_kind
async def test_rule_4_max_retries_exceeded_has_exactly_this_form(kind: Kind) -> None:
    *retries, event = await notices_of(kind, DOWN, DOWN, DOWN, max_retries=2)
    assert [retry.error_message for retry in retries] == [
        "Retry attempt 1/2 for agent execution",
        "Retry attempt 2/2 for agent execution",
    ]
    assert event.content is None
    assert on_the_wire(event) == {
        "author": "system",
        "errorCode": "MAX_RETRIES_EXCEEDED",
        "errorMessage": "Agent execution failed after 2 retry attempts",
        "actions": {**EMPTY_ACTIONS, "escalate": True},
        "id": event.id,
        "timestamp": event.timestamp,
        "invocationId": "turn-1",
        "nodeInfo": {"path": ""},
        "customMetadata": {
            "attempts": 3,
            "error_type": "ScriptedHttpError",
            "error": {
                "code": "overloaded",
                "message": "overloaded, try later",
                "retryable": True,
            },
        },
    }


@every_kind
async def test_rule_4_non_retryable_error_has_exactly_this_form(kind: Kind) -> None:
    [event] = await notices_of(kind, Error(status=400, message="no such parameter"))
    assert event.content is None
    assert on_the_wire(event) == {
        "author": "system",
        "errorCode": "NON_RETRYABLE_ERROR",
        "errorMessage": "no such parameter",
        "actions": {**EMPTY_ACTIONS, "escalate": True},
        "id": event.id,
        "timestamp": event.timestamp,
        "invocationId": "turn-1",
        "nodeInfo": {"path": ""},
        "customMetadata": {
            "attempts": 1,
            "error_type": "ScriptedHttpError",
            "error": {"code": "bad_request", "message": "no such parameter", "retryable": False},
        },
    }


async def test_rule_4_cancelled_has_exactly_this_form() -> None:
    play = await stage(LLM)
    events = play.agent.run_async("hello", invocation_id="turn-1")
    play_on = [await anext(events)]
    play.agent.cancel()
    play_on += [event async for event in events]
    event = play_on[-1]
    assert on_the_wire(event) == {
        "author": "system",
        "errorCode": "CANCELLED",
        "errorMessage": "The turn was cancelled",
        "actions": {**EMPTY_ACTIONS, "escalate": True},
        "id": event.id,
        "timestamp": event.timestamp,
        "invocationId": "turn-1",
        "nodeInfo": {"path": ""},
    }


@every_kind
async def test_rule_4_notices_are_adk_events_that_survive_the_wire(kind: Kind) -> None:
    notices = await notices_of(kind, DOWN, DOWN, DOWN, DOWN)
    assert len(notices) == 4
    for event in notices:
        assert Event.model_validate_json(event.model_dump_json(by_alias=True)) == event
        assert Event.model_validate_json(event.model_dump_json()) == event
    assert len({event.id for event in notices}) == 4
    assert [event.timestamp for event in notices] == [0.0, 1.0, 3.0, 7.0]


@every_kind
async def test_rule_4_notices_are_not_stored_and_no_model_sees_them(kind: Kind) -> None:
    play = await stage(kind, [DOWN, DOWN, ANSWER, DOWN, ANSWER])
    await play.ask()
    await play.ask("again")
    assert [event for event in await play.stored() if event.author == "system"] == []
    for model in play.cast.models.values():
        for request in model.requests:
            assert "Retry attempt" not in str(request.contents)
            assert "RETRY_ATTEMPT" not in str(seen_by_model(request))


@every_kind
async def test_rule_4_notices_never_count_as_the_answer(kind: Kind) -> None:
    notices = await notices_of(kind, DOWN, DOWN, DOWN, DOWN)
    assert [is_answer(event) for event in notices] == [False] * 4
    assert [is_final_notice(event) for event in notices] == [False, False, False, True]
    assert outcome_of(notices).reply == ""


@every_kind
async def test_rule_4_failed_attempts_own_error_event_is_not_passed_on(kind: Kind) -> None:
    play = await stage(kind, [DOWN, Error(status=404)])
    codes = [event.error_code for event in await play.ask() if event.error_code]
    assert codes == ["RETRY_ATTEMPT", "NON_RETRYABLE_ERROR"]


@every_kind
async def test_rule_4_client_is_told_to_drop_the_text_of_a_broken_stream(kind: Kind) -> None:
    cut = Raise(exception=ConnectionError("cut"), after_chunks=("half ",))
    play = await stage(kind, [cut, cut, ANSWER], max_retries=1)
    notices = [event for event in await play.ask(run_config=STREAMED) if is_notice(event)]
    assert [event.error_code for event in notices] == ["RETRY_ATTEMPT", "MAX_RETRIES_EXCEEDED"]
    assert [(event.custom_metadata or {})["discard_partial"] for event in notices] == [True, True]


@every_kind
async def test_rule_4_client_keeps_texts_that_were_completed(kind: Kind) -> None:
    spoken = ToolCalls(
        text="I will look.", calls=(Call(name="work", args={"step": "a"}, id="c-a"),)
    )
    play = await stage(kind, [spoken, DOWN, ANSWER])
    events = await play.ask(run_config=STREAMED)
    [notice] = [event for event in events if is_notice(event)]
    assert "discard_partial" not in (notice.custom_metadata or {})
    assert "worker: I will look. + work(step='a')" in transcript(events)


@pytest.mark.parametrize(
    "secret",
    ["sk-abcdefgh12345678", "Authorization: Bearer abcdefgh", "/home/someone/.config/key.json"],
)
async def test_rule_4_notices_tell_no_secret_and_no_path(secret: str) -> None:
    error = Raise(exception=ConnectionError(f"could not send {secret} to the server\nTraceback"))
    notices = await notices_of(LLM, *[error] * 4)
    for event in notices:
        wire = event.model_dump_json()
        assert secret.split()[-1] not in wire
        assert "Traceback" not in wire
        assert "could not send" in wire
