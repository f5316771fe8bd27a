"""Who may do what, asked of real servers."""

import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from oda.clock import SystemClock
from oda.context import OdaContext
from oda.database.database import open_database
from oda.identity.keys import ApiKeys
from oda.server.adk.access import access_to
from oda.server.adk.application import open_adk_app
from oda.server.app import create_app
from oda.settings import Settings
from tests.support.keys import bearer, make_key
from tests.support.oda_command import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[1] / "support" / "agents"
SESSIONS = "/v1/apps/calculator/sessions"
_REFERENCE = re.compile(r'#/components/schemas/([^"]+)"')
FOR_EVERYBODY = {"/livez", "/readyz", "/health"}
CARDS = {"/.well-known/agent-card.json", "/a2a/x/.well-known/agent-card.json"}
"""Public as well; here they are of no app."""


@dataclass(frozen=True)
class Closed:
    """A server with keys, and those who hold them."""

    server: Any
    data: Path
    root: httpx.AsyncClient
    anna: httpx.AsyncClient
    bert: httpx.AsyncClient

    @property
    def websocket_url(self) -> str:
        return f"ws{self.server.url.removeprefix('http')}"


def key_of(client: httpx.AsyncClient) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")


async def revoke(data: Path, key: str) -> None:
    async with open_database(f"sqlite:///{data / 'oda.db'}") as database:
        await ApiKeys(database, SystemClock()).revoke(key.split("_")[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def closed(
    serve_folder: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Closed]:
    data = tmp_path_factory.mktemp("closed")
    root, anna, bert = (
        await make_key(data, "root", "admin"),
        await make_key(data, "anna"),
        await make_key(data, "bert"),
    )
    server = await serve_folder(
        AGENTS,
        data,
        LIMITS__FAILED_LOGINS_PER_MINUTE="100000",
        LIMITS__REQUESTS_PER_MINUTE="100000",
    )
    url = server.url
    async with (
        httpx.AsyncClient(base_url=url, headers=bearer(root), timeout=30) as as_root,
        httpx.AsyncClient(base_url=url, headers=bearer(anna), timeout=30) as as_anna,
        httpx.AsyncClient(base_url=url, headers=bearer(bert), timeout=30) as as_bert,
    ):
        yield Closed(server, data, as_root, as_anna, as_bert)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FastAPI]:
    """ADK's application with all that it can have."""
    data = tmp_path_factory.mktemp("adk")
    async with (
        OdaContext.from_settings(agents_dir=AGENTS, data_dir=data) as oda,
        open_adk_app(oda, dev_ui=True) as app,
    ):
        yield app


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Method and path of all that an application serves; WS for WebSockets."""
    for route in iter_route_contexts(app.routes):
        path = re.sub(r"\{[^}]+\}", "x", route.path or "")
        for method in sorted(route.methods or ()) or ["GET", "WS"]:
            yield method, path


async def test_every_route_needs_a_credential(closed: Closed, adk: FastAPI) -> None:
    ours = create_app(Settings.load(agents_dir=AGENTS))
    found = {*routes(ours), *routes(adk), ("GET", "/nowhere"), ("GET", "/dev-ui/index.html")}
    documented = (await closed.root.get("/openapi.json")).json()["paths"]
    assert {re.sub(r"\{[^}]+\}", "x", path) for path in documented} <= {path for _, path in found}
    assert {("POST", "/run"), ("WS", "/run_live"), ("GET", "/metrics"), ("GET", "/docs")} <= found
    for method, path in sorted(found):
        if path in FOR_EVERYBODY | CARDS:
            continue
        if method == "WS":
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"{closed.websocket_url}{path}").__aenter__()
            status, headers = (
                refused.value.response.status_code,
                refused.value.response.headers,
            )
        else:
            answer = await closed.server.client.request(method, path)
            status, headers = answer.status_code, answer.headers
        assert (status, headers.get("WWW-Authenticate")) == (401, "Bearer"), (method, path)
    for path in FOR_EVERYBODY:
        assert (await closed.server.client.get(path)).status_code == 200
    for path in CARDS:
        assert (await closed.server.client.get(path)).status_code == 404


async def test_a_refusal_is_a_problem(closed: Closed) -> None:
    for headers in (
        {},
        {"X-Oda-User": "anna"},
        bearer("oda_0123456789abcdef_" + "A" * 43),
        bearer("eyJhbGciOiJub25lIn0.e30."),
        {"Authorization": f"Basic {key_of(closed.anna)}"},
    ):
        answer = await closed.server.client.get("/v1/apps", headers=headers)
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert (problem["status"], problem["code"]) == (401, "unauthenticated")
        assert problem["trace_id"] == answer.headers["X-Trace-Id"]
        assert "A" * 43 not in answer.text


async def test_a_credential_in_the_url_is_not_looked_at(closed: Closed) -> None:
    key = key_of(closed.anna)
    for name in ("token", "access_token", "api_key", "key", "Authorization"):
        answer = await closed.server.client.get("/v1/apps", params={name: key})
        assert answer.status_code == 401
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"{closed.websocket_url}/run_live?{name}={key}").__aenter__()
        assert refused.value.response.status_code == 401


async def test_users_are_apart_and_never_named_by_the_request(closed: Closed) -> None:
    session = (await closed.anna.post(SESSIONS, json={"session_id": "mine"})).json()
    assert session["user_id"] == "anna"
    turns = f"{SESSIONS}/mine/turns"
    turn = (await closed.anna.post(turns, json={"message": "hello"})).json()["turn"]
    assert turn["user_id"] == "anna"
    for path in (
        f"{SESSIONS}/mine",
        f"{SESSIONS}/mine/events",
        f"{SESSIONS}/mine/state",
        turns,
        f"/v1/turns/{turn['turn_id']}",
        f"/v1/turns/{turn['turn_id']}/events",
    ):
        assert (await closed.anna.get(path)).status_code == 200, path
        assert (await closed.bert.get(path)).status_code == 404, path
        assert (await closed.bert.get(path, params={"user_id": "anna"})).status_code == 404
        for_anna = {"X-Oda-User": "anna"}
        refused = await closed.bert.get(path, headers=for_anna)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert (await closed.root.get(path)).status_code == 404, path
        assert (await closed.root.get(path, headers=for_anna)).status_code == 200, path
    assert (await closed.bert.post(turns, json={"message": "hello"})).status_code == 404
    assert (await closed.bert.delete(f"{SESSIONS}/mine")).status_code == 404
    assert (await closed.bert.get(SESSIONS)).json()["sessions"] == []
    assert (await closed.anna.get(SESSIONS, headers={"X-Oda-User": "anna"})).status_code == 200


async def test_who_an_admin_acts_for_is_the_user(closed: Closed) -> None:
    for_chinese = {b"X-Oda-User": "张三".encode()}
    created = await closed.root.post(SESSIONS, headers=for_chinese)
    assert created.json()["user_id"] == "张三"
    for wrong in ("a/b", "x" * 129, ""):
        answer = await closed.root.get("/v1/apps", headers={"X-Oda-User": wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    twice = [*bearer(key_of(closed.root)).items(), ("X-Oda-User", "a"), ("X-Oda-User", "b")]
    assert (await closed.server.client.get("/v1/apps", headers=twice)).status_code == 422


async def test_adks_routes_know_the_user_too(closed: Closed) -> None:
    theirs = "/apps/calculator/users/anna/sessions"
    assert (await closed.anna.post(f"{theirs}/s")).status_code == 200
    assert (await closed.anna.get(f"{theirs}/s")).json()["userId"] == "anna"
    missing = {"detail": "Session not found"}
    for method, path in (
        ("GET", theirs),
        ("GET", f"{theirs}/s"),
        ("POST", f"{theirs}/other"),
        ("PATCH", f"{theirs}/s"),
        ("GET", f"{theirs}/s/artifacts"),
        ("GET", f"{theirs}/s/artifacts/users/bert"),
        ("DELETE", f"{theirs}/s"),
        ("GET", "/apps/calculator/users/ann%61/sessions/s"),
        ("GET", "/apps/users/users/anna/sessions"),
        ("PATCH", "/apps/calculator/users/anna/memory"),
    ):
        answer = await closed.bert.request(method, path)
        assert (answer.status_code, answer.json()) == (404, missing), (method, path)
    assert (await closed.root.get(f"{theirs}/s")).status_code == 200
    assert (await closed.bert.get("/list-apps")).status_code == 200


async def test_the_user_in_a_body_for_adk_is_the_one_who_asks(closed: Closed) -> None:
    await closed.anna.post("/apps/calculator/users/anna/sessions/body")
    message = {"role": "user", "parts": [{"text": "hello"}]}
    for path in ("/run", "/run_sse"):
        for session in ("body", "not-there"):
            for name in ("userId", "user_id"):
                body = {"appName": "calculator", "sessionId": session, "newMessage": message}
                answer = await closed.bert.post(path, json={**body, name: "anna"})
                assert answer.status_code == 404, (path, session, name)
        answer = await closed.anna.post(path, json={**body, "sessionId": "body", "userId": "anna"})
        assert answer.status_code == 200
        assert "ODA_MODEL" in answer.text


async def test_metrics_and_adks_tools_are_for_admins(closed: Closed) -> None:
    for path in ("/metrics", "/dev-ui/", "/dev/apps/calculator/graph", "/config/telemetry"):
        refused = await closed.anna.get(path)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), path
        assert (await closed.root.get(path)).status_code not in (401, 403, 404), path
    finalize = await closed.anna.post("/agent-identity/finalize", json={"user_id": "root"})
    assert finalize.status_code == 403


@pytest.mark.filterwarnings("ignore:Duplicate Operation ID")
async def test_each_route_of_adk_that_names_a_user_is_checked(adk: FastAPI) -> None:
    """A new version of ADK may bring new ones."""
    schema = adk.openapi()
    with_user_in_body = set()
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            template = path.replace("{artifact_name}", "{artifact_name:path}")
            if access_to(method.upper(), template) != "user":
                continue
            assert "{user" not in path.replace("/users/{user_id}", ""), path
            names = {
                item["name"] for item in operation.get("parameters", ()) if "user" in item["name"]
            }
            assert names <= {"user_id"}, path
            body = json.dumps(operation.get("requestBody", {}))
            models = [schema["components"]["schemas"][name] for name in _REFERENCE.findall(body)]
            if any("user" in name.lower() for model in models for name in model["properties"]):
                with_user_in_body.add(path)
    assert with_user_in_body == {"/run", "/run_sse"}


async def test_browsers_send_the_credential_as_a_subprotocol(closed: Closed) -> None:
    await closed.anna.post(SESSIONS, json={"session_id": "live"})
    url = f"{closed.websocket_url}{SESSIONS}/live/ws"
    offered = [Subprotocol("oda.v1"), Subprotocol(f"bearer.{key_of(closed.anna)}")]
    async with connect(url, subprotocols=offered) as websocket:
        assert websocket.subprotocol == "oda.v1"
    async with connect(url, additional_headers=bearer(key_of(closed.anna))) as websocket:
        assert websocket.subprotocol is None
    for credential, status in ((key_of(closed.bert), 404), ("nonsense", 401)):
        with pytest.raises(InvalidStatus) as refused:
            wrong = [Subprotocol("oda.v1"), Subprotocol(f"bearer.{credential}")]
            await connect(url, subprotocols=wrong).__aenter__()
        assert refused.value.response.status_code == status
        assert credential.encode() not in (refused.value.response.body or b"")


async def test_a_revoked_key_ends_while_the_server_runs(closed: Closed) -> None:
    key = await make_key(closed.data, "carl")
    url, headers = closed.server.url, bearer(key)
    async with httpx.AsyncClient(base_url=url, timeout=30, headers=headers) as carl:
        await carl.post(SESSIONS, json={"session_id": "s"})
        answer = await carl.post(f"{SESSIONS}/s/turns", json={"message": "hi"})
        stream = f"/v1/turns/{answer.json()['turn']['turn_id']}/events"
        again = {"Accept": "text/event-stream", "Last-Event-ID": "1"}
        assert (await carl.get(stream, headers=again)).status_code == 200
        await revoke(closed.data, key)
        assert (await carl.get("/v1/apps")).status_code == 401
        assert (await carl.get(stream, headers=again)).status_code == 401
    assert (await closed.bert.get("/v1/apps")).status_code == 200


async def test_the_last_revoked_key_opens_nothing(serve: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    await revoke(data, await make_key(data, "anna"))
    server = await serve(data=data)
    assert (await server.client.get("/v1/apps")).status_code == 401


async def test_the_first_key_closes_a_server_that_runs(serve: Any, tmp_path: Path) -> None:
    server = await serve(data=tmp_path / "data")
    assert (await server.client.get("/v1/apps")).status_code == 200
    assert (await server.client.get("/metrics")).status_code == 200
    key = await make_key(tmp_path / "data", "anna")
    created = await server.client.post(SESSIONS, headers=bearer(key))
    assert created.json()["user_id"] == "anna"
    assert (await server.client.get("/v1/apps")).status_code == 401


async def test_a_public_address_is_served_when_there_is_a_key(serve: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    refused = await Home(tmp_path).run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (refused.code, refused.stdout) == (2, "")
    assert "oda keys create" in refused.stderr
    key = await make_key(data, "anna")
    server = await serve("--host", "0.0.0.0", data=data)
    assert (await server.client.get("/v1/apps")).status_code == 401
    assert (await server.client.get("/v1/apps", headers=bearer(key))).status_code == 200
    await server.stop()
    careless = await serve("--host", "0.0.0.0", "--insecure", data=data)
    assert (await careless.client.get("/v1/apps")).status_code == 401


async def test_a_public_address_is_served_when_there_is_an_issuer(
    serve: Any, tmp_path: Path
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        issuer = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        server = await serve(
            *("--host", "0.0.0.0"),
            data=tmp_path / "data",
            JWT__ISSUER=issuer,
            JWT__AUDIENCE="oda",
        )
        assert (await server.client.get("/v1/apps")).status_code == 401
        header = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIxIn0"  # {"alg": "RS256", "kid": "r1"}
        away = await server.client.get("/v1/apps", headers=bearer(f"{header}.e30.eA"))
        assert (away.status_code, away.json()["retryable"]) == (503, True)
        assert int(away.headers["Retry-After"]) > 0
