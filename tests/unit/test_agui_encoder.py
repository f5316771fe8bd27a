"""How the log of a turn becomes AG-UI events."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.events.event_actions import EventActions
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part

from oda.agent import notices
from oda.agent.failure import classify
from oda.message.progress import progress_event
from oda.server.agui.encoder import RunEncoder
from oda.server.agui.interrupts import answers_of, interrupt_of
from oda.server.agui.pieces import NewPieces
from oda.server.agui.request import begin_of_run, fingerprint, parse_input
from oda.server.agui.state import changes_of, patch_event
from oda.server.agui.transcript import user_message
from oda.server.problems import Refusal
from oda.turn.log import REPLACES_PARTIAL, Entry, Preview
from oda.turn.record import Turn, TurnError, TurnUsage
from tests.support.turns import became, new_turn, spoken

QUEUED = new_turn()
RUNNING = became(QUEUED, "running")
ID = QUEUED.turn_id
CONFIRMATION = {
    "id": "q1",
    "name": "adk_request_confirmation",
    "args": {
        "originalFunctionCall": {"id": "c1", "name": "pay", "args": {}},
        "toolConfirmation": {"hint": "Really?"},
    },
}
GRANT = {"id": "limit_1", "name": "oda_request_limit", "args": {"limit": "tokens"}}
RATE = classify(ConnectionError("refused"), now=0.0)


def log_of(*things: Event | Turn) -> list[Entry | Preview]:
    """The log in which this stands."""
    entries: list[Entry | Preview] = []
    number = 0
    for thing in things:
        if isinstance(thing, Event) and thing.partial:
            entries.append(Preview(thing))
            continue
        number += 1
        if isinstance(thing, Event):
            entries.append(Entry.of(number, "event", thing))
        else:
            entries.append(Entry.of(number, "done" if thing.final else "turn", thing))
    return entries


def told(*things: Event | Turn, begins_after: int = 0, **state: Any) -> list[dict[str, Any]]:
    """The events of a run with this log, as JSON, without the first two."""
    encoder = RunEncoder("t", "r", ID, begins_after=begins_after)
    encoder.snapshot(state)
    events = [event for entry in log_of(*things) for event in encoder.feed(entry)]
    last = things[-1]
    assert isinstance(last, Turn)
    events += encoder.finish(last)
    return [event.model_dump(mode="json", by_alias=True) for event in events]


def run(*events: Event, end: Turn | None = None, **state: Any) -> list[dict[str, Any]]:
    return told(QUEUED, RUNNING, *events, end or became(RUNNING, "succeeded"), **state)


def brief(events: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Kind and values of each event, without the ids of the turn."""

    def short(value: Any) -> Any:
        return value.replace(f"{ID}:", "") if isinstance(value, str) else value

    return [tuple(short(value) for value in event.values()) for event in events]


def event(*parts: Part, **fields: Any) -> Event:
    fields = {"author": "agent", "node_path": "agent@1", **fields}
    return Event(content=Content(role="model", parts=[*parts]), **fields)


def call(name: str = "pay", call_id: str = "c1", **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=call_id, name=name, args=args))


def result(call_id: str = "c1", name: str = "pay", **response: Any) -> Part:
    return Part(function_response=FunctionResponse(id=call_id, name=name, response=response))


def waits(*pending: Any, **changes: Any) -> Turn:
    return became(RUNNING, "waiting_input", pending_input=[*pending], **changes)


DONE = ("RUN_FINISHED", "t", "r", {"type": "success"})


