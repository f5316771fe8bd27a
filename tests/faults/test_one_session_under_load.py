"""Many clients of one session, and clients that leave, come back, or do not read."""

import asyncio
import socket

import httpx
import pytest

from oda.cli.chaos.patient_client import FORMS
from oda.cli.chaos.processes import Server
from oda.cli.chaos.promises import Frame, SentMessage
from tests.support.fault_world import APP, TellerPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = 20
MESSAGE = "pay 1 and book 2 then pay 3, please"
SLOW_READERS = 5
LONG_MESSAGE = "so many words, " * 10_000
PATIENCE_S = 30.0

shared = pytest.mark.parametrize(
    "own_database", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
"""Only PostgreSQL allows several servers on one database."""


async def _living(place: TellerPlace) -> Server:
    server = place.server()
    await server.start()
    await place.client("s").open_session()
    return server


async def _say_all_at_once(place: TellerPlace) -> list[SentMessage]:
    clients = [place.client("s") for _ in range(AT_ONCE)]
    return await asyncio.gather(
        *(
            client.send(f"pay {number}, please", form=FORMS[number % len(FORMS)])
            for number, client in enumerate(clients)
        )
    )


async def test_all_posts_at_once_are_answered_in_order(place: TellerPlace) -> None:
    server = await _living(place)
    sent = await _say_all_at_once(place)
    await place.keeps_all_promises(since=server.ready_at)
    assert [message.refused for message in sent] == [None] * AT_ONCE
    paid = sorted(effect.amount for effect in place.left_effects())
    assert paid == list(range(AT_ONCE))


async def test_all_posts_at_once_outlive_a_death(place: TellerPlace) -> None:
    server = await _living(place)
    place.arm("finishing", times=AT_ONCE // 2)
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(_say_all_at_once(place))
        await server.exited()
        await server.start()
    await place.keeps_all_promises(since=server.ready_at)
    paid = sorted(effect.amount for effect in place.left_effects())
    assert paid == list(range(AT_ONCE))
    assert [message.refused for message in await saying] == [None] * AT_ONCE


@shared
async def test_two_servers_keep_the_order_of_one_session(place: TellerPlace) -> None:
    first = await _living(place)
    second = place.server()
    await second.start()
    clients = [place.client("s", (first, second)[n % 2]) for n in range(AT_ONCE)]
    sent = await asyncio.gather(
        *(client.send(f"pay {n}, please", form="stream") for n, client in enumerate(clients))
    )
    await place.keeps_all_promises(since=second.ready_at)
    assert all(message.ended for message in sent)


@shared
async def test_another_server_takes_over_without_a_restart(place: TellerPlace) -> None:
    servers = [await _living(place), place.server()]
    await servers[1].start()
    client = place.client("s")
    place.arm("after_effect")
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(client.send(MESSAGE, form="stream"))
        dying = [group.create_task(server.exited()) for server in servers]
        _, waiting = await asyncio.wait(dying, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    assert [server.running for server in servers].count(True) == 1
    assert (await saying).ended
    await place.keeps_all_promises()


async def test_a_finished_turn_is_read_again_from_every_position(place: TellerPlace) -> None:
    server = await _living(place)
    client = place.client("s")
    message = await client.send(MESSAGE, form="stream")
    log = list(message.frames)
    for position in range(len(log) + 1):
        view = await client.follow(message, after=position)
        assert view.frames == log[position:]
    await server.kill()
    await server.start()
    for position in range(len(log) + 1):
        view = await client.follow(message, after=position)
        assert view.frames == log[position:]
    await place.keeps_all_promises(since=server.ready_at)


async def test_a_running_turn_is_read_from_every_position(place: TellerPlace) -> None:
    await _living(place)
    client = place.client("s")
    async with asyncio.TaskGroup() as group:

        async def come_along(frame: Frame) -> None:
            message = client.sent[0]
            group.create_task(client.follow(message, after=frame.number))
            group.create_task(client.follow(message, after=0))

        message = await client.send(MESSAGE, form="stream", on_frame=come_along)
    log = message.views[0].frames
    assert log[-1].kind == "done"
    assert all(view.frames == log[view.after :] for view in message.views)
    await place.keeps_all_promises()


async def test_a_client_that_leaves_after_every_frame_misses_nothing(place: TellerPlace) -> None:
    await _living(place)
    client = place.client("s")

    async def leave(frame: Frame) -> None:
        if frame.kind != "done":
            raise httpx.ReadError("left")

    message = await client.send(MESSAGE, form="stream", on_frame=leave)
    assert len(message.views) == len(list(message.frames)) > 5
    await place.keeps_all_promises()


async def test_a_client_that_vanishes_stops_nothing(place: TellerPlace) -> None:
    server = await _living(place)
    client = place.client("s")
    vanished = SentMessage("local", "s", "vanishing", "pay 1 then pay 2, bye", "vanishing-0")
    with _request(server, vanished, receive_buffer=None):
        pass
    message = await client.send("pay 5, please", form="stream")
    assert message.ended
    await client.finish(vanished, form="stream")  # accepted already or not: it is made once
    client.sent.append(vanished)
    await place.keeps_all_promises()


async def test_readers_that_do_not_read_slow_nobody_down(place: TellerPlace) -> None:
    server = await _living(place)
    slow = SentMessage("local", "s", "slow", LONG_MESSAGE, "slow-0")
    readers = [_request(server, slow, receive_buffer=4096) for _ in range(SLOW_READERS)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            other = await _talk_in_another_session(place)
            same = await place.client("s").send(MESSAGE, form="stream")
        assert other.ended
        assert same.ended
        for reader in readers:
            received = await asyncio.to_thread(_read_to_the_end, reader)
            assert received.count(b"event: done\n") == 1
    finally:
        for reader in readers:
            reader.close()


async def _talk_in_another_session(place: TellerPlace) -> SentMessage:
    client = place.client("other", user_id="another")
    await client.open_session()
    return await client.send(MESSAGE, form="stream")


def _request(server: Server, message: SentMessage, *, receive_buffer: int | None) -> socket.socket:
    """Send a message and read nothing."""
    request = httpx.Request(
        "POST",
        f"{server.url}/v1/apps/{APP}/sessions/{message.session_id}/turns",
        json={"message": message.text},
        headers={
            "Idempotency-Key": message.key,
            "X-Oda-User": message.user_id,
            "Accept": "text/event-stream",
            "Connection": "close",
        },
    )
    head = [f"POST {request.url.path} HTTP/1.1", *(f"{k}: {v}" for k, v in request.headers.items())]
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(PATIENCE_S)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall("\r\n".join([*head, "", ""]).encode() + request.content)
    return connection


def _read_to_the_end(connection: socket.socket) -> bytes:
    pieces = iter(lambda: connection.recv(65536), b"")
    return b"".join(pieces)
