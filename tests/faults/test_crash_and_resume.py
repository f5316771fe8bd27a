"""A process is killed in the middle of a turn; another one goes on with it to its answer."""

import asyncio
import os
import queue
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest

from oda.agent.oda_agent import OdaAgent
from oda.agent.outcome import outcome_of
from oda.agent.resume import is_user_message, text_of
from oda.tools.ledger import CallRecord
from tests.support import crashing_turn as crashing
from tests.support.crashing_turn import ROOTS, Cast, Ended, Plan, Point, Reached, Root
from tests.support.transcript import unpaired_calls

PATIENCE_S = 30.0
REPOSITORY = Path(__file__).parents[2]

every_root = pytest.mark.parametrize("root", ROOTS)


class Processes:
    """Runs plans in processes and kills them."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", crashing.__name__],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def die(self, plan: Plan) -> str:
        """Run the plan, kill its process at the point; the id of the turn that was cut off."""
        assert self._program.stdin is not None
        print(plan.model_dump_json(), file=self._program.stdin, flush=True)
        reached = Reached.model_validate_json(self._lines.get(timeout=PATIENCE_S))
        os.kill(reached.pid, signal.SIGKILL)
        ended = Ended.model_validate_json(self._lines.get(timeout=PATIENCE_S))
        assert ended.signal == signal.SIGKILL
        return reached.invocation_id

    def close(self) -> None:
        self._program.kill()
        self._program.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)

    def _read(self) -> None:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            self._lines.put(line)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    running = Processes()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'sessions.db'}"


@dataclass(frozen=True)
class Aftermath:
    """What a new process saw when it went on with the turn and then took a next message."""

    root: Root
    invocation_id: str
    effects: Sequence[str]
    requests: Sequence[LlmRequest]
    """To the model that books, while the turn went on."""
    yielded: Sequence[Event]
    yielded_again: Sequence[Event]
    """By going on once more."""
    yielded_next: Sequence[Event]
    stored: Sequence[Event]
    recorded: Mapping[str, CallRecord]
    """The ledger's part of the turn."""


async def aftermath(processes: Processes, plan: Plan) -> Aftermath:
    invocation_id = await asyncio.to_thread(processes.die, plan)
    cast = Cast(plan, _pass)
    async with asyncio.timeout(PATIENCE_S), crashing.agent_of(plan, cast) as agent:
        yielded = [event async for event in agent.resume(invocation_id)]
        requests = cast.booking.requests
        again = [event async for event in agent.resume(invocation_id)]
        following = [event async for event in agent.run_async(crashing.NEXT_MESSAGE)]
        stored = await _stored(agent)
        recorded = await cast.ledger.of_turn(invocation_id) if cast.ledger else {}
    effects = plan.effects.read_text().splitlines() if plan.effects.exists() else []
    return Aftermath(
        plan.root, invocation_id, effects, requests, yielded, again, following, stored, recorded
    )


async def _pass(point: Point) -> None:
    """Nothing stops here."""


async def _stored(agent: OdaAgent) -> list[Event]:
    session = await agent.runner.session_service.get_session(
        app_name=crashing.APP, user_id=crashing.USER, session_id=agent.session_id
    )
    assert session is not None
    return session.events


def plan_of(database: str, tmp_path: Path, root: Root, point: Point, **options: bool) -> Plan:
    return Plan(
        root=root,
        point=point,
        database=database,
        session_id=uuid.uuid4().hex,
        effects=tmp_path / "effects",
        **options,
    )


def told(request: LlmRequest) -> list[str]:
    """The states of tool results in a request, `booked` for a good one."""
    responses = [
        part.function_response.response or {}
        for content in request.contents
        for part in content.parts or ()
        if part.function_response
    ]
    return [str(response.get("status", next(iter(response)))) for response in responses]


def assert_all_is_well(seen: Aftermath) -> None:
    """What holds wherever the process died."""
    outcome = outcome_of(seen.yielded)
    assert (outcome.status, outcome.reply) == ("succeeded", crashing.ANSWER)
    assert outcome_of(seen.yielded_again) == outcome
    following = outcome_of(seen.yielded_next)
    assert (following.status, following.reply) == ("succeeded", crashing.NEXT_ANSWER)

    assert seen.stored[0].invocation_id == seen.invocation_id
    messages = [text_of(event) for event in seen.stored if is_user_message(event)]
    assert messages == [crashing.MESSAGE, crashing.NEXT_MESSAGE]
    assert said(seen, "booker") == [crashing.ANSWER]
    assert len(said(seen, "clerk")) == (0 if seen.root == "llm" else 1)
    assert [unpaired_calls(request) for request in seen.requests] == [[]] * len(seen.requests)


