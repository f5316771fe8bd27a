"""One id leads from an answer to the turn, to the log, and to what goes on after a restart."""

import json
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import connect

from oda.testing import ModelServer
from oda.testing.script import Error, Hang, Step, Text
from tests.support.model_settings import gemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/v1/apps/calculator/sessions"
GIVEN = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = {"traceparent": f"00-{GIVEN}-00f067aa0ba902b7-01"}
LOGS = {"LOG_FORMAT": "json", "LOG_LEVEL": "warning"}


@pytest_asyncio.fixture(
    loop_scope="module", params=[(), ("--no-dev-ui",)], ids=["dev_ui", "no_dev_ui"]
)
async def traced(request: pytest.FixtureRequest, serve: Any, model: ModelServer) -> Any:
    """A server that logs JSON, whose model fails once in each turn."""
    return await serve(*request.param, **gemini(model), **LOGS)


def failing_once(model: ModelServer) -> None:
    script: list[Step] = [Error(status=503), Text(text="Hello.")]
    model.play(script)


async def trace_ids_logged(server: Any) -> dict[str, str]:
    """Stop a server; the trace ids in its log of the turns at which an attempt has failed."""
    await server.stop()
    lines = [json.loads(line) for line in server.output if line.startswith("{")]
    failed = [line for line in lines if line["event"] == "attempt_failed"]
    return {line["invocation_id"]: line["trace_id"] for line in failed}


async def test_answer_turn_and_log_bear_one_id(traced: Any, model: ModelServer) -> None:
    await traced.client.post(SESSIONS, json={"session_id": "s"})
    trace_ids: dict[str, str] = {}
    for headers in ({}, TRACEPARENT):
        failing_once(model)
        answer = await traced.client.post(
            f"{SESSIONS}/s/turns", json={"message": "hi"}, headers=headers
        )
        trace_id, turn = answer.headers["x-trace-id"], answer.json()["turn"]
        assert turn["trace_id"] == trace_id
        assert (trace_id == GIVEN) == bool(headers)
        trace_ids[turn["turn_id"]] = trace_id
    assert await trace_ids_logged(traced) == trace_ids


async def test_so_do_turns_by_adks_routes_and_over_a_socket(
    traced: Any, model: ModelServer
) -> None:
    await traced.client.post(SESSIONS, json={"session_id": "s"})
    failing_once(model)
    message = {"role": "user", "parts": [{"text": "hi"}]}
    body = {"app_name": "calculator", "user_id": "local", "session_id": "s", "new_message": message}
    answer = await traced.client.post("/run", json=body)
    (turn,) = (await traced.client.get(f"{SESSIONS}/s/turns")).json()["turns"]
    assert turn["trace_id"] == answer.headers["x-trace-id"]
    failing_once(model)
    url = traced.url.replace("http", "ws")
    async with connect(f"{url}{SESSIONS}/s/ws", additional_headers=TRACEPARENT) as socket:
        assert socket.response is not None
        assert socket.response.headers["x-trace-id"] == GIVEN
        await socket.send(json.dumps({"message": "hi"}))
        while (told := json.loads(await socket.recv()))["event"] != "done":
            pass
    assert told["data"]["trace_id"] == GIVEN
    assert await trace_ids_logged(traced) == {
        turn["turn_id"]: turn["trace_id"],
        told["turn_id"]: GIVEN,
    }


async def test_a_turn_that_goes_on_after_a_restart_keeps_its_id(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    first = await serve(**gemini(model), **LOGS)
    await first.client.post(SESSIONS, json={"session_id": "s"})
    model.play([Hang()])
    accepted = await first.client.post(
        f"{SESSIONS}/s/turns", json={"message": "hi"}, headers={"Prefer": "respond-async"}
    )
    await model.wait_until(lambda server: server.in_flight == 1, timeout_s=30)
    first.process.kill()
    await first.process.wait()
    failing_once(model)
    second = await serve(**gemini(model), **LOGS)
    ended = await second.client.get(
        f"{accepted.headers['location']}/events", headers={"Accept": "text/event-stream"}
    )
    assert "succeeded" in ended.text
    turn = (await second.client.get(accepted.headers["location"])).json()
    assert turn["trace_id"] == accepted.headers["x-trace-id"]
    assert await trace_ids_logged(second) == {turn["turn_id"]: turn["trace_id"]}
