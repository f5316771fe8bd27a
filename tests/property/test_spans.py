"""Rules of the message protocol that hold for every log, also for such as no agent writes."""

from typing import Any

from google.adk.events import Event
from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai.types import Content, FunctionCall, FunctionResponse, Part
from hypothesis import given, settings
from hypothesis import strategies as st

from oda.message.protocol import MessageBuilder, messages_of
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnError, TurnStatus
from tests.support.spans import assert_nested, pieces_of, told_of
from tests.support.turns import new_turn

TURN = new_turn()
NAMES = st.sampled_from(["root", "a", "b", "c"])
IDS = st.sampled_from(["c1", "c2", "c3"])
TEXTS = st.sampled_from(["one ", "two ", "three "])
Log = list[Event | Turn]

texts = st.builds(Part, text=TEXTS, thought=st.sampled_from([None, True]))
calls = st.builds(
    lambda name, key: Part(function_call=FunctionCall(id=key, name=name, args={})),
    st.sampled_from(["work", "transfer_to_agent", "adk_request_input"]),
    IDS,
)
results = st.builds(
    lambda key, response: Part(
        function_response=FunctionResponse(id=key, name="work", response=response)
    ),
    IDS,
    st.sampled_from(
        [
            {"done": 1},
            {"error": "no"},
            *({"error": "no", "status": s} for s in ("repeated", "outcome_unknown")),
        ]
    ),
)
actions = st.builds(
    EventActions,
    artifact_delta=st.sampled_from([{}, {}, {"f.txt": 1}]),
    transfer_to_agent=st.sampled_from([None, None, "b"]),
    end_of_agent=st.sampled_from([None, None, True]),
    agent_state=st.sampled_from([None, None, {"current_sub_agent": "a"}, {}]),
    requested_tool_confirmations=st.sampled_from([{}, {}, {"c1": ToolConfirmation()}]),
)
paths = st.sampled_from(["", "root@1", "root@1/a@1", "root@1/a@1/b@1", "root@1/b@2", "root@2"])


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event of an agent or a person."""
    partial = draw(st.booleans())
    parts = draw(st.lists(texts if partial else texts | calls | results, max_size=3))
    event = Event(
        author=draw(NAMES | st.just("user")),
        content=Content(role="model", parts=parts),
        partial=partial or None,
        actions=EventActions() if partial else draw(actions),
        branch=draw(st.sampled_from([None, None, "root.a", "a.b"])),
        output=draw(st.sampled_from([None, None, "out"])),
        error_code=draw(st.sampled_from([None, None, None, "MAX_TOKENS"])),
        long_running_tool_ids=draw(st.sampled_from([None, {"c2"}])),
        timestamp=draw(st.floats(0, 2e9)),
    )
    event.node_info.path = draw(paths)
    event.node_info.output_for = draw(st.sampled_from([None, [event.node_info.path]]))
    return event


notices = st.builds(
    lambda final, discard: Event(
        author="system",
        error_code="CANCELLED" if final else "RETRY_ATTEMPT",
        error_message="why",
        actions=EventActions(escalate=True if final else None),
        custom_metadata={"error": {"code": "x"}, "discard_partial": discard},
    ),
    st.booleans(),
    st.booleans(),
)


def record(status: TurnStatus, attempts: int = 1, asked: Any = ()) -> Turn:
    pending = [{"id": key, "name": "adk_request_input", "args": {}} for key in asked]
    error = TurnError(code="x", message="no", retryable=False) if status == "failed" else None
    changes = {"status": status, "attempts": attempts, "pending_input": pending, "error": error}
    return TURN.model_copy(update=changes)


open_records = st.builds(
    record,
    st.sampled_from(["queued", "running", "waiting_input"]),
    st.integers(0, 3),
    st.lists(IDS, unique=True),
)
final_records = st.builds(record, st.sampled_from(["succeeded", "failed", "cancelled"]))
logs = st.lists(events() | events() | notices | open_records, max_size=14)


@settings(max_examples=500)
@given(logs, final_records)
def test_spans_nest_and_end_once_whatever_the_log(log: Log, done: Turn) -> None:
    assert_nested(told_of([*log, done]))
    assert_nested(told_of(log), whole=False)


@given(logs, final_records)
def test_any_reader_gets_the_same_however_it_reads(log: Log, done: Turn) -> None:
    whole = [*log, done]
    builder = MessageBuilder()
    piecewise = [message for entry in whole for message in builder.feed(entry)]
    assert piecewise == messages_of(whole)
    stored = [
        Entry(n, entry.kind, entry.json).data
        for n, entry in enumerate(
            (Entry.of(0, "event" if isinstance(one, Event) else "turn", one) for one in whole), 1
        )
    ]
    assert told_of(stored) == told_of(whole)


@given(logs, st.integers(0, 14))
def test_what_was_told_holds_whatever_comes_later(log: Log, cut: int) -> None:
    told = told_of(log)
    before = told_of(log[:cut])
    assert told[: len(before)] == before


@st.composite
def answers(draw: st.DrawFn) -> list[Event]:
    """A model's answer: texts and thoughts in pieces, then the whole of it."""
    thought, text = draw(st.lists(TEXTS, max_size=3)), draw(st.lists(TEXTS, min_size=1, max_size=3))
    pieces = [Part(text=one, thought=True) for one in thought] + [Part(text=one) for one in text]
    whole = [Part(text="".join(thought), thought=True)] if thought else []
    parts = [*whole, Part(text="".join(text)), *draw(st.lists(calls, max_size=2))]
    streamed = [
        Event(author="root", partial=True, content=Content(role="model", parts=[one]))
        for one in pieces
    ]
    final = Event(author="root", content=Content(role="model", parts=parts))
    return [*(streamed if draw(st.booleans()) else []), final]


@given(st.lists(answers(), max_size=4))
def test_the_pieces_of_a_text_add_up_to_the_whole(turn: list[list[Event]]) -> None:
    told = told_of([event for answer in turn for event in answer])
    wholes = {
        one["message_id"]: one["text"]
        for one in told
        if one.get("channel") == "PLAIN" and not one["delta"]
    }
    streamed = pieces_of(told)
    assert streamed == {key: wholes[key] for key in streamed}
    assert not [one for one in told if one.get("channel") == "SYSTEM"]