def test_a_run_begins_with_the_protocols_version_and_the_state() -> None:
    encoder = RunEncoder("t", "r", ID)
    assert encoder.start().model_dump(mode="json", by_alias=True) == {
        "type": "RUN_STARTED",
        "metadata": {"oda": {"turn_id": ID}},
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
    }
    snapshot = encoder.snapshot({"a": 1}).model_dump(mode="json", by_alias=True)
    assert snapshot == {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def test_thoughts_texts_and_calls_in_order() -> None:
    thought = spoken("hm", thought=True, author="agent", partial=True)
    pieces = [spoken("let ", partial=True), spoken("me see", partial=True)]
    said = event(Part(text="hm", thought=True), Part(text="let me see"), call(amount=9))
    answer = event(result(paid=9))
    assert brief(run(thought, *pieces, said, answer, spoken("Paid."))) == [
        ("REASONING_START", "text_3_1"),
        ("REASONING_MESSAGE_START", "text_3_1", "reasoning"),
        ("REASONING_MESSAGE_CONTENT", "text_3_1", "hm"),
        ("REASONING_MESSAGE_END", "text_3_1"),
        ("REASONING_END", "text_3_1"),
        ("TEXT_MESSAGE_START", "text_3_2", "assistant", "agent"),
        ("TEXT_MESSAGE_CONTENT", "text_3_2", "let "),
        ("TEXT_MESSAGE_CONTENT", "text_3_2", "me see"),
        ("TEXT_MESSAGE_END", "text_3_2"),
        ("TOOL_CALL_START", "c1", "pay", "text_3_2"),
        ("TOOL_CALL_ARGS", "c1", '{"amount":9}'),
        ("TOOL_CALL_END", "c1"),
        ("TOOL_CALL_RESULT", "msg_4_1", "c1", '{"paid":9}', "tool"),
        ("TEXT_MESSAGE_START", "text_5_1", "assistant", "agent"),
        ("TEXT_MESSAGE_CONTENT", "text_5_1", "Paid."),
        ("TEXT_MESSAGE_END", "text_5_1"),
        DONE,
    ]


def test_a_reader_without_previews_is_told_the_same_messages() -> None:
    said = event(Part(text="hm", thought=True), Part(text="let me see"), call())
    thought = spoken("hm", thought=True, partial=True)
    live = run(thought, spoken("let ", partial=True), said)
    later = run(said)
    for kind in ("REASONING_START", "TEXT_MESSAGE_START", "TOOL_CALL_START"):
        assert [one for one in later if one["type"] == kind] == [
            one for one in live if one["type"] == kind
        ]


def test_text_that_is_withdrawn_is_discarded_before_a_snapshot() -> None:
    notice = notices.retry_attempt(
        RATE,
        invocation_id=ID,
        retry=1,
        max_retries=3,
        delay_s=0.5,
        discard_partial=True,
        timestamp=0.0,
    )
    events = run(spoken("half", partial=True), notice, spoken("Whole."))
    assert brief(events)[2:6] == [
        ("TEXT_MESSAGE_END", "text_3_1"),
        ("CUSTOM", "RETRY_ATTEMPT", events[3]["value"]),
        ("CUSTOM", "discard_message", {"messageId": f"{ID}:text_3_1"}),
        ("MESSAGES_SNAPSHOT", []),
    ]
    assert events[3]["value"] == {
        "cause": RATE.code,
        "message": RATE.message,
        "attempt": 1,
        "maxRetries": 3,
        "delay": 0.5,
    }
    without = run(notice, spoken("Whole."))
    assert "MESSAGES_SNAPSHOT" not in [one["type"] for one in without]
    assert without[1:] == events[6:]


def test_a_last_word_that_differs_takes_the_place_of_what_was_streamed() -> None:
    encoder = RunEncoder("t", "r", ID)
    log = log_of(QUEUED, RUNNING, spoken("five", partial=True), spoken("It is six."))
    events = [one.type.value for entry in log for one in encoder.feed(entry)]
    assert events[2:] == ["TEXT_MESSAGE_END", "CUSTOM", "MESSAGES_SNAPSHOT"]
    (message,) = encoder.transcript.messages({})
    assert message.content == "It is six."


def test_changes_of_the_state_are_patches() -> None:
    delta = {"new": 1, "known": [2], "gone": None, "same": True, "temp:x": 1, "_oda": 2, "a/b~": 0}
    changed = spoken("ok", actions=EventActions(state_delta=delta))
    (patch,) = [
        one["delta"]
        for one in run(changed, known=[1], gone=1, same=True)
        if one["type"] == "STATE_DELTA"
    ]
    assert patch == [
        {"op": "add", "path": "/new", "value": 1},
        {"op": "replace", "path": "/known", "value": [2]},
        {"op": "remove", "path": "/gone"},
        {"op": "add", "path": "/a~1b~0", "value": 0},
    ]
    assert patch_event({"a": 1}, {"a": 1, "b": None}) is None


def test_what_comes_back_unchanged_is_no_change() -> None:
    state = {"a": 1.0, "b": {"c": [1, None]}, "d": True}
    assert changes_of(state, {"a": 1, "b": {"c": [1, None]}, "d": True, "e": None}) == {}
    assert changes_of(state, {"d": 1, "a": None}) == {"d": 1, "a": None}


def test_progress_is_an_activity() -> None:
    report = {"call_id": "c1", "text": "working"}
    first = progress_event(report, author="agent", invocation_id=ID)
    events = run(event(call()), first, first, event(result(ok=1)))
    assert brief(events)[3:5] == [
        (
            "ACTIVITY_SNAPSHOT",
            "c1:progress",
            "progress",
            {"tool": "pay", "toolCallId": "c1", "progress": [report]},
        ),
        (
            "ACTIVITY_DELTA",
            "c1:progress",
            "progress",
            [{"op": "add", "path": "/progress/-", "value": report}],
        ),
    ]


def test_nested_agents_and_nodes_are_steps_of_different_names() -> None:
    inner = spoken("a", author="node", node_path="root@1/node@1", partial=True)
    other = spoken("b", author="node", node_path="root@1/node@2", branch="x", partial=True)
    outer = spoken("", author="root", node_path="root@1", partial=True)
    events = run(outer, inner, other)
    names = [one["stepName"] for one in events if one["type"] == "STEP_STARTED"]
    assert names == ["node", "node (2)"]
    ended = [one["stepName"] for one in events if one["type"] == "STEP_FINISHED"]
    assert sorted(ended) == names


def test_a_call_with_an_unknown_outcome_is_told() -> None:
    unknown = result(error="Who knows.", status="outcome_unknown")
    events = run(event(call()), event(unknown))
    (value,) = [one["value"] for one in events if one.get("name") == "outcome_unknown"]
    assert value == {"tool": "pay", "toolCallId": "c1", "message": "Who knows."}


def test_a_question_ends_the_run_and_the_answer_begins_the_next() -> None:
    waiting = waits(CONFIRMATION, usage=TurnUsage(input_tokens=5, output_tokens=1))
    first: list[Event | Turn] = [QUEUED, RUNNING, event(call()), waiting]
    events = told(*first)
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    assert interrupt["id"] == "q1"
    assert (interrupt["reason"], interrupt["message"]) == ("tool_call", "Really?")
    assert interrupt["toolCallId"] == "c1"
    assert interrupt["responseSchema"] == {
        "type": "object",
        "properties": {"confirmed": {"type": "boolean"}, "payload": {}},
        "required": ["confirmed"],
    }
    again = became(QUEUED, "queued")
    usage = TurnUsage(input_tokens=8, output_tokens=3)
    end = became(RUNNING, "succeeded", usage=usage)
    rest: list[Event | Turn] = [again, RUNNING, event(result(paid=1)), end]
    assert brief(told(*first, *rest, begins_after=4)) == [
        ("TOOL_CALL_RESULT", "msg_7_1", "c1", '{"paid":1}', "tool"),
        (*DONE, [{"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}]),
    ]
    whole = told(*first, *rest)
    assert [one["type"] for one in whole].count("RUN_FINISHED") == 1


def test_a_run_begins_again_inside_of_the_steps_that_are_open() -> None:
    asked = event(call("adk_request_input", "q1"), author="node", node_path="root@1/node@1")
    asked.long_running_tool_ids = {"q1"}
    root = spoken("hi", author="root", node_path="root@1")
    inner = spoken("hm", author="node", node_path="root@1/node@1")
    waiting = waits({"id": "q1", "name": "x", "args": {}})
    first: list[Event | Turn] = [QUEUED, RUNNING, root, inner, asked, waiting]
    opened = [one["type"] for one in told(*first)]
    assert opened.count("STEP_STARTED") == opened.count("STEP_FINISHED") == 1
    rest = [QUEUED, RUNNING, became(RUNNING, "succeeded")]
    events = brief(told(*first, *rest, begins_after=6))
    assert events == [("STEP_STARTED", "node"), ("STEP_FINISHED", "node"), DONE]


def test_calls_of_the_clients_tools_are_pending_and_no_interrupts() -> None:
    pending = {"id": "c1", "name": "set_colour", "args": {}, "client": True}
    assert told(QUEUED, RUNNING, waits(pending))[-1]["outcome"] == {
        "type": "success",
        "pendingToolCallIds": ["c1"],
    }
    both = told(QUEUED, RUNNING, waits(pending, CONFIRMATION))[-1]["outcome"]
    assert [one["id"] for one in both["interrupts"]] == ["q1"]


@pytest.mark.parametrize("code", ["limit_exceeded", "daily_limit"])
def test_a_limit_is_told_before_the_end(code: str) -> None:
    error = TurnError(code=code, message="Too much.", retryable=False)
    assert brief(told(QUEUED, RUNNING, became(RUNNING, "failed", error=error))) == [
        ("CUSTOM", "limit_reached", error.model_dump()),
        ("RUN_ERROR", "Too much.", code),
    ]
    asked = told(QUEUED, RUNNING, waits(GRANT))
    assert brief(asked)[0] == ("CUSTOM", "limit_reached", {"limit": "tokens"})
    assert asked[-1]["outcome"]["interrupts"][0]["reason"] == "oda:limit"


def test_failed_and_cancelled_turns_close_what_is_open() -> None:
    half = spoken("half", partial=True)
    error = TurnError(code="rate_limited", message="No.", retryable=True)
    failed = brief(run(half, end=became(RUNNING, "failed", error=error)))
    assert failed[-2:] == [("TEXT_MESSAGE_END", "text_3_1"), ("RUN_ERROR", "No.", "rate_limited")]
    cancelled = brief(run(half, end=became(RUNNING, "cancelled")))
    assert cancelled[-2:] == [
        ("TEXT_MESSAGE_END", "text_3_1"),
        ("RUN_FINISHED", "t", "r", {"type": "cancelled"}),
    ]


def test_a_text_that_comes_again_as_a_whole_is_shown_once() -> None:
    pieces = NewPieces()
    marked = {"custom_metadata": {REPLACES_PARTIAL: True}}

    def shown(one: Event) -> list[str | None] | None:
        new = pieces.of(one)
        return None if new is None else [part.text for part in new.content.parts]  # type: ignore[union-attr]

    assert shown(spoken("a ", partial=True)) == ["a "]
    assert shown(spoken("b", partial=True)) == ["b"]
    assert shown(spoken("a b", partial=True, **marked)) is None
    assert shown(spoken("a bc", partial=True, **marked)) == ["c"]
    assert shown(spoken("other", partial=True, **marked)) is None
    assert shown(spoken("a bc d")) == ["a bc d"]
    assert shown(spoken("new", partial=True, **marked)) == ["new"]


def test_answers_are_read_from_what_a_run_resumes() -> None:
    entries = [
        {"interruptId": "a", "status": "resolved", "payload": {"confirmed": False, "payload": 1}},
        {"interruptId": "b", "status": "resolved", "payload": True},
        {"interruptId": "c", "status": "resolved", "payload": "blue"},
        {"interruptId": "d", "status": "cancelled"},
        {"interruptId": "e", "status": "resolved"},
    ]
    given = {"threadId": "t", "runId": "r", "messages": [], "resume": entries}
    parsed = parse_input(json.dumps(given).encode())
    assert answers_of(parsed.resume or []) == [
        ("a", False, 1),
        ("b", True, None),
        ("c", True, "blue"),
        ("d", False, None),
        ("e", True, None),
    ]


def test_a_question_with_a_form_asks_for_it() -> None:
    form = {"type": "object", "properties": {"city": {"type": "string"}}}
    asked = {"message": "Where?", "response_schema": form}
    interrupt = interrupt_of({"id": "q", "name": "adk_request_input", "args": asked})
    assert interrupt.response_schema is not None
    assert interrupt.response_schema["properties"]["payload"] == form
    assert (interrupt.reason, interrupt.message) == ("input_required", "Where?")


def test_the_run_of_an_answer_begins_behind_its_question() -> None:
    one, two = {"id": "a", "name": "x", "args": {}}, {"id": "b", "name": "y", "args": {}}
    log = [QUEUED, RUNNING, waits(one), QUEUED, RUNNING, waits(two), QUEUED, RUNNING]
    entries = [entry for entry in log_of(*log) if isinstance(entry, Entry)]
    assert begin_of_run(entries, frozenset()) == 0
    assert begin_of_run(entries, frozenset({"a"})) == 3
    assert begin_of_run(entries, frozenset({"a", "b"})) == 6


def test_a_repeated_run_may_know_more_than_before() -> None:
    user = '{"id": "1", "role": "user", "content": "hi"}'
    more = f'{user}, {{"id": "2", "role": "assistant", "content": "half"}}'
    head = '{"threadId": "t", "runId": "r", "messages": '
    first = parse_input(f"{head}[{user}]}}".encode())
    again = parse_input(f'{head}[{more}], "state": {{"a": 1}}}}'.encode())
    assert fingerprint(first) == fingerprint(again)
    other = parse_input(f"{head}[{user.replace('hi', 'ho')}]}}".encode())
    assert fingerprint(other) != fingerprint(first)


def test_a_malformed_input_names_its_fields() -> None:
    with pytest.raises(Refusal) as refused:
        parse_input(b'{"threadId": 1, "messages": []}')
    assert refused.value.status == 422
    assert {one["field"] for one in refused.value.errors or ()} == {"threadId", "runId"}


def test_a_users_files_are_parts_of_the_message() -> None:
    blob = Blob(data=b"x", mime_type="image/png")
    content = Content(role="user", parts=[Part(text="look"), Part(inline_data=blob)])
    message = user_message("m", content)
    assert message is not None and isinstance(message.content, list)
    assert [part.type for part in message.content] == ["text", "image"]
    assert user_message("m", Content(role="user", parts=[result()])) is None
