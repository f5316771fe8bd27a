"""A session's state as callers use it, and what the session stores of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from oda.session.state import SessionState


class Store:
    """Stores changes as a session does."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self.commits: list[dict[str, Any]] = []
        self.state = SessionState(stored or {}, self._commit)

    async def _commit(self) -> None:
        delta = self.state.pending()
        self.commits.append(delta)
        self.state.stored(delta)


STORED = {"city": "Rome", "user:name": "Ada", "app:tariff": 3, "gone": None, "_oda_x": 1, "_adk": 2}


def test_it_reads_like_a_mapping_of_what_is_visible() -> None:
    state = Store(STORED).state
    assert dict(state) == {"city": "Rome", "user:name": "Ada", "app:tariff": 3}
    assert len(state) == 3
    assert state == {"city": "Rome", "user:name": "Ada", "app:tariff": 3}
    assert state["city"] == "Rome"
    assert state.get("nothing", "default") == "default"
    assert state.has("city")
    assert not state.has("gone")


@pytest.mark.parametrize("key", ["nothing", "gone", "_oda_x", "_adk"])
def test_key_that_is_not_there_deleted_or_internal_is_a_key_error(key: str) -> None:
    state = Store(STORED).state
    assert key not in state
    with pytest.raises(KeyError):
        state[key]


@pytest.mark.parametrize("key", ["_oda", "_oda_lane", "_adk_resume", "temp:x"])
def test_reserved_keys_are_refused_and_nothing_changes(key: str) -> None:
    state = Store().state
    for change in (
        lambda: state.set(key, 1),
        lambda: state.delete(key),
        lambda: state.update({"fine": 1, key: 1}),
    ):
        with pytest.raises(ValueError, match="reserved"):
            change()
    assert state.pending() == {}
    assert dict(state) == {}


def test_change_shows_at_once_and_is_pending_until_it_is_stored() -> None:
    store = Store({"city": "Rome", "day": "Monday"})
    store.state.set("city", "Oslo")
    store.state.delete("day")
    assert dict(store.state) == {"city": "Oslo"}
    assert store.state.pending() == {"city": "Oslo", "day": None}
    assert store.state.raw("city") == "Rome"
    assert store.commits == []


async def test_awaited_change_is_stored_with_all_that_is_pending() -> None:
    store = Store()
    store.state.set("city", "Oslo")
    await store.state.update({"day": "Monday", "hour": 9})
    assert store.commits == [{"city": "Oslo", "day": "Monday", "hour": 9}]
    assert store.state.pending() == {}
    assert dict(store.state) == {"city": "Oslo", "day": "Monday", "hour": 9}


def test_deleting_what_is_not_there_is_no_error() -> None:
    state = Store().state
    state.delete("nothing")
    assert dict(state) == {}


async def test_clear_removes_the_sessions_own_keys_only() -> None:
    store = Store(STORED)
    store.state.set("day", "Monday")
    await store.state.clear()
    assert dict(store.state) == {"user:name": "Ada", "app:tariff": 3}
    assert store.commits == [{"city": None, "day": None}]
    assert store.state.raw("_oda_x") == 1


def test_change_made_while_another_was_being_stored_stays_pending() -> None:
    state = Store().state
    state.set("city", "Rome")
    delta = state.pending()
    state.set("city", "Oslo")
    state.set("day", "Monday")
    state.stored(delta)
    assert state.pending() == {"city": "Oslo", "day": "Monday"}
    assert dict(state) == {"city": "Oslo", "day": "Monday"}


def test_what_a_turn_stores_is_seen_except_temporary_keys() -> None:
    state = Store({"city": "Rome"}).state
    state.stored({"city": "Oslo", "temp:scratch": 1, "_oda_lane": "x"})
    assert dict(state) == {"city": "Oslo"}
    assert state.raw("_oda_lane") == "x"
    assert state.raw("temp:scratch") is None


def test_own_change_hides_what_a_turn_stores_until_it_is_stored_itself() -> None:
    state = Store().state
    state.set("city", "Rome")
    state.stored({"city": "Oslo"})
    assert state["city"] == "Rome"
    assert state.pending() == {"city": "Rome"}


def test_copy_shares_nothing_with_the_state() -> None:
    state = Store({"cities": ["Rome"]}).state
    state.to_dict()["cities"].append("Oslo")
    assert state["cities"] == ["Rome"]


def test_pending_changes_are_a_copy() -> None:
    state = Store().state
    state.set("city", "Rome")
    state.pending().clear()
    assert state.pending() == {"city": "Rome"}


def test_false_and_empty_values_are_values() -> None:
    state = Store({"zero": 0, "empty": "", "no": False, "list": []}).state
    assert dict(state) == {"zero": 0, "empty": "", "no": False, "list": []}
