"""Four kinds of agents side by side: handing over to each other, alone and in an orchestrator."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oda import OdaContext
from oda.adapter import AgentInput, AgentMessage, AgentOutput, AgentTeam, PlainAgent
from oda.orchestration import StepContext, TeamRequest, TeamResponse, team_step
from oda.orchestration.state import STATE_KEY
from oda.session.oda_session import OdaSession
from oda.testing import FakeClock
from tests.support.a2a_clerk import served_clerk
from tests.support.clerk import FAIL, HANG
from tests.support.guided import steps_in
from tests.support.office import OfficeState, make_team, office, passed_on, told

PATIENCE_S = 30.0
AGENTS = Path(__file__).parent.parent / "support" / "office_agents"
ROUND = "to adk to graph to remote to desk good day"


@pytest.fixture(scope="module")
def remote_url() -> Iterator[str]:
    with served_clerk() as url:
        yield url


@pytest.fixture(autouse=True)
def fresh_office(remote_url: str) -> None:
    office.reopen(remote_url)


async def say(state: OfficeState, text: str) -> tuple[OfficeState, AgentOutput]:
    """What a team that is made for one input comes to, and its state as it would be stored."""
    async with asyncio.timeout(PATIENCE_S):
        items = [item async for item in make_team().run(state, told(text))]
    assert isinstance(items[-1], AgentOutput)
    return OfficeState.model_validate(json.loads(state.model_dump_json())), items[-1]


async def test_one_input_goes_round_all_of_them() -> None:
    state, output = await say(OfficeState(), ROUND)
    assert output.content == "2: good day"
    said = [(message.agent, message.content) for message in output.messages]
    assert said == [
        ("desk", f"1: {ROUND}"),
        ("adk", "1: to graph to remote to desk good day"),
        ("graph", "1: to remote to desk good day"),
        ("remote", "1: to desk good day"),
        ("desk", "2: good day"),
    ]
    assert (set(state.agent_states), state.current_agent) == (
        {"desk", "adk", "graph", "remote"},
        "desk",
    )
    assert len(state.history) == 6


async def test_each_streams_while_it_works() -> None:
    async with asyncio.timeout(PATIENCE_S):
        items = [item async for item in make_team().run(OfficeState(), told(ROUND))]
    partial = [item for item in items if isinstance(item, AgentMessage) and item.partial]
    order = list(dict.fromkeys(message.agent for message in partial))
    assert order == ["desk", "adk", "graph", "remote"]


@pytest.mark.parametrize("name", ["adk", "graph", "remote"])
async def test_who_has_asked_gets_the_answer(name: str) -> None:
    state, asked = await say(OfficeState(), f"to {name} pay 3")
    assert (asked.action, state.current_agent) == ("REQUEST_CONFIRM", name)
    state, answered = await say(state, "yes")
    assert answered.content == "paid"
    state, _ = await say(state, "pay 4")
    state, answered = await say(state, "no")
    assert (answered.content, state.current_agent) == ("not paid", name)
    state, back = await say(state, "to desk thanks")
    assert (back.content, state.current_agent) == ("2: thanks", "desk")


def context(directory: Path) -> OdaContext:
    return OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=directory,
        config_dir=directory,
        clock=FakeClock(start=1_800_000_000.0),
    )


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[OdaSession]:
    async with context(tmp_path) as oda, asyncio.timeout(PATIENCE_S):
        yield await oda.sessions.create("office")


async def test_a_turn_of_an_orchestrator_has_the_teams_work_on_record(session: OdaSession) -> None:
    reply = await session.ask(ROUND)
    assert (reply.text, office.teams) == ("2: good day.", 1)
    assert steps_in(reply.events) == ["classify-intent", "work-in-team", "file-away"]
    work = reply.events[1]
    done = TeamResponse[OfficeState].model_validate(work.output)
    assert done.output.messages[-1].content == "2: good day"
    assert work.usage_metadata is not None
    assert work.usage_metadata.total_token_count == 5


async def test_another_attempt_begins_where_the_first_did() -> None:
    failures = [ConnectionError("down")]

    def unsure(input: AgentInput) -> str:
        if failures:
            raise failures.pop()
        return f"done: {input.content}"

    def team(context: StepContext) -> AgentTeam:
        first = PlainAgent(lambda input: passed_on("1: to second work"), name="first")
        return AgentTeam([first, PlainAgent(unsure, name="second")])

    work = replace(team_step("work", team, OfficeState), clock=FakeClock())
    request = TeamRequest[OfficeState](state=OfficeState(), input=told("please"))
    done = await work(request, StepContext(user_id="ann", now=datetime.now(UTC)))
    assert (done.attempts, done.response.output.content) == (2, "done: work")
    assert [message.content for message in done.response.state.history] == ["please"]
    assert request.state == OfficeState()


async def test_the_team_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        async with context(tmp_path) as oda:
            session = await oda.sessions.create("office")
            await session.ask("to adk hello")
            assert "pay(amount=3)" in (await session.ask("pay 3")).text
        async with context(tmp_path) as oda:
            session = await oda.sessions.get_or_create("office", session_id=session.session_id)
            assert (await session.ask("yes")).text == "paid."
            assert (await session.ask("to graph hi")).text == "1: hi."
            stored = session.state[STATE_KEY]["scene_state"]["team"]
    assert (stored["inputs"], stored["current_agent"]) == (4, "graph")


async def test_a_turn_that_fails_later_does_not_ask_the_team_again(session: OdaSession) -> None:
    office.filing_failures = [ConnectionError("down")] * 3
    reply = await session.ask("to adk good day")
    assert (reply.text, office.teams) == ("1: good day.", 1)
    assert "RETRY_ATTEMPT" in [event.error_code for event in reply.events]
    assert (await session.ask("and now")).text == "2: and now."


@pytest.mark.parametrize("name", ["desk", "adk", "graph", "remote"])
async def test_a_failing_agent_changes_nothing(session: OdaSession, name: str) -> None:
    await session.ask("hello")
    before = session.state[STATE_KEY]
    reply = await session.ask(FAIL if name == "desk" else f"to {name} {FAIL}")
    assert (reply.status, (reply.error or {})["retryable"]) == ("failed", True)
    await session.refresh()
    assert session.state[STATE_KEY] == before
    assert (await session.ask("hello")).text == "2: hello."


async def test_a_turn_is_cancelled_while_an_agent_works(session: OdaSession) -> None:
    await session.ask("hello")
    asking = asyncio.create_task(session.ask(f"to adk {HANG}"))
    await office.handed_over.wait()
    session.cancel()
    assert (await asking).status == "cancelled"
    assert (await session.ask("hello")).text == "2: hello."
