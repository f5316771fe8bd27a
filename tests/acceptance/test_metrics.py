"""`/metrics` of a running server."""

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.testing import ModelServer
from oda.testing.script import Call, Error, Hang, Text, ToolCalls
from oda.tools.ledger import SqlToolLedger
from tests.support.model_settings import gemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

WITHIN_S = 30
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 9}),))
WAIT_FOR_EVER = ToolCalls(calls=(Call(name="wait_for_ever", args={}),))


async def test_requests_are_counted_by_route_never_by_path(keyless: Any) -> None:
    created = await keyless.client.post("/v1/apps/calculator/sessions")
    for path in (created.headers["location"], "/v1/turns/turn_1", "/v1/turns/turn_2", "/no/where"):
        await keyless.client.get(path)
    await keyless.client.get("/apps/calculator/users/ann/sessions/s-1")
    await keyless.client.get("/livez", headers={"Host": "evil.example"})
    answer = await keyless.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    counted = dict(re.findall(r"^oda_http_requests_total\{(.+)\} (\S+)$", answer.text, re.M))

    def count(method: str, route: str, status: int) -> float:
        return float(counted[f'method="{method}",route="{route}",status="{status}"'])

    assert count("POST", "/v1/apps/{app}/sessions", 201) == 1
    assert count("GET", "/v1/apps/{app}/sessions/{sid}", 200) == 1
    assert count("GET", "/v1/turns/{tid}", 404) == 2
    adk_session = "/apps/{app_name}/users/{user_id}/sessions/{session_id}"
    assert count("GET", adk_session, 404) == 1
    assert count("GET", "(none)", 404) == 1
    assert count("GET", "(none)", 403) == 1
    assert "turn_1" not in answer.text
    assert 'oda_http_request_duration_seconds_count{method="GET",route="/v1/turns/{tid}"} 2.0' in (
        answer.text
    )
    assert 'oda_turns_unfinished{state="running"} 0.0' in answer.text


async def test_a_turn_is_counted_with_what_it_took(serve: Any, model: ModelServer) -> None:
    server = await serve(**gemini(model))
    model.play([ADD, Error(status=500), Text(text="Five.")])
    turn = await _answered(server, await _new_session(server), "2 + 3?")
    assert (turn["status"], turn["attempts"]) == ("succeeded", 2)
    usage = turn["usage"]
    numbers = await _numbers(server)
    assert numbers['oda_turns_total{app="calculator",status="succeeded"}'] == 1
    assert numbers["oda_turn_retries_total"] == 1
    assert numbers["oda_model_calls_total"] == usage["model_calls"] == 3
    assert numbers['oda_model_tokens_total{direction="input"}'] == usage["input_tokens"] > 0
    assert numbers['oda_model_tokens_total{direction="output"}'] == usage["output_tokens"] > 0
    assert numbers['oda_turn_duration_seconds_count{app="calculator"}'] == 1
    assert numbers['oda_turn_duration_seconds_sum{app="calculator"}'] > 0
    assert numbers["oda_turns_recovered_total"] == 0
    assert _unfinished(numbers) == (0, 0)


async def test_turns_that_run_wait_and_ask_are_told_apart(serve: Any, model: ModelServer) -> None:
    server = await serve(**gemini(model))
    model.play([PAY, Hang()])
    asking, busy = [await _new_session(server) for _ in range(2)]
    waiting = await _answered(server, asking, "pay 9")
    assert waiting["status"] == "waiting_input"
    assert _unfinished(await _numbers(server)) == (0, 0)
    running, queued = [await _accepted(server, busy, text) for text in ("one", "two")]
    await _called(model, 2)
    numbers = await _numbers(server)
    assert _unfinished(numbers) == (1, 1)
    assert numbers['oda_turns_waited_for_input_total{app="calculator"}'] == 1
    assert 'oda_turns_total{app="calculator",status="cancelled"}' not in numbers
    for turn_id in (queued, running, waiting["turn_id"]):
        await server.client.post(f"/v1/turns/{turn_id}/cancel")
    numbers = await _numbers(server)
    assert _unfinished(numbers) == (0, 0)
    assert numbers['oda_turns_total{app="calculator",status="cancelled"}'] == 3


async def test_a_turn_that_outlives_its_server_is_counted_as_recovered(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    settings = gemini(model)
    model.play([WAIT_FOR_EVER])
    first = await serve(**settings)
    turn_id = await _accepted(first, await _new_session(first), "wait")
    await _tool_runs(tmp_path / "data" / "oda.db", turn_id)
    await first.stop(signal.SIGKILL)

    model.play([Text(text="It was cut off.")])
    second = await serve(**settings)
    turn = await _ended(second, turn_id)
    assert turn["status"] == "succeeded"
    numbers = await _numbers(second)
    assert numbers["oda_turns_recovered_total"] == 1
    assert numbers["oda_turn_retries_total"] == 1
    assert numbers['oda_tool_calls_outcome_unknown_total{tool="wait_for_ever"}'] == 1
    assert numbers['oda_turns_total{app="calculator",status="succeeded"}'] == 1
    assert _unfinished(numbers) == (0, 0)


# --- inside


async def _new_session(server: Any) -> str:
    answer = await server.client.post("/v1/apps/calculator/sessions")
    return str(answer.headers["location"])


async def _answered(server: Any, session: str, message: str) -> dict[str, Any]:
    answer = await server.client.post(f"{session}/turns", json={"message": message})
    turn: dict[str, Any] = answer.json()["turn"]
    return turn


async def _accepted(server: Any, session: str, message: str) -> str:
    later = {"Prefer": "respond-async"}
    answer = await server.client.post(f"{session}/turns", json={"message": message}, headers=later)
    return str(answer.json()["turn_id"])


async def _called(model: ModelServer, times: int) -> None:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if len(model.requests) >= times:
                return
            await asyncio.sleep(0.02)


async def _tool_runs(database: Path, turn_id: str) -> None:
    """Return when it is recorded that a call of the turn has started."""
    async with asyncio.timeout(WITHIN_S), open_database(f"sqlite:///{database}") as opened:
        ledger = SqlToolLedger(opened, SystemClock())
        while True:
            if await ledger.of_turn(turn_id):
                return
            await asyncio.sleep(0.05)


async def _ended(server: Any, turn_id: str) -> dict[str, Any]:
    async with asyncio.timeout(WITHIN_S):
        while True:
            turn: dict[str, Any] = (await server.client.get(f"/v1/turns/{turn_id}")).json()
            if turn["status"] not in ("queued", "running"):
                return turn
            await asyncio.sleep(0.05)


async def _numbers(server: Any) -> dict[str, float]:
    text = (await server.client.get("/metrics")).text
    return {name: float(value) for name, value in re.findall(r"^(oda_\S+) (\S+)$", text, re.M)}


def _unfinished(numbers: dict[str, float]) -> tuple[float, float]:
    """How many turns run, and how many wait to run."""
    running, queued = (
        numbers[f'oda_turns_unfinished{{state="{state}"}}'] for state in ("running", "queued")
    )
    return running, queued
