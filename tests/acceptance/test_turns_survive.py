"""Turns over HTTP outlive their clients and their servers: idempotency, restarts, two servers."""

import asyncio
import itertools
import json
import re
import signal
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from oda.testing import ModelServer
from oda.testing.script import Call, Hang, Text, ToolCalls
from tests.support.model_settings import gemini
from tests.support.oda_command import Home

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

STREAM = {"Accept": "text/event-stream"}
LATER = {"Prefer": "respond-async"}
Frame = tuple[int | None, str, dict[str, Any]]

POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
shared = pytest.mark.parametrize("settings", [POSTGRES], indirect=True)
"""Only PostgreSQL allows several servers on one database."""


@pytest.fixture(params=["sqlite", POSTGRES])
def settings(
    request: pytest.FixtureRequest, shared_model: ModelServer, tmp_path: Path
) -> dict[str, str]:
    """Settings of servers that use the same database."""
    chosen = {**gemini(shared_model), "TURN__GRACE_S": "0.5"}
    if request.param == "postgres":
        chosen["DATABASE_URL"] = request.getfixturevalue("own_postgres")
        chosen["TURN__SILENT_S"] = "2"
    else:
        chosen["DATABASE_URL"] = f"sqlite:///{tmp_path / 'shared.db'}"
    return chosen


