"""Many clients of one session, and clients that leave, come back, or do not read."""

import asyncio
import socket

import httpx
import pytest

from tests.support.checker import Frame, Talk
from tests.support.fault_world import Place
from tests.support.patient_client import APP, FORMS
from tests.support.server_lives import Server

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


async def _living(place: Place) -> Server:
    server = place.server()
    await server.live()
    await place.client("s").open_session()
    return server


async def _say_all_at_once(place: Place) -> list[Talk]:
    clients = [place.client("s") for _ in range(AT_ONCE)]
    return await asyncio.gather(
        *(
            client.say(f"pay {number}, please", form=FORMS[number % len(FORMS)])
            for number, client in enumerate(clients)
        )
    )


async def test_all_posts_at_once_are_answered_in_order(place: Place) -> None:
    server = await _living(place)
    talks = await _say_all_at_once(place)
    await place.keeps_all_promises(since=server.ready_at)
    assert [talk.refused for talk in talks] == [None] * AT_ONCE
    paid = sorted(effect.amount for effect in place.left_effects())
    assert paid == list(range(AT_ONCE))


async def test_all_posts_at_once_outlive_a_death(place: Place) -> None:
    server = await _living(place)
    place.arm("finishing", times=AT_ONCE // 2)
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(_say_all_at_once(place))
        await server.dead()
        await server.live()
    await place.keeps_all_promises(since=server.ready_at)
    paid = sorted(effect.amount for effect in place.left_effects())
    assert paid == list(range(AT_ONCE))
    assert [talk.refused for talk in await saying] == [None] * AT_ONCE


@shared
async def test_two_servers_keep_the_order_of_one_session(place: Place) -> None:
    first = await _living(place)
    second = place.server()
    await second.live()
    clients = [place.client("s", (first, second)[n % 2]) for n in range(AT_ONCE)]
    talks = await asyncio.gather(
        *(client.say(f"pay {n}, please", form="stream") for n, client in enumerate(clients))
    )
    await place.keeps_all_promises(since=second.ready_at)
    assert all(talk.ended for talk in talks)


@shared
async def test_another_server_takes_over_without_a_restart(place: Place) -> None:
    servers = [await _living(place), place.server()]
    await servers[1].live()
    client = place.client("s")
    place.arm("after_effect")
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(client.say(MESSAGE, form="stream"))
        dying = [group.create_task(server.dead()) for server in servers]
        _, waiting = await asyncio.wait(dying, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    assert [server.alive for server in servers].count(True) == 1
    assert (await saying).ended
    await place.keeps_all_promises()


async def test_a_finished_turn_is_read_again_from_every_position(place: Place) -> None:
    server = await _living(place)
    client = place.client("s")
    talk = await client.say(MESSAGE, form="stream")
    log = list(talk.frames)
    for position in range(len(log) + 1):
        view = await client.follow(talk, after=position)
        assert view.frames == log[position:]
    await server.kill()
    await server.live()
    for position in range(len(log) + 1):
        view = await client.follow(talk, after=position)
        assert view.frames == log[position:]
    await place.keeps_all_promises(since=server.ready_at)


async def test_a_running_turn_is_read_from_every_position(place: Place) -> None:
    await _living(place)
    client = place.client("s")
    async with asyncio.TaskGroup() as group:

        async def come_along(frame: Frame) -> None:
            talk = client.talks[0]
            group.create_task(client.follow(talk, after=frame.number))
            group.create_task(client.follow(talk, after=0))

        talk = await client.say(MESSAGE, form="stream", on_frame=come_along)
    log = talk.views[0].frames
    assert log[-1].kind == "done"
    assert all(view.frames == log[view.after :] for view in talk.views)
    await place.keeps_all_promises()


async def test_a_client_that_leaves_after_every_frame_misses_nothing(place: Place) -> None:
    await _living(place)
    client = place.client("s")

    async def leave(frame: Frame) -> None:
        if frame.kind != "done":
            raise httpx.ReadError("left")

    talk = await client.say(MESSAGE, form="stream", on_frame=leave)
    assert len(talk.views) == len(list(talk.frames)) > 5
    await place.keeps_all_promises()


async def test_a_client_that_vanishes_stops_nothing(place: Place) -> None:
    server = await _living(place)
    client = place.client("s")
    vanished = Talk("local", "s", "vanishing", "pay 1 then pay 2, bye", "vanishing-0")
    with _request(server, vanished, receive_buffer=None):
        pass
    talk = await client.say("pay 5, please", form="stream")
    assert talk.ended
    await client.finish(vanished, form="stream")  # accepted already or not: it is made once
    client.talks.append(vanished)
    await place.keeps_all_promises()


async def test_readers_that_do_not_read_slow_nobody_down(place: Place) -> None:
    server = await _living(place)
    slow = Talk("local", "s", "slow", LONG_MESSAGE, "slow-0")
    readers = [_request(server, slow, receive_buffer=4096) for _ in range(SLOW_READERS)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            other = await _talk_in_another_session(place)
            same = await place.client("s").say(MESSAGE, form="stream")
        assert other.ended
        assert same.ended
        for reader in readers:
            received = await asyncio.to_thread(_read_to_the_end, reader)
            assert received.count(b"event: done\n") == 1
    finally:
        for reader in readers:
            reader.close()


async def _talk_in_another_session(place: Place) -> Talk:
    client = place.client("other", user_id="another")
    await client.open_session()
    return await client.say(MESSAGE, form="stream")


def _request(server: Server, talk: Talk, *, receive_buffer: int | None) -> socket.socket:
    """Send a message and read nothing."""
    request = httpx.Request(
        "POST",
        f"{server.url}/v1/apps/{APP}/sessions/{talk.session_id}/turns",
        json={"message": talk.message},
        headers={
            "Idempotency-Key": talk.key,
            "X-Oda-User": talk.user_id,
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
