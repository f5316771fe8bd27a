"""What a turn reads of its session: recent events, and all that the latest summary leaves out."""

import pytest
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from oda.testing.script import Error
from oda.testing.scripted_model import InProcessStep
from tests.support.counted_reads import CountedReads
from tests.support.roots import LLM, SEQUENTIAL, Kind
from tests.support.stage import Stage, stage
from tests.support.transcript import seen_by_model

MESSAGES = 60
"""In the session before the turn."""
WINDOW = 10

both_ways_to_run = pytest.mark.parametrize("kind", [LLM, SEQUENTIAL], ids=lambda kind: kind.name)
"""ADK has two."""


def said(number: int) -> Event:
    content = Content(role="user", parts=[Part(text=f"message {number}")])
    return Event(author="user", invocation_id=f"t{number}", timestamp=number, content=content)


def summary(*, until: int) -> Event:
    """A summary of the messages up to that one, made right after the next."""
    covered = EventCompaction(
        start_timestamp=0,
        end_timestamp=until,
        compacted_content=Content(role="model", parts=[Part(text=f"summary until {until}")]),
    )
    return Event(
        author="user",
        invocation_id="summary",
        timestamp=until + 1.5,
        actions=EventActions(compaction=covered),
    )


def history(*, told_until: int | None = None) -> list[Event]:
    events = [said(number) for number in range(MESSAGES)]
    if told_until is not None:
        events.append(summary(until=told_until))
    return sorted(events, key=lambda event: event.timestamp)


def keep_one_summary(app: App) -> None:
    """Switch on ADK's running summary, at a length that no test reaches."""
    app.events_compaction_config = EventsCompactionConfig(
        token_threshold=1_000_000, event_retention_size=5
    )


async def windowed(
    kind: Kind, history: list[Event], *steps: InProcessStep, compacted: bool = True
) -> tuple[Stage, list[int]]:
    """A session that is read through a window; the list grows by the length of each read."""
    service = CountedReads(InMemorySessionService())
    play = await stage(
        kind,
        steps,
        service=service,
        history=history,
        change=keep_one_summary if compacted else None,
        recent_events=WINDOW,
    )
    return play, service.reads


@both_ways_to_run
async def test_a_turn_reads_its_window_once(kind: Kind) -> None:
    play, reads = await windowed(kind, history(), compacted=False)
    await play.ask()
    assert reads == [WINDOW]


@both_ways_to_run
async def test_a_summary_inside_of_the_window_costs_no_further_read(kind: Kind) -> None:
    play, reads = await windowed(kind, history(told_until=MESSAGES - 3))
    await play.ask()
    assert reads == [WINDOW]


async def test_a_session_shorter_than_its_window_is_read_once() -> None:
    play, reads = await windowed(LLM, history()[:5])
    await play.ask()
    assert reads == [5]


@both_ways_to_run
async def test_agents_see_all_that_the_latest_summary_leaves_out(kind: Kind) -> None:
    play, reads = await windowed(kind, history(told_until=19))
    await play.ask("what now?")
    assert seen_by_model(play.model.requests[0])[:42] == [
        "model: summary until 19",
        *[f"user: message {number}" for number in range(20, MESSAGES)],
        "user: what now?",
    ]
    assert reads == [WINDOW, 2 * WINDOW, 4 * WINDOW, MESSAGES + 2]


async def test_without_any_summary_agents_see_all() -> None:
    play, _ = await windowed(LLM, history())
    await play.ask("what now?")
    assert len(play.model.requests[0].contents) == MESSAGES + 1


async def test_a_further_attempt_sees_the_same() -> None:
    play, _ = await windowed(LLM, history(told_until=19), Error(status=503))
    await play.ask("what now?")
    failed, answered = play.model.requests
    assert answered.contents == failed.contents
    assert len(failed.contents) == 42
