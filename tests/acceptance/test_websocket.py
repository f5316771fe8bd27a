"""Turns over a WebSocket: many at once, reconnects, nonsense, slow and vanished clients."""

import asyncio
import json
import string
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import SO_RCVBUF, SOL_SOCKET
from socket import socket as TcpSocket
from typing import Any

import httpx
import pytest
import websockets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.identity.audit import AuditLog
from oda.identity.keys import ApiKeys
from oda.testing import ModelServer
from oda.testing.script import Call, Hang, Match, Text, ToolCalls
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

LIMIT_S = 20.0
Message = dict[str, Any]


class Socket:
    """One end of a WebSocket of a session."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **command: Any) -> None:
        await self.connection.send(json.dumps(command))

    async def next(self) -> Message:
        async with asyncio.timeout(LIMIT_S):
            message: Message = json.loads(await self.connection.recv())
        return message

    async def until(self, event: str, *, turn_id: str | None = None) -> list[Message]:
        """All messages up to one of a kind, and of a turn if one is named."""
        messages: list[Message] = []
        while True:
            messages.append(await self.next())
            last = messages[-1]
            if last["event"] == event and turn_id in (None, last.get("turn_id")):
                return messages

    async def begin(self, **body: Any) -> str:
        """Send a turn; its id."""
        await self.send(**body)
        first = await self.next()
        assert first["event"] == "turn", first
        turn_id: str = first["turn_id"]
        return turn_id

    async def error(self) -> Message:
        """The problem that comes next."""
        message = await self.next()
        assert message["event"] == "error", message
        return message

    async def closed(self) -> int:
        """Read to the end; the code with which the server closed."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while True:
                    await self.connection.recv()
        except ConnectionClosed as end:
            assert end.rcvd is not None
            return end.rcvd.code


async def new_session(client: httpx.AsyncClient, **headers: str) -> str:
    answer = await client.post("/v1/apps/calculator/sessions", json={}, headers=headers)
    assert answer.status_code == 201, answer.text
    return f"/v1/apps/calculator/sessions/{answer.json()['session_id']}"


@asynccontextmanager
async def opened(
    server: Any, session: str, headers: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[Socket]:
    url = f"{server.url.replace('http', 'ws', 1)}{session}/ws"
    async with websockets.connect(url, additional_headers=headers, **options) as connection:
        yield Socket(connection)


@asynccontextmanager
async def opened_narrow(server: Any, session: str) -> AsyncIterator[Socket]:
    """A WebSocket whose client takes in little more than what is read of it."""
    url = httpx.URL(server.url)
    narrow = TcpSocket()
    narrow.setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 16)
    narrow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(narrow, (url.host, url.port))
    async with opened(server, session, sock=narrow, max_size=None, max_queue=1) as client:
        yield client


