"""What a turn's stored events say about going on with it."""

from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.event import NodeInfo
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent.resume import (
    RECORDED_CALLS,
    answer_of,
    calls_never_begun,
    close_for_good,
    close_to_resume,
    events_of,
    is_answer,
    is_error,
    is_stored,
    open_calls,
    recorded_end,
    unmade_repeats,
)
from oda.tools.idempotency import IDEMPOTENT_TOOLS, original_call_id, repeated_call_id
from oda.tools.ledger import CallRecord, CallStatus


def said(text: str, author: str = "agent", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = Content(role=role, parts=[Part(text=text)])
    return Event(author=author, invocation_id="t1", content=content, **fields)


def called(*ids: str, **fields: Any) -> Event:
    parts = [Part(function_call=FunctionCall(id=i, name=i.rstrip("0123456789"))) for i in ids]
    content = Content(role="model", parts=parts)
    return Event(author="agent", invocation_id="t1", content=content, **fields)


def answered(*ids: str, author: str = "agent", **fields: Any) -> Event:
    parts = [
        Part(function_response=FunctionResponse(id=i, name=i.rstrip("0123456789"), response={}))
        for i in ids
    ]
    content = Content(role="user", parts=parts)
    return Event(author=author, invocation_id="t1", content=content, **fields)


def failed(code: str = "Error", text: str = "") -> Event:
    return Event(
        author="agent",
        invocation_id="t1",
        error_code=code,
        content=Content(role="model", parts=[Part(text=text)]) if text else None,
    )


def ids(calls: Any) -> list[str]:
    return [call.call.id for call in calls]


def test_events_of_a_turn_are_those_with_its_id() -> None:
    other = said("x").model_copy(update={"invocation_id": "t2"})
    mine = said("y")
    assert events_of([other, mine, other], "t1") == [mine]


# --- open calls


def test_call_is_open_until_a_response_with_its_id_follows() -> None:
    assert ids(open_calls([called("a1")])) == ["a1"]
    assert ids(open_calls([called("a1"), answered("a1")])) == []
    assert ids(open_calls([called("a1", "b1"), answered("b1")])) == ["a1"]
    assert ids(open_calls([answered("a1"), called("a1")])) == ["a1"]


def test_call_ids_may_come_again_in_a_turn() -> None:
    """Some servers number the calls of each answer from zero."""
    assert ids(open_calls([called("a0"), answered("a0"), called("a0")])) == ["a0"]


def test_calls_that_wait_for_a_person_are_not_open() -> None:
    assert open_calls([called("long1", long_running_tool_ids={"long1"})]) == []
    assert open_calls([called("adk_request_confirmation1")]) == []


# --- seals


def test_seal_takes_the_place_of_the_result_in_history_and_graph() -> None:
    call = called(
        "pay1",
        branch="root.left",
        node_info=NodeInfo(path="root@1/agent@1", message_as_output=True),
        isolation_scope="scope",
    )
    [seal] = close_for_good([call], "cancelled")
    assert (seal.author, seal.invocation_id, seal.branch) == ("agent", "t1", "root.left")
    assert seal.node_info.path == "root@1/agent@1"
    assert not seal.node_info.message_as_output
    assert seal.isolation_scope == "scope"
    assert seal.content is not None
    assert seal.content.role == "user"
    [response] = seal.get_function_responses()
    assert (response.id, response.name) == ("pay1", "pay")
    assert seal.timestamp >= call.timestamp


@pytest.mark.parametrize(
    ("reason", "status", "words"),
    [
        ("cancelled", "cancelled", "was cancelled before it finished"),
        ("failed", "failed", "turn failed before the call finished"),
        ("unknown", "outcome_unknown", "Outcome unknown"),
    ],
)
def test_seal_tells_the_model_what_became_of_the_call(reason: Any, status: str, words: str) -> None:
    [seal] = close_for_good([called("pay1")], reason)
    told = seal.get_function_responses()[0].response or {}
    assert told["status"] == status
    assert words in told["error"]


def test_sealed_calls_are_open_no_more() -> None:
    turn = [called("a1", "b1")]
    assert open_calls([*turn, *close_for_good(turn, "unknown")]) == []


def test_only_calls_declared_idempotent_are_repeated() -> None:
    call = called("pay1", "file1", custom_metadata={IDEMPOTENT_TOOLS: ["file"]})
    closing = close_to_resume([call])
    assert stati(closing.seals) == ["outcome_unknown", "repeated"]
    assert ids(closing.unknown) == ["pay1"]
    [repeat] = closing.repeats
    assert (repeat.agent, repeat.call.id, repeat.call.name) == ("agent", "file1~2", "file")


def stati(seals: list[Event]) -> list[Any]:
    answers = [seal.get_function_responses()[0].response or {} for seal in seals]
    return [answer.get("status", answer) for answer in answers]


# --- with a ledger

ON_RECORD: dict[str, Any] = {"custom_metadata": {RECORDED_CALLS: True}}


def record(status: CallStatus, result: str | None = None, **fields: Any) -> CallRecord:
    return CallRecord(
        **{"tool": "pay", "idempotent": False, "runs": 1, **fields}, status=status, result=result
    )


@pytest.mark.parametrize(
    ("known", "status", "repeated"),
    [
        (record("succeeded", '{"paid": 5}'), {"paid": 5}, False),
        (record("failed", '{"error": "no"}'), {"error": "no"}, False),
        (record("succeeded", None), "succeeded", False),
        (record("started"), "outcome_unknown", False),
        (record("unknown"), "outcome_unknown", False),
        (record("started", idempotent=True), "repeated", True),
        (record("waiting"), "repeated", True),
        (None, "repeated", True),
    ],
)
def test_ledger_tells_what_became_of_a_call(
    known: CallRecord | None, status: Any, repeated: bool
) -> None:
    closing = close_to_resume([called("pay1", **ON_RECORD)], {"pay1": known} if known else {})
    assert stati(closing.seals) == [status]
    assert bool(closing.repeats) == repeated
    assert bool(closing.unknown) == (status == "outcome_unknown")


def test_ledger_knows_a_repeated_call_by_the_id_of_the_first() -> None:
    known = {"pay1": record("succeeded", '{"paid": 5}')}
    assert stati(close_to_resume([called("pay1~3", **ON_RECORD)], known).seals) == [{"paid": 5}]


def test_call_that_was_made_before_there_was_a_ledger_may_have_run() -> None:
    assert stati(close_to_resume([called("pay1")], {}).seals) == ["outcome_unknown"]
    assert stati(close_to_resume([called("pay1", **ON_RECORD)]).seals) == ["outcome_unknown"]


def test_long_running_call_waits_only_if_it_has_begun() -> None:
    order = called("order1", long_running_tool_ids={"order1"}, **ON_RECORD)
    question = called("adk_request_confirmation1", long_running_tool_ids={"x"}, **ON_RECORD)
    assert ids(calls_never_begun([order, question], {})) == ["order1"]
    assert calls_never_begun([order], {"order1": record("waiting")}) == []
    assert calls_never_begun([order], {"order1": record("started")}) == []
    assert calls_never_begun([order], None) == []
    assert stati(close_to_resume([order], {}).seals) == ["repeated"]
    assert close_to_resume([order], {"order1": record("waiting")}).seals == []


def test_turn_that_is_over_keeps_the_results_that_the_ledger_has() -> None:
    turn = [called("pay1", "file1", **ON_RECORD)]
    known = {"pay1": record("succeeded", '{"paid": 5}'), "file1": record("started")}
    assert stati(close_for_good(turn, "failed", known)) == [{"paid": 5}, "failed"]


def test_repeated_call_keeps_the_id_of_the_first() -> None:
    assert repeated_call_id("c1") == "c1~2"
    assert repeated_call_id("c1~2") == "c1~3"
    assert original_call_id("c1~3") == "c1"
    assert original_call_id("c~a") == "c~a"
    assert repeated_call_id("c~a") == "c~a~2"


# --- the user's message


def message(*parts: Part) -> Content:
    return Content(role="user", parts=list(parts))


HELLO = message(Part(text="hello"))
CONFIRMED = message(
    Part(function_response=FunctionResponse(id="q1", name="adk_request_confirmation", response={}))
)


def test_message_is_stored_when_the_turn_has_one_of_the_user() -> None:
    assert is_stored([said("hello", "user")], HELLO)
    assert not is_stored([said("hello")], HELLO)
    assert not is_stored([answered("q1", author="user")], HELLO)
    assert not is_stored([], HELLO)


def test_answer_to_a_question_is_stored_when_the_same_question_was_answered() -> None:
    assert is_stored([answered("q1", author="user")], CONFIRMED)
    assert not is_stored([answered("q2", author="user")], CONFIRMED)
    assert not is_stored([said("hello", "user")], CONFIRMED)
    assert not is_stored([answered("q1")], CONFIRMED)


# --- how a turn ends


@pytest.mark.parametrize(
    ("turn", "end"),
    [
        ([], []),
        ([said("hello", "user")], []),
        ([said("hello", "user"), said("hi")], [1]),
        ([said("hello", "user"), said("hi"), Event(author="agent", invocation_id="t1")], [1]),
        ([said("hello", "user"), said("hi"), failed()], [1]),
        ([said("hello", "user"), called("a1")], []),
        ([said("hello", "user"), called("a1"), answered("a1")], []),
        ([said("hello", "user"), failed("SAFETY", "I will")], []),
        ([said("hello", "user"), failed("MAX_TOKENS", "most of it")], [1]),
        ([called("long1", long_running_tool_ids={"long1"})], [0]),
        ([called("long1", long_running_tool_ids={"long1"}), answered("long1")], []),
        ([called("long1", long_running_tool_ids={"long1"}), said("it takes long")], [0, 1]),
        (
            [
                called("q1", long_running_tool_ids={"q1"}),
                answered("a1", actions=EventActions(skip_summarization=True)),
            ],
            [0, 1],
        ),
        (
            [
                called("q1", long_running_tool_ids={"q1"}),
                answered("q1", author="user"),
                said("done"),
            ],
            [2],
        ),
        ([called("q1", long_running_tool_ids={"q1"}), answered("q1", author="user")], []),
    ],
)
def test_turn_has_ended_with_its_answer_or_a_question(turn: list[Event], end: list[int]) -> None:
    assert recorded_end(turn) == [turn[index] for index in end]


def test_answer_is_a_complete_text_of_an_agent() -> None:
    assert is_answer(said("hi"))
    assert not is_answer(said("hi", "user"))
    assert not is_answer(said("hi", partial=True))
    assert not is_answer(called("a1"))
    assert not is_answer(failed("SAFETY", "I will"))
    assert not is_answer(said("Retry attempt 1/3", "system", error_code="RETRY_ATTEMPT"))


def test_answer_of_a_turn_is_its_last_one() -> None:
    assert answer_of([said("first"), said("second"), called("a1")]) == "second"
    assert answer_of([]) == ""


def test_cut_off_text_is_no_error_but_cut_off_nothing_is() -> None:
    assert not is_error(failed("MAX_TOKENS", "most of it"))
    assert is_error(failed("MAX_TOKENS"))
    assert is_error(failed("SAFETY", "I will"))


def test_call_that_was_to_be_repeated_is_when_the_process_died_before_it_was() -> None:
    idempotent = {IDEMPOTENT_TOOLS: ["book"]}
    turn = [said("hello", author="user"), called("book1", custom_metadata=idempotent)]
    first = close_to_resume(turn)
    died = [*turn, *first.seals]
    again = close_to_resume(died)
    assert not again.seals
    assert [repeat.call.id for repeat in again.repeats] == [repeated_call_id("book1")]
    made = [*died, called(repeated_call_id("book1"), custom_metadata=idempotent)]
    assert not unmade_repeats(made)
