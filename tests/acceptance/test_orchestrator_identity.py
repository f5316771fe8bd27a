"""An orchestrator on a server that knows who asks, and has no model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.identity.audit import AuditLog
from tests.acceptance.test_identity import revoke
from tests.support.keys import bearer, make_key
from tests.support.orchestrator_client import opened, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCENES = Path(__file__).parents[1] / "support" / "scene_agents"
PROCESS = "/api/orchestrator/process"
STEPS = "/api/agents/butler"
HELLO = {"input": text("hello")}


@dataclass(frozen=True)
class Closed:
    """A server with keys."""

    server: Any
    data: Path
    anna: dict[str, str]
    root: dict[str, str]

    @property
    def client(self) -> httpx.AsyncClient:
        client: httpx.AsyncClient = self.server.client
        return client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def closed(serve_folder: Any, tmp_path_factory: pytest.TempPathFactory) -> Closed:
    data = tmp_path_factory.mktemp("closed")
    anna, root = await make_key(data, "anna"), await make_key(data, "root", "admin")
    server = await serve_folder(SCENES, data)
    return Closed(server, data, bearer(anna), bearer(root))


async def test_every_door_needs_a_credential(closed: Closed) -> None:
    for path, body in ((PROCESS, HELLO), (f"{STEPS}/echo", {"text": "x"})):
        refused = await closed.client.post(path, json=body)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert (await closed.client.post(path, json=body, headers=closed.anna)).status_code == 200
    with pytest.raises(InvalidStatus) as unknown:
        async with opened(closed.server.url):
            pass
    assert unknown.value.response.status_code == 401


async def test_the_user_is_the_credentials_and_never_the_bodys(closed: Closed) -> None:
    for headers, named, status in (
        (closed.anna, "anna", 200),
        (closed.anna, "bert", 403),
        (closed.root, "anna", 403),
        ({**closed.root, "X-Oda-User": "anna"}, "anna", 200),
        ({**closed.root, "X-Oda-User": "anna"}, "root", 403),
    ):
        answer = await closed.client.post(
            PROCESS, json={"user_id": named, "session_id": "s", **HELLO}, headers=headers
        )
        assert answer.status_code == status
    forged = {"user_id": "bert", "text": "x"}
    known = await closed.client.post(f"{STEPS}/tell-time", json=forged, headers=closed.anna)
    assert known.json()["user_id"] == "anna"


async def test_a_socket_knows_its_user_and_is_closed_when_the_key_ends(closed: Closed) -> None:
    key = await make_key(closed.data, "carl")
    offered = [Subprotocol("oda.v1"), Subprotocol(f"bearer.{key}")]
    async with opened(closed.server.url, subprotocols=offered) as client:
        await client.say("hello", "s", user_id="anna", request_id=1)
        error = await client.error()
        assert (error["status"], error["code"], error["request_id"]) == (403, "forbidden", 1)
        await client.say("hello", "s")
        response = await client.response()
        turn = await closed.client.get(f"/v1/turns/{response['turn_id']}", headers=bearer(key))
        assert turn.json()["user_id"] == "carl"
        await revoke(closed.data, key)
        await client.say("hello", "s", request_id=2)
        refused = await client.error()
        assert (refused["status"], refused["request_id"]) == (401, 2)
        assert (await client.closed())[0] == 4401
    async with open_database(f"sqlite:///{closed.data / 'oda.db'}") as database:
        entries = await AuditLog(database, SystemClock()).read()
    written = [(one.actor, one.target, one.status) for one in entries if one.actor == "carl"]
    assert written == [
        ("carl", "/v1/apps/butler/sessions/s", 403),
        ("carl", "/v1/apps/butler/sessions/s", 200),
    ]


async def test_what_needs_a_model_says_so(closed: Closed) -> None:
    missing = await closed.client.post(
        f"{STEPS}/tell-story", json={"text": "cats"}, headers=closed.anna
    )
    assert (missing.status_code, missing.json()["code"]) == (501, "not_configured")
    assert "ODA_MODEL" in missing.json()["detail"]
    for said in ("story", "cats"):
        answer = await closed.client.post(
            PROCESS, json={"session_id": "model", "input": text(said)}, headers=closed.anna
        )
    response = answer.json()
    assert (response["success"], response["error"]["code"]) == (False, "not_configured")
    assert (response["scene"], response["phase"]) == ("story", "telling")
    (butler,) = (await closed.client.get("/v1/apps", headers=closed.anna)).json()["apps"]
    assert butler["model"] == {"state": "not_configured", "name": None}
