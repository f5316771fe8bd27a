"""Versions of agents: what turns record, and which process runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oda import OdaContext
from oda.agent.version import hash_of
from oda.turn.reader import TurnReader, WaitingTurns
from oda.turn.record import Turn
from tests.support.cues import cues
from tests.support.turn_node import AGENTS, APP, USER, node, submission

SESSION = "s"


@pytest.fixture(autouse=True)
def fresh_cues() -> Iterator[None]:
    cues.clear()
    yield


class Releases:
    """Processes on one database whose agent has declared versions."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url = url
        self._directory = directory

    def node(self, version: str, *, pins: bool = True) -> OdaContext:
        directory = self._directory / version
        directory.mkdir(exist_ok=True)
        record = f"version: {version!r}, pin_versions: {str(pins).lower()}"
        (directory / "agents.yaml").write_text(f"agents: {{{APP}: {{{record}}}}}\n")
        return node(self._url, directory)


@pytest.fixture
def releases(empty_database_url: str, tmp_path: Path) -> Releases:
    return Releases(empty_database_url, tmp_path)


@pytest.fixture
def shared(empty_postgres_url: str, tmp_path: Path) -> Releases:
    return Releases(empty_postgres_url, tmp_path)


async def submit(oda: OdaContext, text: str, session_id: str = SESSION) -> str:
    session = await oda.sessions.get_or_create(APP, USER, session_id)
    return (await oda.turns.submit(session, submission(text))).turn.turn_id


async def answer(oda: OdaContext, text: str, session_id: str = SESSION) -> Turn:
    return await oda.turns.wait(await submit(oda, text, session_id))


async def hold(oda: OdaContext, name: str, session_id: str = SESSION) -> str:
    turn_id = await submit(oda, f"hold {name}", session_id)
    await cues.begun[name].wait()
    return turn_id


async def status(oda: OdaContext, turn_id: str) -> str:
    return (await oda.turns.get(turn_id)).status


async def test_a_turn_records_the_declared_version(releases: Releases) -> None:
    async with releases.node("1", pins=False) as oda:
        turn = await answer(oda, "hello")
        assert (turn.agent_version, turn.pinned) == ("1", False)
        assert (await oda.turns.get(turn.turn_id)).agent_version == "1"
        assert [entry.data for entry in await oda.turns.entries(turn.turn_id)][-1] == turn


async def test_without_a_declared_one_it_is_a_hash_of_the_files(
    empty_database_url: str, tmp_path: Path
) -> None:
    async with node(empty_database_url, tmp_path) as oda:
        assert (await answer(oda, "hello")).agent_version == hash_of(AGENTS / APP)


async def test_by_default_any_version_goes_on_with_a_turn(releases: Releases) -> None:
    async with releases.node("1", pins=False) as oda:
        turn_id = await hold(oda, "a")
    cues.go["a"].set()
    async with releases.node("2", pins=False) as oda:
        await oda.turns.recover()
        turn = await oda.turns.wait(turn_id)
        assert (turn.status, turn.agent_version) == ("succeeded", "1")


async def test_a_pinned_turn_waits_for_its_version_and_holds_up_its_session_alone(
    releases: Releases,
) -> None:
    async with releases.node("1") as oda:
        first, second = await hold(oda, "a"), await submit(oda, "second")
    cues.go["a"].set()
    async with releases.node("2") as oda:
        await oda.turns.recover()
        later = await submit(oda, "later")
        assert (await answer(oda, "other", "other")).status == "succeeded"
        assert [await status(oda, one) for one in (first, second, later)] == [
            "running",
            "queued",
            "queued",
        ]
        waiting = await TurnReader(oda.database).waiting_by_version()
        assert sorted(waiting, key=str) == [WaitingTurns(APP, "1", 2), WaitingTurns(APP, "2", 1)]
    async with releases.node("1") as oda:
        await oda.turns.recover()
        assert [(await oda.turns.wait(one)).status for one in (first, second)] == ["succeeded"] * 2
        assert await status(oda, later) == "queued"
    async with releases.node("2") as oda:
        await oda.turns.recover()
        assert (await oda.turns.wait(later)).status == "succeeded"
    assert cues.asked == ["hold a", "other", "hold a", "second", "later"]


async def test_a_pinned_turn_that_waits_can_be_cancelled(releases: Releases) -> None:
    async with releases.node("1") as oda:
        turn_ids = [await hold(oda, "a"), await submit(oda, "second")]
    async with releases.node("2") as oda:
        await oda.turns.recover()
        later = await submit(oda, "later")
        for turn_id in turn_ids:
            assert (await oda.turns.cancel(turn_id)).status == "cancelled"
        assert (await oda.turns.wait(later)).status == "succeeded"
    assert cues.asked == ["hold a", "later"]


async def test_a_pinned_turn_that_waits_can_be_interrupted(releases: Releases) -> None:
    async with releases.node("1") as oda:
        turn_id = await hold(oda, "a")
    async with releases.node("2") as oda:
        await oda.turns.recover()
        session = await oda.sessions.get_or_create(APP, USER, SESSION)
        accepted = await oda.turns.submit(session, submission("instead", on_busy="interrupt"))
        assert (await oda.turns.wait(accepted.turn.turn_id)).status == "succeeded"
        assert await status(oda, turn_id) == "cancelled"


async def test_an_answered_question_goes_on_in_the_version_that_asked(releases: Releases) -> None:
    async with releases.node("1") as oda:
        asked = await answer(oda, "pay 1")
        assert asked.status == "waiting_input"
    async with releases.node("2") as oda:
        await oda.turns.recover()
        await oda.turns.answer(asked.turn_id, [(asked.pending_input[0]["id"], True, None)])
        assert (await answer(oda, "other", "other")).status == "succeeded"
        assert await status(oda, asked.turn_id) == "queued"
        assert not cues.paid
    async with releases.node("1") as oda:
        await oda.turns.recover()
        assert (await oda.turns.wait(asked.turn_id)).status == "succeeded"
        assert cues.paid == [1]


async def test_pinned_turns_of_two_versions_run_side_by_side(shared: Releases) -> None:
    async with shared.node("1") as one, shared.node("2") as two:
        for oda in (one, two):
            await oda.turns.recover()
        held = await hold(one, "a")
        behind = await submit(two, "behind")
        others = [await answer(oda, f"of {n}", f"of {n}") for n, oda in enumerate((one, two, one))]
        assert [turn.agent_version for turn in others] == ["1", "2", "1"]
        cues.go["a"].set()
        assert (await two.turns.wait(held)).agent_version == "1"
        assert (await one.turns.wait(behind)).agent_version == "2"


async def test_an_agent_that_comes_while_processes_run_is_served(
    empty_database_url: str, tmp_path: Path
) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    async with node(empty_database_url, tmp_path, agents=agents) as oda:
        await oda.turns.recover()
        (agents / APP).symlink_to(AGENTS / APP)
        assert (await answer(oda, "hello")).status == "succeeded"