async def opens_at_last(server: Any, session: str) -> None:
    """Try until the server has forgotten another socket of the only one that may be open."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            with suppress(InvalidStatus):
                async with opened(server, session):
                    return
            await asyncio.sleep(0.02)


def numbers(messages: list[Message]) -> list[int]:
    return [message["id"] for message in messages if "id" in message]


def complete(messages: list[Message]) -> list[Message]:
    """Those that are no previews."""
    return [message for message in messages if not message["data"].get("partial")]


def in_full(messages: list[Message]) -> bool:
    """Whether all is numbered but the previews."""
    return numbers(messages) == list(range(1, len(complete(messages)) + 1))


async def test_a_turn_comes_in_numbered_messages_and_ends_with_done(
    server: Any, model: ModelServer
) -> None:
    model.play([Text(text="one two three")])
    async with opened(server, await new_session(server.client)) as socket:
        await socket.send(message="count", request_id="r-1", metadata={"ticket": 7})
        messages = await socket.until("done")
    assert in_full(messages)
    assert messages[0]["event"] == "turn"
    assert {m["request_id"] for m in messages} == {"r-1"}
    assert len({m["turn_id"] for m in messages}) == 1
    partial = [m["data"] for m in messages if m["event"] == "event" and m["data"].get("partial")]
    assert "".join(p["content"]["parts"][0]["text"] for p in partial) == "one two three"
    done = messages[-1]["data"]
    assert (done["status"], done["reply"]) == ("succeeded", "one two three")
    assert done["metadata"] == {"ticket": 7}
    assert done["turn_id"] == messages[-1]["turn_id"]
    assert (await server.client.get(f"/v1/turns/{done['turn_id']}")).json() == done


async def test_the_socket_and_the_stream_tell_the_same(server: Any) -> None:
    session = await new_session(server.client)
    async with opened(server, session) as socket:
        await socket.send(message="hi", stream_tokens=False)
        messages = await socket.until("done")
    assert not [m for m in messages if m["data"].get("partial")]
    listed = await server.client.get(f"/v1/turns/{messages[0]['turn_id']}/events")
    assert listed.json()["entries"] == [
        {name: message[name] for name in ("id", "event", "data")} for message in messages
    ]


async def test_two_turns_of_one_socket_are_told_apart(server: Any, model: ModelServer) -> None:
    model.play([Text(text="first", delay_s=0.2), Text(text="second")])
    async with opened(server, await new_session(server.client)) as socket:
        await socket.send(message="one", request_id=1)
        await socket.send(message="two", request_id=2)
        messages = await socket.until("done")
        messages += await socket.until("done")
    for request_id, reply in ((1, "first"), (2, "second")):
        own = [m for m in messages if m["request_id"] == request_id]
        assert in_full(own)
        assert (own[-1]["event"], own[-1]["data"]["reply"]) == ("done", reply)


async def test_a_turn_is_cancelled(server: Any, model: ModelServer) -> None:
    model.play([Hang()])
    async with opened(server, await new_session(server.client)) as socket:
        turn_id = await socket.begin(message="hang", request_id="a")
        await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
        await socket.send(cancel=turn_id, request_id="b")
        messages = await socket.until("done")
        assert messages[-1]["data"]["status"] == "cancelled"
        receipt = await socket.next()
        assert (receipt["event"], receipt["request_id"]) == ("turn", "b")
        assert "id" not in receipt
        assert receipt["data"] == messages[-1]["data"]
        await socket.send(message="next")
        assert (await socket.until("done"))[-1]["data"]["status"] == "succeeded"


async def test_a_busy_session_rejects_or_interrupts_as_asked(
    server: Any, model: ModelServer
) -> None:
    model.play([Hang(), Hang()])
    async with opened(server, await new_session(server.client)) as socket:
        first = await socket.begin(message="hang")
        await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
        await socket.send(message="two", on_busy="reject", request_id="busy")
        refused = (await socket.until("error"))[-1]
        assert (refused["request_id"], refused["data"]["code"]) == ("busy", "session_busy")
        await socket.send(message="three", on_busy="interrupt", request_id=3)
        messages = await socket.until("done", turn_id=first)
        assert messages[-1]["data"]["status"] == "cancelled"
        await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
        third = next(m["turn_id"] for m in messages if m.get("request_id") == 3)
        await socket.send(cancel=third)
        ended = await socket.until("done", turn_id=third)
        assert ended[-1]["data"]["status"] == "cancelled"


async def test_a_waiting_turn_is_answered_on_the_socket(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    async with opened(server, await new_session(server.client)) as socket:
        await socket.send(message="pay 9", request_id="ask")
        before = await socket.until("done")
        assert "id" not in before[-1]
        assert in_full(before[:-1])
        waiting = before[-1]["data"]
        assert waiting["status"] == "waiting_input"
        turn_id, (asked,) = waiting["turn_id"], waiting["pending_input"]
        await socket.send(input=turn_id, responses=[{"id": "other", "confirmed": True}])
        assert (await socket.error())["data"]["status"] == 409
        answer = {"id": asked["id"], "confirmed": True}
        await socket.send(input=turn_id, responses=[answer], request_id="yes")
        after = await socket.until("done")
    assert {m["request_id"] for m in after} == {"yes"}
    assert in_full(before[:-1] + after)
    assert (after[-1]["data"]["status"], after[-1]["data"]["reply"]) == ("succeeded", "Settled.")


async def test_a_turn_is_followed_from_any_position(server: Any) -> None:
    session = await new_session(server.client)
    async with opened(server, session) as socket:
        await socket.send(message="a b c")
        messages = complete(await socket.until("done"))
    turn_id = messages[0]["turn_id"]
    async with opened(server, session) as socket:
        for position in range(len(messages)):
            await socket.send(follow=turn_id, after=position)
            assert await socket.until("done") == messages[position:]
        await socket.send(follow=turn_id, after=len(messages), request_id="nothing more")
        (done,) = await socket.until("done")
        assert (done.get("id"), done["request_id"]) == (None, "nothing more")
        assert done["data"] == messages[-1]["data"]


async def test_following_again_replaces_what_was_being_followed(
    server: Any, model: ModelServer
) -> None:
    model.play([Hang()])
    async with opened(server, await new_session(server.client)) as socket:
        turn_id = await socket.begin(message="hi", request_id="first")
        await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
        await socket.send(follow=turn_id, request_id="second")
        await socket.send(cancel=turn_id)
        messages = await socket.until("done")
    second = [m for m in messages if m["request_id"] == "second"]
    assert in_full(second)
    assert messages[-1] is second[-1]
    assert [m["event"] for m in messages].count("done") == 1


async def test_a_client_that_drops_out_again_and_again_misses_nothing(
    server: Any, model: ModelServer
) -> None:
    words = tuple(f"w{n} " for n in range(12))
    model.play([Text(chunks=words, interval_s=0.12)])
    session = await new_session(server.client)
    async with opened(server, session) as socket:
        turn_id = await socket.begin(message="talk")
    seen: list[Message] = []
    while not seen or seen[-1]["event"] != "done":
        async with opened(server, session) as socket:
            await socket.send(follow=turn_id, after=len(complete(seen)))
            for _ in range(3):
                seen.append(await socket.next())
                if seen[-1]["event"] == "done":
                    break
    assert in_full(seen)
    assert seen[-1]["data"]["reply"] == "".join(words)


async def test_a_vanished_client_does_not_stop_the_turn(server: Any, model: ModelServer) -> None:
    model.play([Text(chunks=("still ", "here"), interval_s=0.3)])
    session = await new_session(server.client)
    async with opened(server, session) as socket:
        turn_id = await socket.begin(message="hi")
        socket.connection.transport.abort()
    async with opened(server, session) as socket:
        await socket.send(follow=turn_id)
        assert (await socket.until("done"))[-1]["data"]["reply"] == "still here"


async def test_an_idempotency_key_holds_over_both_ways(server: Any, model: ModelServer) -> None:
    model.play([Text(text="Once.")])
    session = await new_session(server.client)
    async with opened(server, session) as socket:
        await socket.send(message="hi", idempotency_key="k", request_id="a")
        once = await socket.until("done")
        await socket.send(message="hi", idempotency_key="k", request_id="b")
        again = await socket.until("done")
        await socket.send(message="other", idempotency_key="k", request_id="c")
        conflict = await socket.error()
    assert [{**m, "request_id": "b"} for m in complete(once)] == again
    assert (conflict["data"]["status"], conflict["request_id"]) == (422, "c")
    plain = await server.client.post(
        f"{session}/turns", json={"message": "hi"}, headers={"Idempotency-Key": "k"}
    )
    assert plain.json()["turn"]["turn_id"] == once[0]["turn_id"]


NONSENSE: list[tuple[str | bytes, int]] = [
    ("", 400),
    ("nonsense", 400),
    ("{", 400),
    ('{"message": NaN}', 400),
    ("[" * 100_000, 400),
    (b'{"message": "binary"}', 400),
    ("[]", 400),
    ("7", 400),
    ("null", 400),
    ("{}", 422),
    ('{"message": 5}', 422),
    ('{"message": ""}', 422),
    ('{"message": {"parts": 5}}', 422),
    ('{"message": "hi", "unknown": 1}', 422),
    ('{"\\ud800": "\\udfff"}', 422),
    ('{"message": "hi", "on_busy": "never"}', 422),
    ('{"message": "hi", "metadata": {"\\ud800": 1}}', 422),
    ('{"message": "hi", "cancel": "both"}', 422),
    ('{"message": "hi", "idempotency_key": ""}', 422),
    ('{"message": "hi", "request_id": {}}', 422),
    ('{"message": "hi", "request_id": "\\ud800"}', 422),
    ('{"message": "hi", "agent": "nobody"}', 404),
    ('{"message": "hi", "idempotency_key": "\\u0000"}', 422),
    ('{"cancel": 7}', 422),
    ('{"cancel": "turn \\u0000"}', 422),
    ('{"cancel": "turn_unknown"}', 404),
    ('{"input": "turn_unknown"}', 422),
    ('{"input": "turn_unknown", "responses": [{"id": "x"}]}', 404),
    ('{"follow": "turn_unknown"}', 404),
    ('{"follow": "turn_unknown", "after": -1}', 422),
    ('{"follow": "turn_unknown", "after": 1e300}', 422),
    ('{"follow": "turn_unknown", "after": 9007199254740992}', 422),
]


async def test_nonsense_is_answered_with_a_problem_and_the_socket_stays_open(server: Any) -> None:
    async with opened(server, await new_session(server.client)) as socket:
        for sent, status in NONSENSE:
            await socket.connection.send(sent)
            problem = (await socket.error())["data"]
            assert problem["status"] == status, (sent[:60], problem)
            assert {"type", "title", "detail", "instance", "code", "trace_id"} <= problem.keys()
        await socket.send(nonsense=1, request_id="mine")
        assert (await socket.error())["request_id"] == "mine"
        await socket.send(message="hi")
        assert (await socket.until("done"))[-1]["data"]["status"] == "succeeded"


async def test_text_that_no_store_takes_is_replaced(server: Any) -> None:
    async with opened(server, await new_session(server.client)) as socket:
        await socket.connection.send('{"message": "\\ud800", "metadata": {"a": "\\u0000\\udfff"}}')
        done = (await socket.until("done"))[-1]["data"]
    assert (done["status"], done["metadata"]) == ("succeeded", {"a": "\ufffd\ufffd"})


async def test_turns_of_others_and_of_other_sessions_are_not_there(server: Any) -> None:
    theirs, mine = {"X-Oda-User": "other"}, await new_session(server.client)
    session = await new_session(server.client, **theirs)
    turns = [
        (
            await server.client.post(
                f"{where}/turns", json={"message": "x"}, headers=headers, timeout=LIMIT_S
            )
        ).json()["turn"]["turn_id"]
        for where, headers in ((session, theirs), (await new_session(server.client), {}))
    ]
    async with opened(server, mine) as socket:
        for turn_id in turns:
            for command in ("follow", "cancel"):
                await socket.send(**{command: turn_id}, request_id=command)
                error = await socket.error()
                assert (error["data"]["status"], error["request_id"]) == (404, command)
    for where in (session, "/v1/apps/calculator/sessions/none", "/v1/apps/none/sessions/x"):
        with pytest.raises(InvalidStatus) as refused:
            async with opened(server, where):
                pass
        assert refused.value.response.status_code == 404
        assert json.loads(refused.value.response.body or b"")["status"] == 404


async def test_commands_are_recorded_and_a_revoked_key_closes_the_socket(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    url = f"sqlite:///{data / 'oda.db'}"
    server = await serve(data=data, **gemini(model))
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    async with open_database(url) as database:
        keys = ApiKeys(database, SystemClock())
        key, text = await keys.create("ann", "user")
        bearer = {"Authorization": f"Bearer {text}"}
        session = await new_session(server.client, **bearer)
        async with opened(server, session, bearer) as socket:
            await socket.send(message="pay 9")
            waiting = (await socket.until("done"))[-1]["data"]
            turn, (asked,) = waiting["turn_id"], waiting["pending_input"]
            await socket.send(input=turn, responses=[{"id": asked["id"], "confirmed": True}])
            await socket.until("done")
            await socket.send(cancel="turn_unknown")
            await socket.error()
            await keys.revoke(key.key_id)
            await socket.send(message="hi", request_id="too late")
            error = await socket.error()
            assert (error["data"]["status"], error["request_id"]) == (401, "too late")
            assert await socket.closed() == 4401
        await server.stop()
        entries = (await AuditLog(database, SystemClock()).read())[1:]
    assert {(e.actor, e.key_id) for e in entries} == {("ann", key.key_id)}
    socket_route = "WS /v1/apps/{app}/sessions/{sid}/ws"
    assert [(e.action, e.target, e.status) for e in entries] == [
        (f"{socket_route} turn", f"{session}/turns", 200),
        (f"{socket_route} input", f"/v1/turns/{turn}", 200),
        (f"{socket_route} cancel", "/v1/turns/turn_unknown", 404),
    ]
    assert entries[1].detail == {"answers": [{"id": asked["id"], "confirmed": True}]}


async def fill(socket: Socket, model: ModelServer) -> None:
    """Ask for much more than the buffers between server and client hold."""
    model.play([Text(text="x" * 1_000_000, match=Match(last_user="long"), times=None)])
    turns = []
    for _ in range(4):
        await socket.send(message="long")
        turns.append((await socket.until("done"))[-1]["turn_id"])
    for turn_id in turns:
        await socket.send(follow=turn_id, request_id=f"again {turn_id}")


async def test_a_slow_reader_does_not_slow_another_socket(server: Any, model: ModelServer) -> None:
    session = await new_session(server.client)
    async with opened_narrow(server, session) as slow:
        await fill(slow, model)
        async with opened(server, session) as other:
            await other.send(message="hi")
            assert (await other.until("done"))[-1]["data"]["status"] == "succeeded"
        replayed: list[Message] = []
        while sum(message["event"] == "done" for message in replayed) < 4:
            replayed += await slow.until("done")
    for request_id in {message["request_id"] for message in replayed}:
        assert in_full([m for m in replayed if m["request_id"] == request_id])


async def test_a_client_that_does_not_read_is_closed(serve: Any, model: ModelServer) -> None:
    server = await serve(
        **gemini(model),
        LIMITS__SOCKET_STALL_S="0.5",
        LIMITS__SOCKETS="1",
    )
    session = await new_session(server.client)
    async with opened_narrow(server, session) as idle:
        await fill(idle, model)
        await opens_at_last(server, session)
        assert await idle.closed() == 1013


async def test_too_many_messages_are_refused_for_a_while(serve: Any, model: ModelServer) -> None:
    server = await serve(
        **gemini(model),
        LIMITS__SOCKET_MESSAGES_PER_MINUTE="3",
    )
    async with opened(server, await new_session(server.client)) as socket:
        for _ in range(3):
            await socket.send(follow="turn_unknown")
            assert (await socket.error())["data"]["status"] == 404
        await socket.send(follow="turn_unknown", request_id="late")
        error = await socket.error()
        assert (error["data"]["status"], error["request_id"]) == (429, "late")
        assert 1 <= error["data"]["retry_after"] <= 60


async def test_open_sockets_are_counted(serve: Any) -> None:
    server = await serve(LIMITS__SOCKETS="1")
    session = await new_session(server.client)
    async with opened(server, session):
        with pytest.raises(InvalidStatus) as refused:
            async with opened(server, session):
                pass
        assert refused.value.response.status_code == 429
        assert int(refused.value.response.headers["Retry-After"]) >= 1
    await opens_at_last(server, session)


async def test_a_stopping_server_says_so_and_the_turn_is_followed_on_the_next(
    serve: Any, model: ModelServer
) -> None:
    settings = {**gemini(model), "TURN__GRACE_S": "0.1"}
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Hang()])
    first = await serve(**settings)
    session = await new_session(first.client)
    async with opened(first, session) as socket:
        seen: list[Message] = []
        await socket.send(message="2 + 3?")
        while not any("functionResponse" in str(message) for message in seen):
            seen.append(await socket.next())
        await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
        stopping = asyncio.create_task(first.stop())
        assert await socket.closed() == 1012
        assert await stopping == 0
    model.play([Text(text="Five.")])
    second = await serve(**settings)
    async with opened(second, session) as socket:
        await socket.send(follow=seen[0]["turn_id"], after=seen[-1]["id"])
        rest = await socket.until("done")
    assert in_full(seen + rest)
    assert (rest[-1]["data"]["status"], rest[-1]["data"]["reply"]) == ("succeeded", "Five.")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
_names = st.sampled_from(
    ["cancel", "input", "follow", "after", "responses", "request_id", "agent", "on_busy", "limits"]
)
_garbage = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.binary(max_size=200),
    st.text(string.printable, max_size=50).map(lambda text: '{"message": ' + text),
    _json.map(json.dumps),
    st.dictionaries(_names, _json, max_size=5).map(json.dumps),
)


async def test_no_garbage_closes_a_socket(serve: Any, model: ModelServer) -> None:
    server = await serve(
        **gemini(model),
        LIMITS__SOCKET_MESSAGES_PER_MINUTE="100000",
    )
    session = await new_session(server.client)
    loop = asyncio.get_running_loop()
    async with opened(server, session) as socket:

        async def exchange(garbage: str | bytes) -> None:
            await socket.connection.send(garbage)
            problem = (await socket.error())["data"]
            assert 400 <= problem["status"] < 500, (garbage, problem)

        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(_garbage)
        def every(garbage: str | bytes) -> None:
            asyncio.run_coroutine_threadsafe(exchange(garbage), loop).result(LIMIT_S)

        await asyncio.to_thread(every)
        await socket.send(message="hi")
        assert (await socket.until("done"))[-1]["data"]["status"] == "succeeded"