def said(seen: Aftermath, author: str) -> list[str]:
    """The texts of an agent that are stored of the turn that was cut off."""
    return [
        text_of(event)
        for event in seen.stored
        if event.invocation_id == seen.invocation_id and event.author == author and text_of(event)
    ]


@every_root
@pytest.mark.parametrize(
    ("point", "requests"), [("message_stored", 2), ("result_stored", 1), ("answer_stored", 0)]
)
async def test_turn_of_a_killed_process_goes_on_to_its_answer_and_repeats_nothing(
    processes: Processes, database: str, tmp_path: Path, root: Root, point: Point, requests: int
) -> None:
    seen = await aftermath(processes, plan_of(database, tmp_path, root, point))
    assert_all_is_well(seen)
    assert len(seen.effects) == 1
    assert len(seen.requests) == requests
    assert "outcome_unknown" not in [state for one in seen.requests for state in told(one)]


@every_root
@pytest.mark.parametrize(("point", "effects"), [("before_effect", 0), ("after_effect", 1)])
async def test_tool_that_was_running_is_not_repeated_and_the_model_is_told(
    processes: Processes, database: str, tmp_path: Path, root: Root, point: Point, effects: int
) -> None:
    seen = await aftermath(processes, plan_of(database, tmp_path, root, point))
    assert_all_is_well(seen)
    assert len(seen.effects) == effects
    assert [told(request) for request in seen.requests] == [["outcome_unknown"]]


@every_root
@pytest.mark.parametrize(("point", "effects"), [("before_effect", 1), ("after_effect", 2)])
async def test_idempotent_tool_that_was_running_is_repeated_once_under_its_key(
    processes: Processes, database: str, tmp_path: Path, root: Root, point: Point, effects: int
) -> None:
    plan = plan_of(database, tmp_path, root, point, idempotent=True)
    seen = await aftermath(processes, plan)
    assert_all_is_well(seen)
    assert len(seen.effects) == effects
    assert len(set(seen.effects)) == 1
    assert seen.effects[0].startswith(f"{seen.invocation_id}:")
    assert [told(request)[-1] for request in seen.requests] == ["booked"]


# --- with a tool ledger


@every_root
@pytest.mark.parametrize("point", ["call_stored", "result_stored"])
async def test_ledger_knows_that_a_call_had_not_begun_or_had_ended(
    processes: Processes, database: str, tmp_path: Path, root: Root, point: Point
) -> None:
    seen = await aftermath(processes, plan_of(database, tmp_path, root, point, ledger=True))
    assert_all_is_well(seen)
    assert seen.effects == [f"{seen.invocation_id}:c-book"]
    assert [told(request)[-1] for request in seen.requests] == ["booked"]
    assert [(call.status, call.runs) for call in seen.recorded.values()] == [("succeeded", 1)]


@every_root
@pytest.mark.parametrize(("point", "effects"), [("before_effect", 0), ("after_effect", 1)])
async def test_call_that_had_begun_is_not_repeated_and_all_are_told(
    processes: Processes,
    database: str,
    tmp_path: Path,
    root: Root,
    point: Point,
    effects: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = await aftermath(processes, plan_of(database, tmp_path, root, point, ledger=True))
    assert_all_is_well(seen)
    assert len(seen.effects) == effects
    assert [told(request) for request in seen.requests] == [["outcome_unknown"]]
    assert "outcome_unknown" in seen.yielded[0].model_dump_json()
    assert {call: record.status for call, record in seen.recorded.items()} == {"c-book": "unknown"}
    [warning] = [record for record in caplog.records if record.msg == "tool_outcome_unknown"]
    assert vars(warning)["tool"] == "book"
    assert vars(warning)["key"] == f"{seen.invocation_id}:c-book"


@every_root
async def test_result_of_a_call_survives_though_the_one_beside_it_was_running(
    processes: Processes, database: str, tmp_path: Path, root: Root
) -> None:
    plan = plan_of(database, tmp_path, root, "other_call_ended", ledger=True, companion=True)
    seen = await aftermath(processes, plan)
    assert_all_is_well(seen)
    assert len(seen.effects) == 1
    assert [told(request) for request in seen.requests] == [["booked", "outcome_unknown"]]


@every_root
async def test_idempotent_call_that_had_begun_runs_once_more(
    processes: Processes, database: str, tmp_path: Path, root: Root
) -> None:
    plan = plan_of(database, tmp_path, root, "after_effect", ledger=True, idempotent=True)
    seen = await aftermath(processes, plan)
    assert_all_is_well(seen)
    assert seen.effects == [f"{seen.invocation_id}:c-book"] * 2
    assert [(call.status, call.runs) for call in seen.recorded.values()] == [("succeeded", 2)]
