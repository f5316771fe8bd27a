"""Whatever was said and taken back: what holds, and what a fork takes along."""

from dataclasses import dataclass, field

import pytest
from google.adk.events import Event, EventActions
from google.adk.events._rewind_events import _apply_rewinds  # private: ours must agree with it
from google.genai.types import Content, Part
from hypothesis import given
from hypothesis import strategies as st

from oda.errors import ConflictError, TurnNotFoundError
from oda.session.branches import select
from oda.session.live_history import REWOUND_EVENTS, live_events


@dataclass
class Told:
    """A history as it is stored, and a model of what holds of it."""

    stored: list[Event] = field(default_factory=list)
    holds: list[Event] = field(default_factory=list)
    turns: int = 0

    def say(self, turn: str, count: int = 1) -> None:
        for _ in range(count):
            content = Content(role="user", parts=[Part(text=turn)])
            event = Event(author="user", invocation_id=turn, content=content)
            self.stored.append(event)
            self.holds.append(event)

    def new_turn(self, count: int) -> None:
        self.turns += 1
        self.say(f"t{self.turns}", count)

    def rewind(self, turn: str) -> None:
        begin = next(event for event in self.holds if event.invocation_id == turn)
        since = len(self.stored) - self.stored.index(begin)
        self.stored.append(
            Event(
                author="user",
                invocation_id=Event.new_id(),
                actions=EventActions(rewind_before_invocation_id=turn),
                custom_metadata={REWOUND_EVENTS: since},
            )
        )
        del self.holds[self.holds.index(begin) :]

    def known(self) -> list[str]:
        """The turns that hold, in the order in which they began."""
        return list(dict.fromkeys(event.invocation_id for event in self.holds))


@st.composite
def histories(draw: st.DrawFn) -> Told:
    told = Told()
    for _ in range(draw(st.integers(0, 14))):
        known = told.known()
        step = draw(st.sampled_from(["new", "new", "more", "rewind"] if known else ["new"]))
        if step == "new":
            told.new_turn(draw(st.integers(1, 4)))
        elif step == "more":  # a turn that waited for a person goes on
            told.say(draw(st.sampled_from(known)))
        else:
            told.rewind(draw(st.sampled_from(known)))
    return told


@given(histories())
def test_what_holds_is_what_was_not_rewound_and_what_adk_says(told: Told) -> None:
    assert live_events(told.stored) == told.holds == _apply_rewinds(told.stored)


@given(histories(), st.integers(0, 60))
def test_a_window_shows_nothing_that_was_rewound(told: Told, size: int) -> None:
    window = told.stored[len(told.stored) - size :] if size < len(told.stored) else told.stored
    shown = live_events(window)
    assert shown == [event for event in window if event in told.holds]
    assert shown == told.holds[len(told.holds) - len(shown) :]


@given(histories(), st.data())
def test_a_fork_takes_the_ended_turns_that_began_by_then(told: Told, data: st.DataObject) -> None:
    known = told.known()
    unfinished = data.draw(st.sets(st.sampled_from(known))) if known else set()
    until = data.draw(st.sampled_from([None, "never", *known]))
    if until == "never":
        with pytest.raises(TurnNotFoundError):
            select(told.holds, until=until, unfinished=unfinished)
        return
    if until in unfinished:
        with pytest.raises(ConflictError):
            select(told.holds, until=until, unfinished=unfinished)
        return
    taken = select(told.holds, until=until, unfinished=unfinished)
    wanted = known if until is None else known[: known.index(until) + 1]
    ended = [turn for turn in wanted if turn not in unfinished]
    assert list(dict.fromkeys(event.invocation_id for event in taken)) == ended
    assert taken == [event for event in told.holds if event.invocation_id in ended]
