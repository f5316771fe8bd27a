"""Which hosts and origins are let in."""

import json

import pytest

from oda.errors import ConfigurationError
from oda.server.guard import Guard
from oda.settings import Settings
from tests.support.asgi import Reader, ask, scope_of

APP = "https://app.example.com"


@pytest.mark.parametrize(
    ("bound", "hosts", "host", "allowed"),
    [
        ("127.0.0.1", (), "localhost:8000", True),
        ("127.0.0.1", (), "LOCALHOST", True),
        ("127.0.0.1", (), "[::1]:8000", True),
        ("::1", (), "127.0.0.1", True),
        ("127.0.0.1", (), "evil.example", False),
        ("127.0.0.1", (), "localhost.evil.example", False),
        ("127.0.0.1", (), "127.0.0.1:8000.evil.example", False),
        ("127.0.0.1", (), "127.0.0.1@evil.example", False),
        ("127.0.0.1", (), "", False),
        ("127.0.0.1", (), "[::1", False),
        ("127.0.0.1", ("Oda.Example",), "oda.example:443", True),
        ("0.0.0.0", (), "anything.example", True),
        ("0.0.0.0", ("oda.example",), "oda.example", True),
        ("0.0.0.0", ("oda.example",), "evil.example", False),
        ("0.0.0.0", ("oda.example",), "localhost", False),
        ("0.0.0.0", ("oda.example",), "sub.oda.example", False),
    ],
)
async def test_hosts(bound: str, hosts: tuple[str, ...], host: str, allowed: bool) -> None:
    guard = Guard(Reader(), host=bound, hosts=hosts, origins=())
    assert (await ask(guard, scope_of([("Host", host)]))).status == (200 if allowed else 403)


async def test_two_hosts_are_none_on_this_machine() -> None:
    guard = Guard(Reader(), host="127.0.0.1", hosts=(), origins=())
    scope = scope_of([("Host", "localhost"), ("Host", "evil.example")])
    assert (await ask(guard, scope)).status == 403


@pytest.mark.parametrize(
    ("bound", "scheme", "origin", "allowed"),
    [
        ("0.0.0.0", "http", APP, True),
        ("0.0.0.0", "http", "https://app.example.com.evil.example", False),
        ("0.0.0.0", "http", "https://app.example.com:8443", False),
        ("0.0.0.0", "http", "http://app.example.com", False),
        ("0.0.0.0", "http", "http://oda.example", True),
        ("0.0.0.0", "http", "http://oda.example:80", True),
        ("0.0.0.0", "http", "http://oda.example:8080", False),
        ("0.0.0.0", "http", "https://oda.example", False),
        ("0.0.0.0", "https", "https://oda.example", True),
        ("0.0.0.0", "ws", "http://oda.example", True),
        ("0.0.0.0", "wss", "https://oda.example", True),
        ("0.0.0.0", "wss", "http://oda.example", False),
        ("0.0.0.0", "http", "http://localhost", False),
        ("0.0.0.0", "http", "null", False),
        ("0.0.0.0", "http", "", False),
        ("0.0.0.0", "http", "http://[", False),
        ("127.0.0.1", "http", "null", False),
        ("127.0.0.1", "http", "http://localhost:4200", False),
        ("127.0.0.1", "ws", "http://127.0.0.1:4200", False),
        ("127.0.0.1", "http", "http://localhost", False),
        ("127.0.0.1", "ws", "http://oda.example", True),
        ("127.0.0.1", "http", "http://evil.example", False),
        ("127.0.0.1", "http", APP, True),
    ],
)
async def test_origins(bound: str, scheme: str, origin: str, allowed: bool) -> None:
    guard = Guard(Reader(), host=bound, hosts=("oda.example",), origins=(APP,))
    kind = "websocket" if scheme.startswith("ws") else "http"
    scope = scope_of(
        [("Host", "oda.example"), ("Origin", origin)],
        scheme=scheme,
        kind=kind,
        extensions=["websocket.http.response"],
    )
    answered = await ask(guard, scope)
    if not allowed:
        assert (answered.status, json.loads(answered.body)["code"]) == (403, "forbidden")
    else:
        assert answered.messages[0]["type"] in ("http.response.start", "websocket.accept")


async def test_a_socket_is_closed_where_it_cannot_be_answered() -> None:
    guard = Guard(Reader(), host="127.0.0.1", hosts=(), origins=())
    scope = scope_of([("Host", "localhost"), ("Origin", APP)], kind="websocket", scheme="ws")
    answered = await ask(guard, scope)
    assert [message["type"] for message in answered.messages] == ["websocket.close"]


def test_origins_stand_in_the_settings_as_browsers_send_them() -> None:
    settings = Settings.load(allowed_origins=f"{APP}, http://localhost:4200")
    assert settings.allowed_origins == (APP, "http://localhost:4200")


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*.example.com", "app.example.com", f"{APP}/", "null", "https://APP.example.com"],
)
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ConfigurationError, match="ODA_ALLOWED_ORIGINS"):
        Settings.load(allowed_origins=origin)