async def new_session(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/apps/calculator/sessions", json={})
    return f"/v1/apps/calculator/sessions/{answer.json()['session_id']}"


async def post(
    client: httpx.AsyncClient, session: str, message: str, key: str | None = None, **headers: str
) -> httpx.Response:
    named = {"Idempotency-Key": key} if key else {}
    body = {"message": message}
    return await client.post(f"{session}/turns", json=body, headers={**named, **headers})


async def follow(
    client: httpx.AsyncClient, turn_id: str, last_id: int | None = None
) -> list[Frame]:
    """All frames of a turn's stream from after `last_id`."""
    headers = STREAM if last_id is None else {**STREAM, "Last-Event-ID": str(last_id)}
    answer = await client.get(f"/v1/turns/{turn_id}/events", headers=headers)
    assert answer.status_code == 200, answer.text
    return list(map(parse, filter(None, answer.text.split("\n\n"))))


def parse(frame: str) -> Frame:
    fields = dict(line.split(": ", 1) for line in frame.splitlines() if line[0] != ":")
    number = int(fields["id"]) if "id" in fields else None
    return number, fields["event"], json.loads(fields["data"])


async def ended(client: httpx.AsyncClient, turn_id: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            turn: dict[str, Any] = (await client.get(f"/v1/turns/{turn_id}")).json()
            if turn["status"] not in ("queued", "running"):
                return turn
            await asyncio.sleep(0.05)


async def user_messages(client: httpx.AsyncClient, session: str) -> list[str]:
    events = (await client.get(f"{session}/events?limit=1000")).json()["events"]
    return [
        part["text"]
        for event in events
        if event["author"] == "user"
        for part in event["content"]["parts"]
        if "text" in part
    ]


async def called(model: ModelServer, times: int = 1) -> None:
    async with asyncio.timeout(20):
        while len(model.requests) < times:  # noqa: ASYNC110 - the model server tells nobody
            await asyncio.sleep(0.02)


async def number(client: httpx.AsyncClient, name: str) -> float:
    """Return a value of `/metrics`."""
    found = re.search(
        rf"^{re.escape(name)} (\S+)$", (await client.get("/metrics")).text, re.MULTILINE
    )
    assert found, name
    return float(found[1])


async def holder(processes: list[Any]) -> int:
    """Return the index of the process that runs the only turn."""
    running = 'oda_turns_unfinished{state="running"}'
    values = [await number(process.client, running) for process in processes]
    assert sorted(values) == [0.0, 1.0]
    return values.index(1.0)


# --- idempotency


async def test_the_same_key_is_the_same_turn(server: Any, model: ModelServer) -> None:
    model.play([Text(text="once")])
    session = await new_session(server.client)
    first = await post(server.client, session, "hello", "k1")
    assert "Idempotent-Replayed" not in first.headers
    again = await post(server.client, session, "hello", "k1")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert len(model.requests) == 1
    streamed = await post(server.client, session, "hello", "k1", **STREAM)
    frames = list(map(parse, filter(None, streamed.text.split("\n\n"))))
    assert frames[-1][1:] == ("done", first.json()["turn"])
    later = await post(server.client, session, "hello", "k1", **LATER)
    assert (later.status_code, later.json()["turn_id"]) == (202, first.json()["turn"]["turn_id"])
    assert await user_messages(server.client, session) == ["hello"]


async def test_the_same_key_with_another_body_is_refused(server: Any) -> None:
    session = await new_session(server.client)
    await post(server.client, session, "hello", "k2")
    other = await post(server.client, session, "good bye", "k2")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")


async def test_a_key_belongs_to_its_user_and_session(server: Any) -> None:
    sessions = [await new_session(server.client) for _ in range(2)]
    turns = [(await post(server.client, s, "hello", "k3")).json()["turn"] for s in sessions]
    assert turns[0]["turn_id"] != turns[1]["turn_id"]


async def test_posts_at_once_with_one_key_make_one_turn(server: Any, model: ModelServer) -> None:
    session = await new_session(server.client)
    answers = await asyncio.gather(
        *(post(server.client, session, "hello", "k4") for _ in range(10))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["turn"]["turn_id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert await user_messages(server.client, session) == ["hello"]


async def test_a_replay_is_not_refused_by_a_full_queue(serve: Any, model: ModelServer) -> None:
    server = await serve(**gemini(model), SESSION__MAX_QUEUED="1")
    model.play([Hang()])
    session = await new_session(server.client)
    first = await post(server.client, session, "1", "k5", **LATER)
    assert (await post(server.client, session, "2", **LATER)).status_code == 202
    full = await post(server.client, session, "3", **LATER)
    assert full.status_code == 429
    assert int(full.headers["Retry-After"]) > 0
    again = await post(server.client, session, "1", "k5", **LATER)
    assert (again.status_code, again.json()["turn_id"]) == (202, first.json()["turn_id"])


# --- restarts


async def test_a_turn_whose_client_and_server_are_gone_is_read_from_the_start(
    serve: Any, settings: dict[str, str], model: ModelServer
) -> None:
    model.play([Text(text="Here it is.")])
    first = await serve(**settings)
    session = await new_session(first.client)
    turn_id = (await post(first.client, session, "hello", **LATER)).json()["turn_id"]
    turn = await ended(first.client, turn_id)
    assert await first.stop() == 0

    second = await serve(**settings)
    frames = await follow(second.client, turn_id)
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))
    assert [kind for _, kind, _ in frames].count("done") == 1
    assert frames[-1] == (len(frames), "done", turn)
    assert (await second.client.get(f"/v1/turns/{turn_id}")).json() == turn
    listed = (await second.client.get(f"{session}/turns")).json()["turns"]
    assert [item["turn_id"] for item in listed] == [turn_id]
    replayed = await post(second.client, session, "hello", **LATER)
    assert replayed.json()["turn_id"] != turn_id


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
async def test_a_turn_goes_on_after_the_server_has_died(
    serve: Any, settings: dict[str, str], model: ModelServer, sig: signal.Signals
) -> None:
    add = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
    model.play([add, Hang()])
    first = await serve(**settings)
    session = await new_session(first.client)
    turn_id = (await post(first.client, session, "2 + 3?", "key", **LATER)).json()["turn_id"]
    queued = (await post(first.client, session, "and now?", **LATER)).json()["turn_id"]
    await called(model, 2)
    await first.stop(sig)
    seen = model.requests[-1].messages[-1].tool_results

    model.play([Text(text="Five."), Text(text="Nothing.")])
    second = await serve(**settings)
    turn = await ended(second.client, turn_id)
    assert (turn["status"], turn["reply"], turn["attempts"]) == ("succeeded", "Five.", 2)
    assert (await ended(second.client, queued))["reply"] == "Nothing."
    assert await user_messages(second.client, session) == ["2 + 3?", "and now?"]
    assert seen, "the tool had answered before the crash"
    assert (await second.client.get(f"{session}/state")).json() == {"sums": 1}
    frames = await follow(second.client, turn_id)
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))
    calls = [f for _, kind, f in frames if kind == "event" and "functionCall" in json.dumps(f)]
    assert len(calls) == 1
    again = await post(second.client, session, "2 + 3?", "key")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["turn"] == turn


