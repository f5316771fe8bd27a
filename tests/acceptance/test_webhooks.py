"""Who is named with a turn is told when it ends or waits: signed, tried again, once it is stored.

What comes is verified by the package of Standard Webhooks.
"""

import asyncio
import base64
import json
import signal
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Text, ToolCalls
from tests.support.hook_server import Hook, HookServer, hook_server
from tests.support.model_settings import gemini
from tests.support.oda_command import Home

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

SECRET = f"whsec_{base64.b64encode(b'a key of twenty-four byte').decode()}"
OF_WEBHOOKS = {"WEBHOOKS__SECRET": SECRET, "WEBHOOKS__ALLOW_PRIVATE": "true"}
PATIENCE_S = 40.0
LATER = {"Prefer": "respond-async"}
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 5}),))

Json = dict[str, Any]


@pytest.fixture(scope="module")
def model_settings(shared_model: ModelServer) -> dict[str, str]:
    return {**gemini(shared_model), **OF_WEBHOOKS}


def verified(hook: Hook) -> Json:
    """What was sent, if the signature holds."""
    found: Json = Webhook(SECRET).verify(hook.body, hook.headers)
    assert hook.headers["content-type"] == "application/json"
    return found


async def new_session(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/apps/calculator/sessions", json={})
    return f"/v1/apps/calculator/sessions/{answer.json()['session_id']}"


async def say(
    client: httpx.AsyncClient, notify: Any, message: str = "hello", **headers: str
) -> Json:
    """Send a message in a session of its own; return the turn."""
    session = await new_session(client)
    body = {"message": message, "notify": notify}
    answer = await client.post(f"{session}/turns", json=body, headers=headers)
    assert answer.status_code in (200, 202), answer.text
    found: Json = answer.json()
    turn: Json = found.get("turn", found)
    return turn


async def refused(client: httpx.AsyncClient, notify: Any) -> Json:
    session = await new_session(client)
    body = {"message": "hello", "notify": notify}
    answer = await client.post(f"{session}/turns", json=body)
    assert answer.status_code == 422, answer.text
    assert (await client.get(f"{session}/turns")).json()["turns"] == []
    problem: Json = answer.json()
    return problem


async def deliveries(home: Home, *options: str) -> list[Json]:
    ended = await home.run("webhooks", "list", "--json", *options)
    assert ended.code == 0, ended.stderr
    found: list[Json] = json.loads(ended.stdout)["deliveries"]
    return found


async def settled(home: Home, turn_id: str) -> Json:
    """The only delivery of a turn, once it does not wait any more."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            (found,) = await deliveries(home, "--turn", turn_id)
            if found["status"] != "waiting":
                return found


def home_of(data: Path, settings: dict[str, str]) -> Home:
    """Where commands use the database of a server."""
    return Home(data.parent, variables={"ODA_DATA_DIR": str(data), **_variables(settings)})


def _variables(settings: dict[str, str]) -> dict[str, str]:
    return {f"ODA_{name}": value for name, value in settings.items()}


async def test_the_end_of_a_turn_is_told_as_it_is_stored(server: Any, model: ModelServer) -> None:
    model.play([Text(text="Hello."), Error(status=401)])
    async with hook_server() as receiver:
        for status in ("succeeded", "failed"):
            turn = await say(server.client, {"url": receiver.url})
            event = verified(await receiver.next())
            assert set(event) == {"type", "timestamp", "data"}
            assert event["type"] == "turn.done"
            assert event["timestamp"].endswith("Z")
            assert event["data"] == turn
            assert event["data"] == (await server.client.get(f"/v1/turns/{turn['turn_id']}")).json()
            assert turn["status"] == status
    assert len({hook.id for hook in receiver.all}) == 2


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (None, ["turn.waiting_input", "turn.done"]),
        (["waiting_input"], ["turn.waiting_input"]),
        (["done"], ["turn.done"]),
    ],
)
async def test_a_question_is_told_to_those_who_want_to_hear_it(
    server: Any, model: ModelServer, events: list[str] | None, told: list[str]
) -> None:
    model.play([PAY, Text(text="Paid."), Text(text="Last.")])
    client = server.client
    async with hook_server() as receiver:
        notify = {"url": receiver.url, **({"events": events} if events else {})}
        turn = await say(client, notify)
        assert turn["status"] == "waiting_input"
        if "turn.waiting_input" in told:
            asked = verified(await receiver.next())
            assert asked["data"]["pending_input"] == turn["pending_input"]
        answers = {"responses": [{"id": turn["pending_input"][0]["id"], "confirmed": True}]}
        done = await client.post(f"/v1/turns/{turn['turn_id']}/input", json=answers)
        assert done.json()["reply"] == "Paid."
        if "turn.done" in told:
            assert verified(await receiver.next())["data"] == done.json()["turn"]
        last = await say(client, {"url": receiver.url})
        async with asyncio.timeout(PATIENCE_S):
            while (await receiver.next()).event["data"]["turn_id"] != last["turn_id"]:
                pass
    assert [hook.event["type"] for hook in receiver.all] == [*told, "turn.done"]


async def test_a_cancelled_question_is_told_and_a_replayed_request_tells_nothing_twice(
    server: Any, model: ModelServer
) -> None:
    model.play([PAY, Text(text="Last.")])
    client = server.client
    async with hook_server() as receiver:
        session = await new_session(client)
        body = {"message": "pay", "notify": {"url": receiver.url, "events": ["done"]}}
        headers = {"Idempotency-Key": session}
        turn = (await client.post(f"{session}/turns", json=body, headers=headers)).json()["turn"]
        again = await client.post(f"{session}/turns", json=body, headers=headers)
        assert again.json()["turn"] == turn
        other = {"message": "pay", "notify": {"url": f"{receiver.url}/2", "events": ["done"]}}
        conflict = await client.post(f"{session}/turns", json=other, headers=headers)
        assert conflict.status_code == 422
        await client.post(f"/v1/turns/{turn['turn_id']}/cancel")
        event = verified(await receiver.next())
        assert (event["type"], event["data"]["status"]) == ("turn.done", "cancelled")
        await say(client, {"url": receiver.url})
        await receiver.next()
    assert len(receiver.all) == 2


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/x", "http://localhost:80/", "https://[::1]/", "http://10.1.2.3/"),
        *("http://169.254.169.254/latest", "http://2130706433/", "http://0x7f.1/", "http://0/"),
        *("http://[::ffff:127.0.0.1]/", "http://a.localhost/", "http://metadata.google.internal/"),
        *("ftp://example.org/", "file:///etc/passwd", "http://u:p@example.org/", "no url", "//x/"),
    ],
)
async def test_a_url_that_is_plainly_private_or_none_is_refused_with_the_turn(
    serve_folder: Any, shared_model: ModelServer, url: str
) -> None:
    server = await _strict(serve_folder, shared_model)
    problem = await refused(server.client, {"url": url})
    assert problem["errors"][0]["field"] == "notify.url"


_STRICT: dict[int, Any] = {}


async def _strict(serve_folder: Any, model: ModelServer) -> Any:
    """A server that sends to public addresses only."""
    if id(serve_folder) not in _STRICT:
        agents = Path(__file__).parents[1] / "support" / "agents"
        settings = {**gemini(model), "WEBHOOKS__SECRET": SECRET}
        _STRICT[id(serve_folder)] = await serve_folder(agents, **settings)
    return _STRICT[id(serve_folder)]


@pytest.mark.parametrize(
    "notify",
    [
        *({}, "http://example.org/", {"url": 5}, {"url": ""}, {"url": "http://e.org/", "to": 1}),
        *({"url": "http://e.org/", "events": []}, {"url": "http://e.org/", "events": ["begun"]}),
        {"url": f"http://e.org/{'x' * 2000}"},
    ],
)
async def test_what_is_no_notify_is_refused(server: Any, notify: Any) -> None:
    await refused(server.client, notify)


async def test_a_server_without_a_secret_promises_nothing(keyless: Any) -> None:
    problem = await refused(keyless.client, {"url": "https://example.org/"})
    assert "ODA_WEBHOOKS__SECRET" in problem["detail"]


async def test_a_receiver_that_fails_is_told_again_under_the_same_id(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    model.play([Text(text="Hello.")])
    settings = {**gemini(model), **OF_WEBHOOKS}
    server, home = await serve(**settings), home_of(tmp_path / "data", settings)
    async with hook_server(500, 302) as receiver:
        receiver.headers = [f"Location: {receiver.url}/elsewhere"]
        turn = await say(server.client, {"url": receiver.url})
        hooks = [await receiver.next() for _ in range(2)]
        (waits,) = await deliveries(home, "--status", "waiting")
        assert waits["problem"] == "the webhook's address answered 302"
        again = await home.run("webhooks", "retry", waits["delivery_id"])  # not in ten seconds
        assert again.code == 0, again.stderr
        hooks.append(await receiver.next())
        found = await settled(home, turn["turn_id"])
    assert {hook.path for hook in hooks} == {"/hook"}
    assert {hook.id for hook in hooks} == {found["delivery_id"]}
    assert len({hook.body for hook in hooks}) == 1
    assert [verified(hook)["data"] for hook in hooks] == [turn] * 3
    assert (found["status"], found["problem"], found["type"]) == ("delivered", "", "turn.done")
    assert (found["url"], found["turn_id"]) == (receiver.url, turn["turn_id"])
    shown = (await home.run("webhooks", "list")).stdout
    assert found["delivery_id"] in shown
    assert SECRET not in shown + "".join(server.output)


async def test_a_receiver_that_is_gone_is_left_alone_until_it_is_tried_by_hand(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    model.play([Text(text="Hello.")])
    settings = {**gemini(model), **OF_WEBHOOKS}
    server, home = await serve(**settings), home_of(tmp_path / "data", settings)
    async with hook_server(410) as receiver:
        turn = await say(server.client, {"url": receiver.url})
        first = await receiver.next()
        failed = await settled(home, turn["turn_id"])
        assert (failed["status"], failed["attempts"]) == ("failed", 1)
        assert failed["problem"] == "the webhook's address answered 410"
        assert await deliveries(home, "--status", "failed") == [failed]
        retried = await home.run("webhooks", "retry", failed["delivery_id"], "--json")
        assert json.loads(retried.stdout)["status"] == "waiting"
        assert (await receiver.next()).id == first.id
        assert (await settled(home, turn["turn_id"]))["status"] == "delivered"
        unknown = await home.run("webhooks", "retry", "msg_unknown")
    assert unknown.code != 0
    assert "there is no delivery" in unknown.stderr.lower()


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
async def test_what_was_not_told_before_a_kill_is_told_after_it(
    serve: Any,
    model: ModelServer,
    tmp_path: Path,
    database: str,
    request: pytest.FixtureRequest,
) -> None:
    model.play([Text(text="Hello.")])
    settings = {**gemini(model), **OF_WEBHOOKS}
    if database == "postgres":
        settings["DATABASE_URL"] = request.getfixturevalue("own_postgres")
    with socket.socket() as bound:  # nobody listens there
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        server = await serve(**settings)
        turn = await say(server.client, {"url": f"http://127.0.0.1:{port}/hook"})
        assert turn["status"] == "succeeded"
        await server.stop(signal.SIGKILL)
    async with hook_server(port=port) as receiver:
        await serve(**settings)
        assert verified(await receiver.next())["data"] == turn
        found = await settled(home_of(tmp_path / "data", settings), turn["turn_id"])
        assert found["status"] == "delivered"
    assert {hook.id for hook in receiver.all} == {found["delivery_id"]}


@pytest.mark.postgres
async def test_each_delivery_is_sent_by_one_of_many_nodes(
    serve: Any, model: ModelServer, own_postgres: str
) -> None:
    model.play([Text(text="Hello.")] * 20)
    settings = {**gemini(model), **OF_WEBHOOKS, "DATABASE_URL": own_postgres}
    nodes = [await serve(**settings) for _ in range(2)]
    async with hook_server() as receiver:
        said = [say(nodes[n % 2].client, {"url": receiver.url}, **LATER) for n in range(20)]
        turns = {turn["turn_id"] for turn in await asyncio.gather(*said)}
        await _all_of(receiver, turns)
    assert set(Counter(hook.id for hook in receiver.all).values()) == {1}


async def _all_of(receiver: HookServer, turns: set[str]) -> None:
    told: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        while told != turns:
            told.add((await receiver.next()).event["data"]["turn_id"])
