"""What is loaded of an orchestrated session: valid whatever is stored, and as old as it may be."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from oda.orchestration import OrchestrationRules, PendingSwitch
from oda.orchestration.state import (
    OrchestrationState,
    Restored,
    SceneState,
    deadline,
    restore,
    user_time_zone,
)

SCENES = {"chat": ("idle", "clarify"), "recite": ("idle", "listening")}
RULES = OrchestrationRules(carried=frozenset({"schedule"}))
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
ZONES = (
    "UTC",
    "Asia/Shanghai",
    "Asia/Kathmandu",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
)
"""Among them UTC+14, UTC-11, quarters of an hour, and clocks that are put forward and back."""


def state(scene: str = "recite", *, at: datetime = NOON, **changes: Any) -> OrchestrationState:
    """A session in which something was said at a time."""
    made = OrchestrationState(
        user_id="u",
        session_id="s",
        active_scene=scene,
        scene_state=SceneState.of(SCENES[scene][-1], {"schedule": ["静夜思"], "round": 2}),
        ttl_deadline=deadline(scene, "chat", at, RULES),
        last_activity=at,
        updated_at=at,
        version=7,
    )
    return made.model_copy(update=changes)


def loaded(stored: object, now: datetime = NOON, rules: OrchestrationRules = RULES) -> Restored:
    return restore(stored, user_id="u", session_id="s", scenes=SCENES, now=now, rules=rules)


def dumped(one: OrchestrationState) -> dict[str, JsonValue]:
    """As it is stored."""
    stored: dict[str, JsonValue] = json.loads(json.dumps(one.model_dump(mode="json")))
    return stored


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
moments = st.datetimes(timezones=st.sampled_from([UTC, *map(ZoneInfo, ZONES)])).map(
    datetime.isoformat
)
fields = st.sampled_from(sorted(OrchestrationState.model_fields))


@given(json_values)
@example({"active_scene": "\ud800"})
@example([])
@example("")
@example(0)
def test_whatever_is_stored_something_valid_is_loaded(stored: JsonValue) -> None:
    restored = loaded(stored)
    assert restored.state.active_scene == "chat"
    assert restored.state.scene_state == SceneState(phase="idle")
    assert restored.resets == (() if stored is None else ("bad_shape",))
    assert bool(restored.details) == bool(restored.resets)


@given(
    st.dictionaries(fields, json_values | moments, max_size=3),
    st.sampled_from(ZONES),
    st.sampled_from(["chat", "recite"]),
)
@example({"last_activity": "0001-01-01T00:00:00+00:00"}, "Pacific/Pago_Pago", "chat")
@example({"last_activity": "9999-12-31T23:59:59+00:00"}, "Pacific/Kiritimati", "recite")
@example({"ttl_deadline": "9999-12-31T23:59:59-11:00"}, "Pacific/Kiritimati", "recite")
@example({"scene_state": {"phase": "idle", "data": 1, "self": 2}}, "UTC", "recite")
@example({"scene_state": {"phase": "idle", "\ud800": "\ud800"}}, "UTC", "recite")
@example({"pending_switch": {"target": "dancing"}}, "UTC", "recite")
@example({"version": -1}, "UTC", "recite")
@example({"dancing": True}, "UTC", "recite")
def test_a_state_that_a_client_has_changed_is_valid_or_reset_and_stays_so(
    changes: dict[str, JsonValue], zone: str, scene: str
) -> None:
    now = (NOON + timedelta(minutes=5)).astimezone(ZoneInfo(zone))
    first = loaded({**dumped(state(scene)), **changes}, now)
    assert first.state.scene_state.phase in SCENES[first.state.active_scene]
    assert first.state.pending_switch is None or first.state.pending_switch.target in SCENES
    assert (first.state.user_id, first.state.session_id) == ("u", "s")
    again = loaded(dumped(first.state), now)
    assert again == Restored(state=first.state)


@pytest.mark.parametrize(
    ("changes", "reset", "told"),
    [
        ({"active_scene": "dancing"}, "unknown_scene", "dancing/listening"),
        ({"scene_state": {"phase": "jumping"}}, "unknown_scene", "recite/jumping"),
        ({"scene_state": {}}, "bad_shape", "scene_state.phase: Field required"),
        ({"last_activity": "2026-03-10T12:00:00"}, "bad_shape", "last_activity"),
        ({"unknown": 1}, "bad_shape", "unknown"),
        ({"pending_switch": {"target": "dancing"}}, "unknown_scene", "asked: dancing"),
    ],
)
def test_why_a_state_was_reset_is_told(changes: dict[str, Any], reset: str, told: str) -> None:
    restored = loaded({**dumped(state()), **changes})
    assert restored.resets == (reset,)
    assert told in restored.details


def test_a_question_about_a_scene_that_is_gone_is_dropped_and_nothing_else() -> None:
    asked = state(pending_switch=PendingSwitch(target="dancing", slots={"song": "x"}))
    assert loaded(dumped(asked)).state == asked.model_copy(update={"pending_switch": None})


@given(
    st.timedeltas(timedelta(0), timedelta(days=730)).map(datetime(2025, 1, 1, tzinfo=UTC).__add__),
    st.timedeltas(timedelta(0), timedelta(hours=24) - timedelta(microseconds=1)),
    st.sampled_from(ZONES),
)
def test_a_day_ends_when_it_ends_for_the_user(
    latest: datetime, later: timedelta, zone: str
) -> None:
    now = (latest + later).astimezone(ZoneInfo(zone))
    restored = loaded(dumped(state("chat", at=latest)), now)
    if _day(latest, zone) == _day(now, zone):
        assert restored == Restored(state=state("chat", at=latest))
    else:
        assert restored.resets == ("new_day",)
        assert restored.state.scene_state == SceneState(phase="idle")
        assert restored.state.version == 7


def _day(moment: datetime, zone: str) -> int:
    """The user's days since 1970."""
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC) + offset) // timedelta(days=1)


