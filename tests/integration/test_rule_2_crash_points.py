"""Rule 2 after a crash: whatever was stored last, the turn goes on from there.

The store of a dead process is a prefix of what a turn stores, so a turn is played to its end once,
and then gone on with from each of its prefixes, by new objects. `tests/faults` kills processes.
"""

from collections.abc import Sequence

import pytest
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.events import Event
from google.adk.sessions.base_session_service import BaseSessionService

from oda.testing.script import Call, Text, ToolCalls
from tests.support.roots import (
    GRAPH_OF_THREE,
    KINDS,
    SEQUENTIAL,
    TRANSFER,
    Kind,
    every_kind,
)
from tests.support.stage import Stage, stage
from tests.support.transcript import transcript, unpaired_calls

STEPS = (ToolCalls(calls=(Call(name="work", args={"step": "a"}, id="c-a"),)), Text(text="answer"))

LOOP_OF_PARALLEL = Kind(
    "loop_of_parallel",
    lambda cast: LoopAgent(
        name="root",
        sub_agents=[ParallelAgent(name="pair", sub_agents=[cast.worker(), cast.sibling()])],
        max_iterations=2,
    ),
)


def answers_of(author: str, events: Sequence[Event]) -> int:
    """How many answers of an agent's model are stored."""
    return sum(
        event.author == author and event.content is not None and event.content.role == "model"
        for event in events
    )


async def gone_on(
    kind: Kind, whole: Sequence[Event], stored: int, service: BaseSessionService | None = None
) -> tuple[Stage, list[Event]]:
    """Go on, in new objects, with a turn of which `stored` events are stored."""
    history = whole[:stored]
    play = await stage(
        kind, STEPS, history=history, played=answers_of("worker", history), service=service
    )
    return play, await play.resume(whole[0].invocation_id)


def without_results(lines: Sequence[str]) -> set[str]:
    return {line.split(" -> ")[0] for line in lines}


@pytest.mark.parametrize("kind", [*KINDS, LOOP_OF_PARALLEL], ids=lambda kind: kind.name)
async def test_rule_2_turn_goes_on_from_every_event_after_which_the_process_may_die(
    kind: Kind,
) -> None:
    calm = await stage(kind, STEPS)
    await calm.ask()
    whole = await calm.stored()
    for stored in range(1, len(whole) + 1):
        play, yielded = await gone_on(kind, whole, stored)
        point = f"after {stored} of {len(whole)} events"
        assert "worker: answer" in await play.history(), point
        assert without_results(await play.history()) == without_results(await calm.history()), point
        assert transcript(yielded)[-1].split(": ")[1] in ("answer", "closed", "beside"), point
        assert play.clock.sleeps == (), point
        for name, model in play.cast.models.items():
            answered_before = answers_of(name, whole[:stored])
            needed = len(calm.cast.models[name].requests) - answered_before
            assert len(model.requests) == needed, f"{point}: model calls of {name}"
            assert [unpaired_calls(request) for request in model.requests] == [[]] * needed, point


@every_kind
async def test_rule_2_tools_whose_results_are_stored_are_not_run_again_after_a_crash(
    kind: Kind,
) -> None:
    calm = await stage(kind, STEPS)
    await calm.ask()
    whole = await calm.stored()
    for stored in range(1, len(whole) + 1):
        play, _ = await gone_on(kind, whole, stored)
        called_before = sum(
            call.name != "transfer_to_agent"
            for event in whole[:stored]
            for call in event.get_function_calls()
        )
        assert len(play.cast.effects) == len(calm.cast.effects) - called_before


@pytest.mark.parametrize("kind", [TRANSFER, SEQUENTIAL, GRAPH_OF_THREE], ids=lambda kind: kind.name)
async def test_rule_2_turn_goes_on_from_what_every_session_service_has_stored(
    kind: Kind, session_service: BaseSessionService
) -> None:
    calm = await stage(kind, STEPS, service=session_service)
    await calm.ask()
    whole = await calm.stored()
    with_call = next(i for i, event in enumerate(whole, 1) if event.get_function_calls())
    for stored in (1, with_call, with_call + 1, len(whole)):
        history = [
            event.model_copy(deep=True, update={"id": Event.new_id()}) for event in whole[:stored]
        ]
        play, yielded = await gone_on(kind, history, stored, session_service)
        assert transcript(yielded)[-1] == transcript(whole)[-1]
        assert without_results(await play.history()) == without_results(await calm.history())


@every_kind
async def test_rule_2_turn_that_has_ended_yields_its_answer_again_and_runs_nothing(
    kind: Kind,
) -> None:
    calm = await stage(kind, STEPS)
    await calm.ask()
    whole = await calm.stored()
    play, yielded = await gone_on(kind, whole, len(whole))
    assert transcript(yielded) == [transcript(whole)[-1]]
    assert [request for model in play.cast.models.values() for request in model.requests] == []
    assert await play.history() == await calm.history()