async def test_a_reader_goes_on_after_a_restart_without_gap_or_repetition(
    serve: Any, settings: dict[str, str], model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Hang()])
    first = await serve(**settings)
    session = await new_session(first.client)
    seen: list[Frame] = []
    async with first.client.stream(
        "POST", f"{session}/turns", json={"message": "2 + 3?"}, headers=STREAM
    ) as answer:
        frame: list[str] = []
        async for line in answer.aiter_lines():
            if line:
                frame.append(line)
            elif frame:
                seen.append(parse("\n".join(frame)))
                frame = []
            if len(model.requests) == 2 and len(seen) >= 4:
                break
    await first.stop(signal.SIGKILL)
    model.play([Text(text="Five.")])
    second = await serve(**settings)
    rest = await follow(second.client, seen[0][2]["turn_id"], seen[-1][0])
    numbers = [number for number, _, _ in (*seen, *rest) if number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert rest[-1][1] == "done"
    assert rest[-1][2]["reply"] == "Five."


async def test_a_question_is_answered_after_a_restart(
    serve: Any, settings: dict[str, str], model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),))])
    first = await serve(**settings)
    session = await new_session(first.client)
    waiting = (await post(first.client, session, "pay 9")).json()["turn"]
    assert waiting["status"] == "waiting_input"
    assert waiting["finished_at"] is None
    await first.stop(signal.SIGKILL)

    model.play([Text(text="Settled.")])
    second = await serve(**settings)
    address = f"/v1/turns/{waiting['turn_id']}"
    asked = waiting["pending_input"][0]["id"]
    answer = {"responses": [{"id": asked, "confirmed": True}]}
    stranger = await second.client.post(
        f"{address}/input", json=answer, headers={"X-Oda-User": "eve"}
    )
    assert stranger.status_code == 404
    settled = (await second.client.post(f"{address}/input", json=answer)).json()
    assert (settled["turn"]["status"], settled["reply"]) == ("succeeded", "Settled.")
    assert (await second.client.post(f"{address}/input", json=answer)).status_code == 409
    frames = await follow(second.client, waiting["turn_id"])
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))
    assert [kind for _, kind, _ in frames].count("done") == 1