@pytest.mark.parametrize(
    ("zone", "latest", "now", "is_new_day"),
    [
        # 23:59:59 and 00:00:00 of clocks that are 14 hours ahead and 11 hours behind
        ("Pacific/Kiritimati", "2026-03-10T09:59:59Z", "2026-03-10T10:00:00Z", True),
        ("Pacific/Pago_Pago", "2026-03-10T10:59:59Z", "2026-03-10T11:00:00Z", True),
        ("Pacific/Kiritimati", "2026-03-09T23:30:00Z", "2026-03-10T00:30:00Z", False),
        ("Pacific/Pago_Pago", "2026-03-09T23:30:00Z", "2026-03-10T00:30:00Z", False),
        # the day of 23 hours in New York: 8 March 2026
        ("America/New_York", "2026-03-08T04:59:59Z", "2026-03-08T05:00:00Z", True),
        ("America/New_York", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z", True),
        ("America/New_York", "2026-03-08T06:59:00Z", "2026-03-08T07:01:00Z", False),
        # the day of 25 hours in Berlin: 25 October 2026
        ("Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", False),
        ("Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T21:59:59Z", False),
        ("Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z", True),
    ],
)
def test_days_at_the_ends_of_the_world_and_of_summer(
    zone: str, latest: str, now: str, is_new_day: bool
) -> None:
    before = state("chat", at=datetime.fromisoformat(latest))
    restored = loaded(dumped(before), datetime.fromisoformat(now).astimezone(ZoneInfo(zone)))
    assert restored.resets == (("new_day",) if is_new_day else ())


MOMENT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("idle", "resets"),
    [
        (timedelta(minutes=10) - MOMENT, ()),
        (timedelta(minutes=10), ()),
        (timedelta(minutes=10) + MOMENT, ("idle",)),
    ],
)
def test_a_scene_is_left_after_more_than_ten_minutes(
    idle: timedelta, resets: tuple[str, ...]
) -> None:
    restored = loaded(dumped(state()), NOON + idle)
    assert restored.resets == resets
    if resets:
        assert restored.state.active_scene == "chat"
        assert restored.state.scene_state.data == {"schedule": ["静夜思"]}
        assert restored.state.ttl_deadline is None
    else:
        assert restored.state == state()


@pytest.mark.parametrize("deadline", [None, NOON + timedelta(days=400)])
def test_no_client_keeps_a_scene_for_longer(deadline: datetime | None) -> None:
    restored = loaded(dumped(state(ttl_deadline=deadline)), NOON + timedelta(minutes=11))
    assert restored.resets == ("idle",)


def test_the_default_scene_is_never_idle() -> None:
    chatting = state("chat", ttl_deadline=NOON)
    assert loaded(dumped(chatting), NOON + timedelta(hours=11)).resets == ()


def test_a_new_day_drops_what_was_carried_and_what_was_asked() -> None:
    before = state(pending_switch=PendingSwitch(target="chat"))
    restored = loaded(dumped(before), NOON + timedelta(hours=13))
    assert restored.resets == ("new_day",)
    assert restored.state.scene_state == SceneState(phase="idle")
    assert restored.state.pending_switch is None


@pytest.mark.parametrize(
    ("idle", "resets"),
    [
        (timedelta(hours=24) - MOMENT, ("new_day",)),
        (timedelta(hours=24), ("expired",)),
        (timedelta(days=4000), ("expired",)),
    ],
)
def test_a_session_expires_after_24_hours(idle: timedelta, resets: tuple[str, ...]) -> None:
    restored = loaded(dumped(state("chat")), NOON + idle)
    assert restored.resets == resets
    assert restored.state.scene_state == SceneState(phase="idle")


def test_expiry_is_configuration() -> None:
    rules = OrchestrationRules(expire_s=60, carried=frozenset({"schedule"}))
    for seconds, resets in ((59.9, ()), (60, ("expired",))):
        now = NOON + timedelta(seconds=seconds)
        assert loaded(dumped(state("chat")), now, rules).resets == resets


def test_a_clock_that_is_a_little_behind_changes_nothing() -> None:
    assert loaded(dumped(state()), NOON - timedelta(seconds=2)) == Restored(state=state())


def test_a_fork_becomes_the_session_that_it_is_in() -> None:
    copied = state(user_id="u", session_id="the one before")
    assert loaded(dumped(copied)) == Restored(state=state())


def test_what_a_scene_changes_in_its_data_is_not_stored_before_it_says_so() -> None:
    stored = dumped(state())
    data: Any = loaded(stored).state.scene_state.data
    data["schedule"].append("春晓")
    assert stored == dumped(state())


@pytest.mark.parametrize(
    "wrong", [None, "", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "America", "a\0b", 8, {}]
)
def test_a_time_zone_that_is_none_is_that_of_the_rules(wrong: object) -> None:
    rules = OrchestrationRules(time_zone="Asia/Shanghai")
    assert user_time_zone({"user:time_zone": wrong}, rules) == ZoneInfo("Asia/Shanghai")
    assert user_time_zone({"user:time_zone": "Asia/Tokyo"}, rules) == ZoneInfo("Asia/Tokyo")
