"""The state of a session as a mapping whose changes wait to be stored."""

from collections.abc import Mapping
from typing import Any

import pytest

from oda.errors import InvalidRequestError
from oda.session.state import SessionState, refuse_client_keys, visible


class Storing:
    """A state, and what it asks to be stored."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.commits: list[dict[str, Any]] = []
        self.state = SessionState(stored, self._commit)

    async def _commit(self) -> None:
        delta = self.state.pending()
        self.commits.append(delta)
        self.state.stored(delta)


STORED = {
    "a": 1,
    "gone": None,
    "user:name": "Ada",
    "app:rate": 2,
    "_oda": {"turns": 3},
    "temp:x": 1,
}


def test_state_reads_as_a_mapping_of_what_is_the_callers() -> None:
    state = Storing(STORED).state
    assert dict(state) == {"a": 1, "user:name": "Ada", "app:rate": 2}
    assert len(state) == 3
    assert state["a"] == 1
    assert state.get("gone", "default") == "default"
    assert "gone" not in state
    assert not state.has("_oda")
    with pytest.raises(KeyError):
        state["_oda"]
    assert state.raw("_oda") == {"turns": 3}


def test_changes_show_at_once_and_wait_to_be_stored() -> None:
    storing = Storing(STORED)
    storing.state.set("b", [1])
    storing.state.delete("a")
    storing.state.update({"c": 3, "user:name": None})
    assert dict(storing.state) == {"b": [1], "c": 3, "app:rate": 2}
    assert storing.state.pending() == {"b": [1], "a": None, "c": 3, "user:name": None}
    assert storing.commits == []


async def test_awaited_change_is_stored_with_those_that_wait() -> None:
    storing = Storing({})
    storing.state.set("a", 1)
    await storing.state.set("b", 2)
    assert storing.commits == [{"a": 1, "b": 2}]
    assert storing.state.pending() == {}
    assert dict(storing.state) == {"a": 1, "b": 2}


def test_change_made_while_another_was_being_stored_is_not_lost() -> None:
    state = Storing({}).state
    state.set("a", 1)
    on_its_way = state.pending()
    state.set("a", 2)
    state.stored(on_its_way)
    assert state["a"] == 2
    assert state.pending() == {"a": 2}


def test_what_a_turn_has_stored_is_seen() -> None:
    state = Storing({"a": 1}).state
    state.stored({"a": 2, "b": 3, "temp:x": 4})
    assert dict(state) == {"a": 2, "b": 3}
    assert state.raw("temp:x") is None


def test_clear_removes_the_sessions_own_keys_only() -> None:
    state = Storing(STORED).state
    state.clear()
    assert dict(state) == {"user:name": "Ada", "app:rate": 2}


@pytest.mark.parametrize("key", ["_oda", "_oda_x", "_adk_replay_config", "temp:x"])
def test_reserved_keys_cannot_be_changed(key: str) -> None:
    state = Storing(STORED).state
    with pytest.raises(ValueError, match="reserved"):
        state.set(key, 1)
    with pytest.raises(ValueError, match="reserved"):
        state.delete(key)
    with pytest.raises(ValueError, match="reserved"):
        state.update({"fine": 1, key: 1})
    assert state.pending() == {}


def test_copy_is_deep() -> None:
    state = Storing({"list": [1]}).state
    copy = state.to_dict()
    copy["list"].append(2)
    assert state["list"] == [1]


def test_key_that_is_not_there_may_be_deleted() -> None:
    state = Storing({}).state
    state.delete("never")
    assert dict(state) == {}


def test_visible_is_what_a_caller_sees_of_a_stored_state() -> None:
    assert visible(STORED) == {"a": 1, "user:name": "Ada", "app:rate": 2}


def test_reload_takes_what_is_stored_and_keeps_what_waits() -> None:
    state = Storing({"a": 1, "b": 1}).state
    state.set("b", 2)
    state.reload({"a": 3, "b": 4, "c": 5})
    assert dict(state) == {"a": 3, "b": 2, "c": 5}
    assert state.pending() == {"b": 2}


@pytest.mark.parametrize(
    "key", ["app:x", "user:x", "temp:x", "_oda", "_oda_initial", "_adk", "_adk_replay_config"]
)
def test_clients_may_not_write_what_is_not_theirs(key: str) -> None:
    with pytest.raises(InvalidRequestError, match=key):
        refuse_client_keys({"fine": 1, key: None})


@pytest.mark.parametrize("key", ["x", "user", "users:x", "_x", "a:b", ""])
def test_clients_may_write_the_sessions_keys(key: str) -> None:
    refuse_client_keys({key: 1})
