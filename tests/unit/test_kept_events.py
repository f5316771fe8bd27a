"""Which events are kept, for which revision, and what has to go."""

from google.adk.events import Event
from hypothesis import given
from hypothesis import strategies as st

from oda.session import kept_events
from oda.session.kept_events import KeptEvents

KEY = ("app", "user", "s")


def events(count: int) -> list[Event]:
    return [Event(author="a", id=str(n)) for n in range(count)]


@given(
    stored=st.integers(0, 12),
    loaded=st.integers(0, 12),
    appended=st.integers(0, 4),
    wanted=st.one_of(st.none(), st.integers(1, 16)),
)
def test_what_is_given_out_are_the_most_recent_events(
    stored: int, loaded: int, appended: int, wanted: int | None
) -> None:
    everything = events(stored + appended)
    known = everything[max(0, stored - loaded) : stored]
    kept = KeptEvents()
    kept.put(KEY, "0", known, [1] * len(known), whole=loaded >= stored)
    for n, event in enumerate(everything[stored:]):
        kept.append(KEY, str(n), str(n + 1), event, 1)
    revision = kept.revision(KEY, wanted)
    if revision is None:
        assert loaded < stored
        assert wanted is None or wanted > len(known) + appended
    else:
        assert revision == str(appended)
        assert kept.recent(KEY, wanted) == everything[-wanted if wanted else None :]


def test_an_event_that_does_not_follow_on_is_the_end_of_what_is_kept() -> None:
    kept = KeptEvents()
    kept.put(KEY, "1", events(2), [1, 1], whole=True)
    kept.append(KEY, "elsewhere", "3", events(1)[0], 1)
    assert kept.revision(KEY, 1) is None


def test_a_long_session_keeps_its_end() -> None:
    kept = KeptEvents()
    everything = events(kept_events._MOST_EVENTS + 10)
    kept.put(KEY, "1", everything, [1] * len(everything), whole=True)
    assert kept.revision(KEY, None) is None
    assert kept.recent(KEY, 5) == everything[-5:]


def test_sessions_that_were_not_used_for_longest_make_room() -> None:
    kept, half = KeptEvents(), kept_events._MOST_BYTES // 2
    for name in "abc":
        kept.put(("app", "user", name), "1", events(1), [half], whole=True)
        if name == "b":
            kept.recent(("app", "user", "a"), 1)
    there = [name for name in "abc" if kept.revision(("app", "user", name), 1)]
    assert there == ["a", "c"]


def test_sessions_that_nobody_uses_any_more_are_dropped() -> None:
    time_s = 0.0
    kept = KeptEvents(lambda: time_s)
    for name in "abc":
        kept.put(("app", "user", name), "1", events(1), [1], whole=True)
    time_s = kept_events._IDLE_S / 2
    kept.recent(("app", "user", "a"), 1)
    kept.append(("app", "user", "b"), "1", "2", events(1)[0], 1)
    time_s = kept_events._IDLE_S
    kept.put(("app", "user", "d"), "1", events(1), [1], whole=True)
    known = [kept.revision(("app", "user", name), None) for name in "abcd"]
    assert known == ["1", "2", None, "1"]
