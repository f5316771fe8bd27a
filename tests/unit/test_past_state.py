"""What a session's state was, told from its events."""

from typing import Any

from google.adk.events import Event, EventActions
from google.genai.types import Content, Part

from oda.session.past_state import (
    META,
    begin_of,
    changed_since,
    difference,
    events_until,
    initial_state,
    own,
    state_after,
    turns_after,
)


def change(turn: str, **delta: Any) -> Event:
    return Event(author="a", invocation_id=turn, actions=EventActions(state_delta=delta))


def message(turn: str) -> Event:
    return Event(author="user", invocation_id=turn, content=Content(parts=[Part(text="x")]))


def test_own_state_is_what_belongs_to_the_session_alone() -> None:
    state: dict[str, Any] = {"a": 1, "b": None, "user:c": 1, "app:d": 1, "temp:e": 1, "_oda": {}}
    assert own(state) == {"a": 1}


def test_untouched_keys_are_as_they_were_created() -> None:
    state = {"kept": 1, "touched": 9, "_oda_initial": {"touched": 2, "kept": 1}}
    assert initial_state(state, [change("t", touched=9)]) == {"kept": 1, "touched": 2}


def test_sessions_made_elsewhere_have_no_record_of_what_was_touched_since() -> None:
    assert initial_state({"kept": 1, "touched": 9}, [change("t", touched=9)]) == {"kept": 1}


def test_state_after_events_has_no_deleted_keys() -> None:
    events = [change("t", a=2, b=3), change("t", b=None, **{"user:c": 1})]
    assert state_after({"a": 1, "z": 0}, events) == {"a": 2, "z": 0}


def test_difference_changes_one_state_into_the_other() -> None:
    now = {"same": 1, "other": 2, "more": 3, "user:x": 4}
    assert difference(now, {"same": 1, "other": 5, "new": 6}) == {
        "other": 5,
        "new": 6,
        "more": None,
    }


def test_what_follows_a_turn_changes_the_state_only_with_a_delta() -> None:
    events = [message("a"), change("a", x=1), message("b")]
    assert not changed_since("a", events)
    assert changed_since("a", [*events, change("b", x=2)])
    assert changed_since("elsewhere", events)
    assert not changed_since("b", [change("a", x=1), message("b")])
    assert list(events_until("a", events)) == events[:2]
    assert list(events_until("elsewhere", events)) == events


def test_turns_are_those_of_the_last_message() -> None:
    events = [change("t", **{META: {"turns": 2}}), change("t", a=1)]
    assert turns_after(events) == 2
    assert turns_after([]) == 0


def test_a_turn_begins_with_its_first_event_and_has_content() -> None:
    events = [message("t1"), change("change", a=1), change("t2", a=1), message("t2")]
    assert begin_of("t1", events) == 0
    assert begin_of("t2", events) == 2
    assert begin_of("change", events) is None
    assert begin_of("none", events) is None