async def test_the_stream_of_a_waiting_turn_ends_with_a_done_outside_the_log(
    server: Any, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    session = await new_session(server.client)
    streamed = await post(server.client, session, "pay 9", **STREAM)
    frames = list(map(parse, filter(None, streamed.text.split("\n\n"))))
    number, kind, turn = frames[-1]
    assert (number, kind, turn["status"]) == (None, "done", "waiting_input")
    asked = turn["pending_input"][0]["id"]
    answered = await server.client.post(
        f"/v1/turns/{turn['turn_id']}/input",
        json={"responses": [{"id": asked, "confirmed": True}]},
        headers=STREAM,
    )
    rest = list(map(parse, filter(None, answered.text.split("\n\n"))))
    numbers = [number for number, _, _ in (*frames[:-1], *rest) if number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert rest[-1][1] == "done"


# --- several servers


@shared
async def test_two_servers_serve_one_session_in_order(
    serve: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    servers = [await serve(**settings, data=tmp_path / name) for name in ("one", "two")]
    session = await new_session(servers[0].client)
    accepted = []
    for number in range(12):
        server = servers[number % 2]
        answer = await post(server.client, session, f"message {number}", **LATER)
        assert answer.status_code == 202, answer.text
        accepted.append(answer.json()["turn_id"])
    turns = [await ended(servers[1].client, turn_id) for turn_id in accepted]
    assert {turn["status"] for turn in turns} == {"succeeded"}
    assert [turn["started_at"] for turn in turns] == sorted(turn["started_at"] for turn in turns)
    for one, other in itertools.pairwise(turns):
        assert one["finished_at"] <= other["started_at"]
    for server in servers:
        expected = [f"message {number}" for number in range(12)]
        assert await user_messages(server.client, session) == expected


@shared
async def test_a_turn_is_followed_and_cancelled_from_another_server(
    serve: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    one, two = [await serve(**settings, data=tmp_path / name) for name in ("one", "two")]
    model.play([Hang()])
    session = await new_session(one.client)
    key = uuid.uuid4().hex
    turn_id = (await post(one.client, session, "hello", key, **LATER)).json()["turn_id"]
    joined = await post(two.client, session, "hello", key, **LATER)
    assert joined.json()["turn_id"] == turn_id
    await called(model)
    following = asyncio.create_task(follow(two.client, turn_id))
    cancelled = await two.client.post(f"/v1/turns/{turn_id}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    frames = await asyncio.wait_for(following, 20)
    assert frames[-1][2]["status"] == "cancelled"


@shared
async def test_turns_at_once_on_two_servers_share_what_is_left_of_the_day(
    serve: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    settings |= {"DAY__MODEL_CALLS": "2", "TURN__SILENT_S": "60"}  # nobody takes a turn over
    servers = [await serve(**settings, data=tmp_path / name) for name in ("one", "two")]
    model.play([Text(text="answered")] * 24)
    clients = [servers[n % 2].client for n in range(24)]
    sessions = [await new_session(client) for client in clients]
    answers = await asyncio.gather(*map(post, clients, sessions, itertools.repeat("hello")))
    ends = Counter(
        answer.json()["code"]
        if answer.status_code == 429
        else answer.json()["turn"]["error"]["code"]
        if answer.json()["turn"]["error"]
        else answer.json()["reply"]
        for answer in answers
    )
    assert (ends, len(model.requests)) == ({"answered": 2, "daily_limit": 22}, 2)
    late = await post(servers[0].client, sessions[0], "hello")
    assert (late.status_code, late.json()["code"]) == (429, "daily_limit")
    assert 0 < int(late.headers["Retry-After"]) <= 86400


@shared
async def test_a_living_server_takes_over_from_a_dead_one(
    serve: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    servers = [await serve(**settings, data=tmp_path / name) for name in ("one", "two")]
    model.play([Hang()])
    session = await new_session(servers[0].client)
    turn_id, behind = [
        (await post(server.client, session, message, **LATER)).json()["turn_id"]
        for server, message in zip(servers, ("hello", "me too"), strict=True)
    ]
    await called(model)
    model.play([Text(text="Taken over."), Text(text="You too.")])
    dead = servers.pop(await holder(servers))
    await dead.stop(signal.SIGKILL)
    living = servers[0].client
    assert (await ended(living, turn_id))["reply"] == "Taken over."
    assert (await ended(living, behind))["reply"] == "You too."
    assert await user_messages(living, session) == ["hello", "me too"]


async def test_a_second_server_on_an_sqlite_file_is_refused(
    serve: Any, tmp_path: Path, model: ModelServer
) -> None:
    model.play([Hang()])
    first = await serve(**gemini(model))
    session = await new_session(first.client)
    turn_id = (await post(first.client, session, "hello", **LATER)).json()["turn_id"]
    await called(model)
    home = Home(tmp_path)
    refused = await home.run("serve", "--port", "0")
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("error: ")
    assert f"({first.process.pid})" in refused.stderr
    assert "PostgreSQL" in refused.stderr
    assert "Traceback" not in refused.stderr
    # The first one works on undisturbed, and commands that run no turns work beside it.
    listed = json.loads((await home.run("turns", "list", "--json")).stdout)["turns"]
    assert [(turn["turn_id"], turn["status"]) for turn in listed] == [(turn_id, "running")]
    cancelled = await home.run("turns", "cancel", turn_id)
    assert (cancelled.code, cancelled.stdout) == (0, f"{turn_id} is cancelled\n")
    assert (await ended(first.client, turn_id))["status"] == "cancelled"


async def test_a_server_starts_once_the_one_on_its_sqlite_file_is_gone(
    serve: Any, model: ModelServer
) -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        server = await serve(**gemini(model))
        await server.stop(sig)
    last = await serve(**gemini(model))
    assert (await last.client.get("/readyz")).status_code == 200
