"""Other systems begin turns by signed requests; standing webhooks tell of all turns of an app."""

import asyncio
import base64
import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from standardwebhooks import Webhook

from oda.testing import ModelServer
from oda.testing.script import Text
from tests.support.hook_server import hook_server
from tests.support.model_settings import gemini
from tests.support.oda_command import Home

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

AGENTS = Path(__file__).parents[1] / "support" / "agents"
SECRET = f"whsec_{base64.b64encode(b'a key of twenty-four byte').decode()}"
OTHER = f"whsec_{base64.b64encode(b'another key of an issuer').decode()}"
PATIENCE_S = 40.0
TRIGGERS = """
triggers:
  sum-up:
    app: calculator
    message: "Sum up {issue.title}."
    user: ann
    session: "issue-{issue.id}"
  nightly:
    app: calculator
    message: "Good night."
    secret: ${NIGHTLY_SECRET}
  unsigned:
    app: calculator
    message: "Never."
    secret: ${NO_SECRET}
"""
ISSUE = {"issue": {"title": "the leak", "id": 7}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def configured(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A server that is closed, with triggers."""
    home = tmp_path_factory.mktemp("triggers")
    (home / "triggers.yaml").write_text(TRIGGERS)
    data = home / "data"
    made = await Home(home).run("keys", "create", "--user", "ann", DATA_DIR=str(data))
    assert made.code == 0, made.stderr
    server = await serve_folder(
        AGENTS,
        data,
        {"NIGHTLY_SECRET": OTHER, "NO_SECRET": "password"},
        **gemini(shared_model),
        CONFIG_DIR=str(home),
        WEBHOOKS__SECRET=SECRET,
        LIMITS__FAILED_LOGINS_PER_MINUTE="1000",
    )
    server.client.headers["Authorization"] = f"Bearer {made.stdout.strip()}"
    return server


def signed(
    body: bytes, secret: str = SECRET, message_id: str | None = None, *, ago_s: float = 0
) -> dict[str, str]:
    name, at = message_id or uuid.uuid4().hex, datetime.now(UTC) - timedelta(seconds=ago_s)
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, at, body.decode()),
    }


async def pull(
    server: Any, name: str, value: Any = None, *, app: str = "calculator", **options: Any
) -> httpx.Response:
    """Pull a trigger without any other credential."""
    body = b"" if value is None else json.dumps(value).encode()
    headers = {**signed(body, **options.pop("sign", {})), **options.pop("headers", {})}
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        return await client.post(f"/v1/apps/{app}/triggers/{name}", content=body, headers=headers)


async def ended(client: httpx.AsyncClient, turn_id: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            turn: dict[str, Any] = (await client.get(f"/v1/turns/{turn_id}")).json()
            if turn["finished_at"]:
                return turn
            await asyncio.sleep(0.05)


async def test_a_signed_request_begins_a_turn_once(configured: Any, model: ModelServer) -> None:
    model.play([Text(text="It drips.")])
    sign = {"message_id": "evt_1"}
    answer = await pull(configured, "sum-up", ISSUE, sign=sign)
    assert answer.status_code == 202, answer.text
    turn = answer.json()
    assert (turn["app"], turn["user_id"], turn["session_id"]) == ("calculator", "ann", "issue-7")
    assert turn["metadata"] == {"trigger": "sum-up"}
    assert answer.headers["location"] == f"/v1/turns/{turn['turn_id']}"
    done = await ended(configured.client, turn["turn_id"])
    assert (done["status"], done["reply"]) == ("succeeded", "It drips.")
    assert model.requests[-1].messages[-1].text == "Sum up the leak."
    again = await pull(configured, "sum-up", ISSUE, sign=sign)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert again.json()["turn_id"] == turn["turn_id"]
    other = await pull(configured, "sum-up", {"issue": {"title": "x", "id": 7}}, sign=sign)
    assert other.status_code == 422
    assert len(model.requests) == 1


async def test_a_trigger_may_have_a_secret_of_its_own_and_need_no_body(
    configured: Any, model: ModelServer
) -> None:
    model.play([Text(text="Sleep well.")] * 2)
    assert (await pull(configured, "nightly")).status_code == 401
    answers = [await pull(configured, "nightly", sign={"secret": OTHER}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    turns = [answer.json() for answer in answers]
    assert {turn["user_id"] for turn in turns} == {"local"}
    assert len({turn["session_id"] for turn in turns}) == 2
    async with asyncio.timeout(PATIENCE_S):
        while len(model.requests) < 2:  # noqa: ASYNC110 - the model server tells nobody
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"sign": {"secret": OTHER}}, 401),
        ({"sign": {"ago_s": 600}}, 401),
        ({"sign": {"ago_s": -600}}, 401),
        ({"headers": {"webhook-id": "another"}}, 401),
        ({"headers": {"webhook-signature": "v1,AAAA"}}, 401),
        ({"headers": {"webhook-signature": "", "webhook-id": ""}}, 401),
        ({"headers": {"content-type": "text/plain"}}, 415),
        ({"app": "keeper"}, 404),
        ({"app": "nothing"}, 404),
    ],
)
async def test_what_is_not_signed_for_a_trigger_is_refused(
    configured: Any, model: ModelServer, options: dict[str, Any], status: int
) -> None:
    answer = await pull(configured, "sum-up", ISSUE, **options)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert not model.requests


async def test_what_a_trigger_cannot_use_is_refused(configured: Any, model: ModelServer) -> None:
    client = httpx.AsyncClient(base_url=configured.url)
    async with client:
        unsigned = await client.post("/v1/apps/calculator/triggers/sum-up", json=ISSUE)
    assert unsigned.status_code == 401
    by_key = await configured.client.post("/v1/apps/calculator/triggers/sum-up", json=ISSUE)
    assert by_key.status_code == 401
    assert (await pull(configured, "nothing", ISSUE)).status_code == 404
    wrong_values: list[Any] = [{}, {"issue": 5}, [], {"issue": {"title": "x", "id": "a/b"}}]
    for value in wrong_values:
        assert (await pull(configured, "sum-up", value)).status_code == 422, value
    assert (await pull(configured, "unsigned", ISSUE)).status_code == 501
    wrong = b"{"
    async with httpx.AsyncClient(base_url=configured.url) as client:
        answer = await client.post(
            "/v1/apps/calculator/triggers/sum-up", content=wrong, headers=signed(wrong)
        )
    assert answer.status_code == 400
    assert not model.requests


async def test_standing_webhooks_tell_of_the_turns_of_an_app(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    model.play([Text(text="One."), Text(text="Two.")])
    async with hook_server() as receiver:
        standing = {"url": f"{receiver.url}/standing", "apps": ["calculator"], "events": ["done"]}
        (tmp_path / "webhooks.yaml").write_text(json.dumps({"webhooks": {"crm": standing}}))
        server = await serve(
            **gemini(model),
            CONFIG_DIR=str(tmp_path),
            WEBHOOKS__SECRET=SECRET,
            WEBHOOKS__ALLOW_PRIVATE="true",
        )
        for app in ("keeper", "calculator"):
            session = f"/v1/apps/{app}/sessions"
            sid = (await server.client.post(session, json={})).json()["session_id"]
            body = {"message": "hi", "notify": {"url": f"{receiver.url}/{app}"}}
            turn = (await server.client.post(f"{session}/{sid}/turns", json=body)).json()["turn"]
        hooks = [await receiver.next() for _ in range(3)]
    paths = sorted(hook.path for hook in hooks)
    assert paths == ["/hook/calculator", "/hook/keeper", "/hook/standing"]
    (told,) = [hook for hook in hooks if hook.path == "/hook/standing"]
    assert Webhook(SECRET).verify(told.body, told.headers)["data"] == turn
    assert len({hook.id for hook in hooks}) == 3
