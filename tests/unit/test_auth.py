"""The middleware that gives every request its principal, as the application behind sees it."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.errors import UnauthenticatedError
from oda.identity.authenticator import Authenticator
from oda.identity.keys import ApiKeys
from oda.identity.principal import current_principal
from oda.server.auth import AuthMiddleware, principal_of
from oda.server.rate_window import RateWindow
from oda.testing import FakeClock
from tests.support.rate_windows import beginning_of

DENIAL: dict[str, Any] = {"websocket.http.response": {}}


class Behind:
    """An application that keeps what reaches it and accepts every socket."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            assert current_principal.get() == principal_of(scope)
            await send({"type": "websocket.accept"})


class Door:
    """A closed door, the key to it, and what is behind; three wrong keys a minute are looked at."""

    def __init__(self, authenticator: Authenticator, key: str) -> None:
        self.key = key
        self.behind = Behind()
        self._app = SimpleNamespace(state=SimpleNamespace(authenticator=authenticator))
        self._middleware = AuthMiddleware(
            self.behind, failures=RateWindow("failed logins", 3), to_everybody=False
        )

    async def ask(self, kind: str, headers: dict[str, str], **others: Any) -> list[Message]:
        """Ask for something; what is sent back."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            raise AssertionError("nothing is to be received")

        scope: Scope = {
            "type": kind,
            "method": "GET",
            "path": "/v1/apps",
            "query_string": b"",
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            "server": ("127.0.0.1", 80),
            "scheme": "http" if kind == "http" else "ws",
            "app": self._app,
            **others,
        }
        await self._middleware(scope, receive, send)
        assert current_principal.get() is None
        return sent

    async def offer(self, *subprotocols: str, **others: Any) -> list[Message]:
        headers = {"Sec-WebSocket-Protocol": ", ".join(subprotocols)}
        return await self.ask("websocket", headers, subprotocols=list(subprotocols), **others)


@pytest.fixture
async def door(tmp_path: Path, fake_clock: FakeClock) -> AsyncIterator[Door]:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, fake_clock)
        _, key = await keys.create("anna", "user")
        yield Door(Authenticator(keys, None, fake_clock, may_be_open=True), key)


@pytest.fixture
async def open_door(tmp_path: Path, fake_clock: FakeClock) -> AsyncIterator[Door]:
    """A door to which nobody has made a key yet."""
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, fake_clock)
        yield Door(Authenticator(keys, None, fake_clock, may_be_open=True), "")


async def test_the_principal_stands_in_the_scope(door: Door) -> None:
    await door.ask("http", {"Authorization": f"Bearer {door.key}"})
    (scope,) = door.behind.scopes
    assert principal_of(scope).user_id == "anna"


async def test_a_socket_is_refused_before_it_is_accepted(door: Door) -> None:
    start, body = await door.offer("oda.v1", "bearer.wrong", extensions=DENIAL)
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 401)
    assert b"unauthenticated" in body["body"]
    (closed,) = await door.offer("oda.v1", "bearer.wrong")
    assert (closed["type"], closed["code"]) == ("websocket.close", 1008)
    assert door.behind.scopes == []


async def test_the_token_of_a_browser_goes_no_further(door: Door) -> None:
    (accepted,) = await door.offer("oda.v1", f"bearer.{door.key}", "chat")
    assert accepted["subprotocol"] == "oda.v1"
    await door.offer(f"bearer.{door.key}")
    for scope, left in zip(door.behind.scopes, (["oda.v1", "chat"], []), strict=True):
        assert scope["subprotocols"] == left
        assert door.key not in str(scope["headers"])
        assert principal_of(scope).user_id == "anna"


async def test_a_header_counts_more_than_a_subprotocol(door: Door) -> None:
    offered = ["oda.v1", f"bearer.{door.key}"]
    wrong = {"Authorization": "Bearer wrong"}
    (closed,) = await door.ask("websocket", wrong, subprotocols=offered)
    assert closed["type"] == "websocket.close"


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/health"])
async def test_health_is_for_everybody_and_for_nobody_in_particular(door: Door, path: str) -> None:
    assert await door.ask("http", {}, path=path) == []
    (scope,) = door.behind.scopes
    with pytest.raises(UnauthenticatedError):
        principal_of(scope)
    (closed,) = await door.ask("websocket", {}, path=path)
    assert closed["type"] == "websocket.close"


async def test_only_a_preflight_passes_without_a_credential(door: Door) -> None:
    preflight = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    assert await door.ask("http", preflight, method="OPTIONS") == []
    for headers, method in ((preflight, "POST"), ({}, "OPTIONS")):
        start, _ = await door.ask("http", headers, method=method)
        assert start["status"] == 401


async def test_wrong_keys_are_limited_and_lock_nobody_out(door: Door) -> None:
    await beginning_of(60)
    wrong, right = f"Bearer {door.key[:-1]}~", f"Bearer {door.key}"
    statuses = []
    for _ in range(5):
        (start, *_) = await door.ask("http", {"Authorization": wrong}, client=("10.0.0.1", 1))
        statuses.append(start["status"])
    assert statuses == [401, 401, 401, 429, 429]
    assert await door.ask("http", {"Authorization": right}, client=("10.0.0.1", 1)) == []
    (start, *_) = await door.ask("http", {}, client=("10.0.0.1", 1))
    assert start["status"] == 401
    (start, *_) = await door.ask("http", {"Authorization": wrong}, client=("10.0.0.2", 1))
    assert start["status"] == 401


HERE: dict[str, Any] = {"client": ("127.0.0.1", 1), "http_version": "1.1"}


@pytest.mark.parametrize(
    ("headers", "others", "status"),
    [
        ({"Host": "localhost:8000"}, HERE, None),
        ({"Host": "[::1]:8000"}, {**HERE, "client": ("::1", 1)}, None),
        ({"Host": "oda.example"}, HERE, 401),
        ({}, HERE, 401),
        ({"Host": "localhost"}, {**HERE, "client": ("192.168.1.7", 1)}, 401),
        ({"Host": "localhost"}, {**HERE, "client": None}, 401),
        ({"Host": "localhost"}, {**HERE, "http_version": "1.0"}, 401),
        ({"Host": "localhost", "X-Forwarded-Proto": "https"}, HERE, 401),
        ({"Host": "localhost", "X-Original-Forwarded-For": "10.0.0.1"}, HERE, 401),
        ({"Host": "localhost", "True-Client-IP": "10.0.0.1"}, HERE, 401),
    ],
)
async def test_an_open_server_serves_its_own_machine_only(
    open_door: Door, headers: dict[str, str], others: dict[str, Any], status: int | None
) -> None:
    sent = await open_door.ask("http", headers, **others)
    assert [message.get("status") for message in sent[:1]] == ([status] if status else [])
    assert await open_door.ask("http", headers, path="/livez", **others) == []
