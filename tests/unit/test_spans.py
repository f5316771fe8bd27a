"""How ADK events become spans and content."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.events.event_actions import EventActions
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part

from oda.agent import notices
from oda.agent.failure import classify
from oda.agent.outcome import outcome_of
from oda.session.answers import answer_content
from oda.testing.script import Call, Cut, Error, Text, ToolCalls
from oda.turn.record import Turn, TurnError, TurnStatus
from tests.support.roots import KINDS, LLM, Kind, every_kind
from tests.support.spans import (
    Message,
    assert_nested,
    data_on,
    names_of,
    outcomes,
    pieces_of,
    titled,
    told_of,
    whole_texts,
)
from tests.support.stage import STREAMED, stage
from tests.support.turns import became, new_turn, spoken

WORK = ToolCalls(
    calls=(Call(name="work", args={"step": "a"}), Call(name="work", args={"step": "b"}))
)
RUNNING = became(new_turn(), "running")


def whole(*events: Event | Turn, status: TurnStatus = "succeeded", **changes: Any) -> list[Message]:
    """All that is told of a turn in which this happens."""
    queued = RUNNING.model_copy(update={"status": "queued", "attempts": 0})
    told = told_of([queued, RUNNING, *events, became(RUNNING, status, **changes)])
    assert_nested(told)
    return told


def event(*parts: Part, role: str = "model", **fields: Any) -> Event:
    fields = {"author": "agent", "node_path": "agent@1", **fields}
    return Event(content=Content(role=role, parts=[*parts]), **fields)


def call(name: str = "work", call_id: str = "c1", **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=call_id, name=name, args=args))


def result(call_id: str = "c1", name: str = "work", **response: Any) -> Part:
    return Part(function_response=FunctionResponse(id=call_id, name=name, response=response))


def waits(*pending: Mapping[str, Any]) -> Turn:
    return became(RUNNING, "waiting_input", pending_input=[*pending])


def parent_name(told: Sequence[Message], name: str) -> str:
    """Name of the span in which the only span of a name is."""
    starts = {one["span_id"]: one for one in told if one["type"] == "span.start"}
    (span,) = [one for one in starts.values() if one["name"] == name]
    found: str = starts[span["parent_id"]]["name"]
    return found


# --- whole turns of real agents


@every_kind
async def test_every_kind_of_root_nests_rightly_and_tells_all_its_texts(kind: Kind) -> None:
    play = await stage(kind, [WORK, Text(text="half done")])
    events = await play.ask(run_config=STREAMED)
    told = whole(*events)
    spoken_texts = [
        part.text
        for one in events
        if not one.partial
        for part in (one.content and one.content.parts) or ()
        if part.text
    ]
    assert whole_texts(told) == spoken_texts
    assert set(outcomes(told, "STEP")) == {"ok"}
    streamed = pieces_of(told)
    finals = {
        one["message_id"]: one["text"]
        for one in told
        if one.get("channel") == "PLAIN" and not one["delta"]
    }
    assert streamed == {key: finals[key] for key in streamed}


@pytest.mark.parametrize(
    ("kind", "tasks"),
    [
        ("llm", []),
        ("transfer", ["worker"]),
        ("sequential", ["preparer", "worker", "closer"]),
        ("parallel", ["sibling", "worker"]),
        ("graph_in_rounds", ["worker", "judge", "worker", "judge", "closer"]),
        ("graph_with_fork", ["preparer", "sibling", "worker", "join", "closer"]),
        ("sequence_behind_transfer", ["line", "preparer", "worker", "closer"]),
        ("sequence_in_graph", ["line", "preparer", "worker", "closer"]),
        ("nested", ["rounds", "preparer", "preparer", "line", "worker", "closer"]),
    ],
)
async def test_sub_agents_and_nodes_are_tasks(kind: str, tasks: list[str]) -> None:
    (chosen,) = [one for one in KINDS if one.name == kind]
    play = await stage(chosen, [WORK, Text(text="half done")])
    told = whole(*await play.ask(run_config=STREAMED))
    assert titled(told, "TASK") == tasks
    assert set(outcomes(told, "TASK")) <= {"ok"}


async def test_parallel_calls_are_siblings_in_the_step_of_the_answer() -> None:
    play = await stage(LLM, [WORK, Text(text="done")])
    told = whole(*await play.ask())
    assert names_of(told) == [
        *("PROCEDURE", "STEP", "TOOL_CALLING", "TOOL_CALLING", "STEP", "PLAIN"),
    ]
    assert [one.get("args", one.get("result")) for one in data_on(told, "TOOL_CALLING")] == [
        {"step": "a"},
        {"step": "b"},
        {"done": "a"},
        {"done": "b"},
    ]
    calls = [one for one in told if one.get("name") == "TOOL_CALLING" and "parent_id" in one]
    assert len({one["parent_id"] for one in calls}) == 1


async def test_a_retry_withdraws_what_was_streamed() -> None:
    play = await stage(
        LLM, [Error(status=429), Cut(text="half an", how="reset"), Text(text="whole")]
    )
    told = whole(*await play.ask(run_config=STREAMED))
    first, second = data_on(told, "SYSTEM")
    assert (first["withdrawn"], first["detail"]["delay_s"]) == ([], 1.0)
    assert [pieces_of(told)[one] for one in second["withdrawn"]] == ["half an"]
    assert whole_texts(told) == ["whole"]
    assert outcomes(told, "STEP") == ["interrupted", "ok"]


async def test_a_confirmed_call_stays_open_from_the_question_to_its_result() -> None:
    def pay(amount: int) -> dict[str, int]:
        return {"paid": amount}

    play = await stage(
        LLM,
        [ToolCalls(calls=(Call(name="pay", args={"amount": 1}),)), Text(text="paid")],
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    before = await play.ask(invocation_id="turn_1")
    (asked,) = outcome_of(before).pending_input
    answer = answer_content([asked], [(asked["id"], True, None)])
    after = await play.ask(answer, invocation_id="turn_1")
    told = whole(*before, waits(asked), became(RUNNING, "queued"), *after)
    assert names_of(told) == ["PROCEDURE", "STEP", "TOOL_CALLING", "HITL", "STEP", "PLAIN"]
    assert parent_name(told, "HITL") == "TOOL_CALLING"
    assert data_on(told, "HITL") == [asked]
    assert outcomes(told, "HITL") == outcomes(told, "TOOL_CALLING") == ["ok"]
    ends = [one["name"] for one in told if one["type"] == "span.end"]
    assert ends[:3] == ["HITL", "TOOL_CALLING", "STEP"]


# --- one event after the other


def test_thoughts_and_texts_have_spans_of_their_own() -> None:
    think, say = Part(text="hm", thought=True), Part(text="so")
    told = whole(
        event(think, partial=True), event(say, partial=True), event(think, Part(text="so it is"))
    )
    assert names_of(told) == ["PROCEDURE", "STEP", "THINK", "PLAIN"]
    assert whole_texts(told) == ["hm", "so it is"]
    assert set(outcomes(told, "THINK") + outcomes(told, "PLAIN")) == {"ok"}


def test_a_last_word_that_differs_takes_back_what_was_closed() -> None:
    told = whole(
        event(Part(text="one"), partial=True),
        event(Part(text="hm", thought=True), partial=True),
        event(Part(text="two")),
    )
    (replaced,) = data_on(told, "SYSTEM")
    assert replaced["code"] == "REPLACED"
    assert sorted(pieces_of(told)[one] for one in replaced["withdrawn"]) == ["hm", "one"]
    assert whole_texts(told)[-1] == "two"


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"done": 1}, "ok"),
        ({"error": "no"}, "failed"),
        ({"error": {"code": "path_refused", "message": "no"}}, "failed"),
        ({"error": "no", "status": "failed"}, "failed"),
        ({"error": "no", "status": "cancelled"}, "cancelled"),
        ({"error": "again", "status": "repeated"}, "interrupted"),
        ({"error": "who knows", "status": "outcome_unknown"}, "unknown"),
        ({"content": [], "isError": True}, "failed"),
    ],
)
def test_a_result_says_how_its_call_ended(response: dict[str, Any], outcome: str) -> None:
    told = whole(event(call()), event(result(**response), role="user"))
    assert outcomes(told, "TOOL_CALLING") == [outcome]
    assert outcomes(told, "STEP") == ["ok"]
    assert [one["code"] for one in data_on(told, "SYSTEM")] == (
        ["OUTCOME_UNKNOWN"] if outcome == "unknown" else []
    )


def test_files_are_outputs_in_the_step_that_wrote_them() -> None:
    actions = EventActions(artifact_delta={"plan.txt": 2})
    told = whole(event(call()), event(result(done=1), role="user", actions=actions))
    assert data_on(told, "OUTPUT") == [{"artifact": "plan.txt", "version": 2}]
    assert parent_name(told, "OUTPUT") == "STEP"


def test_data_of_the_model_comes_as_adks_part() -> None:
    image = Part(inline_data=Blob(mime_type="image/png", data=b"\xff\xfe"))
    told = whole(event(Part(text="look"), image))
    assert data_on(told, "OUTPUT") == [{"inlineData": {"mimeType": "image/png", "data": "__4="}}]


@pytest.mark.parametrize(
    ("name", "args", "channel"),
    [
        ("adk_request_input", {"message": "which?"}, "HITL"),
        ("adk_request_input", {"response_schema": {"type": "object"}}, "FORM"),
        ("adk_request_credential", {"functionCallId": "c1", "authConfig": {}}, "AUTH"),
        ("oda_request_limit", {"limit": "3 model calls"}, "HITL"),
    ],
)
def test_questions_come_on_the_channel_of_their_kind(
    name: str, args: dict[str, Any], channel: str
) -> None:
    asked = {"id": "q", "name": name, "args": args}
    told = whole(waits(asked), became(RUNNING, "queued"))
    assert data_on(told, channel) == [asked]
    assert outcomes(told, "HITL") == ["ok"]


def test_a_question_that_stays_unanswered_stays_open_while_others_are_answered() -> None:
    one, two = ({"id": key, "name": "adk_request_input", "args": {}} for key in "ab")
    answered = became(RUNNING, "queued", pending_input=[two])
    told = whole(waits(one, two), answered, waits(two), status="cancelled")
    assert outcomes(told, "HITL") == ["ok", "cancelled"]
    assert len(data_on(told, "HITL")) == 2


def test_a_long_running_call_ends_when_a_person_has_answered() -> None:
    asked = {"id": "c1", "name": "ship", "args": {}}
    told = whole(
        event(call("ship"), long_running_tool_ids={"c1"}),
        event(result(name="ship", status="pending"), role="user"),
        event(Part(text="it is under way")),
        waits(asked),
        became(RUNNING, "queued"),
        event(Part(text="it has come")),
    )
    assert parent_name(told, "HITL") == "TOOL_CALLING"
    assert outcomes(told, "TOOL_CALLING") == ["ok"]
    assert outcomes(told, "STEP") == ["ok", "ok", "ok"]


def test_a_crash_takes_back_what_was_never_stored() -> None:
    again = RUNNING.model_copy(update={"attempts": RUNNING.attempts + 1})
    told = whole(event(Part(text="half"), partial=True), again, event(Part(text="whole")))
    (resumed,) = data_on(told, "SYSTEM")
    assert resumed["code"] == "RESUMED"
    assert [pieces_of(told)[one] for one in resumed["withdrawn"]] == ["half"]


def test_a_crash_between_storing_and_showing_takes_nothing_back() -> None:
    again = RUNNING.model_copy(update={"attempts": RUNNING.attempts + 1})
    told = whole(event(Part(text="half"), partial=True), event(Part(text="half whole")), again)
    assert data_on(told, "SYSTEM") == []
    assert whole_texts(told) == ["half whole"]


def test_the_end_without_an_answer_is_told_once() -> None:
    failure = classify(ValueError("no"), now=0.0)
    notice = notices.gave_up(
        failure,
        invocation_id="t",
        retries=0,
        retries_exhausted=False,
        discard_partial=False,
        timestamp=0.0,
    )
    error = TurnError(code="limit_exceeded", message="Too much.", retryable=False)
    for events in ([notice], []):
        told = whole(*events, status="failed", error=error)
        assert len(data_on(told, "SYSTEM")) == 1
        assert told[-1]["error"] == error.model_dump()
    assert data_on(told, "SYSTEM")[0]["code"] == "limit_exceeded"


def test_cancelling_leaves_the_pieces_that_were_said() -> None:
    cancelled = notices.cancelled(invocation_id="t", timestamp=0.0)
    told = whole(event(Part(text="half"), partial=True), cancelled, status="cancelled")
    assert data_on(told, "SYSTEM")[0]["withdrawn"] == []
    assert outcomes(told, "PLAIN") == ["cancelled"]


def test_a_confirmation_that_was_asked_for_is_not_a_result() -> None:
    asks = EventActions(requested_tool_confirmations={"c1": ToolConfirmation(hint="?")})
    told = told_of([RUNNING, event(call()), event(result(error="wait"), role="user", actions=asks)])
    assert_nested(told, whole=False)
    assert outcomes(told, "TOOL_CALLING") == []


def test_a_log_without_its_beginning_is_told_as_well() -> None:
    told = told_of([event(Part(text="late")), became(RUNNING, "succeeded")])
    assert_nested(told)
    assert whole_texts(told) == ["late"]


def test_a_result_that_comes_after_its_agent_has_ended_is_left_out() -> None:
    at = {"author": "helper", "node_path": "agent@1/helper@1"}
    over = Event(actions=EventActions(end_of_agent=True), **at)
    told = whole(event(call(), **at), over, event(result(done=1), role="user", **at))
    assert outcomes(told, "TOOL_CALLING") == ["interrupted"]


def test_nothing_follows_the_end() -> None:
    ended = became(RUNNING, "succeeded")
    assert told_of([RUNNING, ended, spoken("more"), ended]) == told_of([RUNNING, ended])
