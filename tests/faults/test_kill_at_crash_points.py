"""The server is killed at each point of a turn; its next life keeps every promise."""

import asyncio

import pytest

from oda.cli.chaos.crash_points import POINTS, Point
from oda.cli.chaos.patient_client import FORMS, Form
from oda.cli.chaos.processes import Server
from oda.cli.chaos.promises import Frame, SentMessage
from tests.support.fault_world import TellerPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

MESSAGE = "pay 7 then book 3 then pay 8, please"
NEXT_MESSAGE = "pay 9, too"
NOBODY_KNOWS: frozenset[Point] = frozenset(
    {
        "message_stored",
        "call_stored",
        "intent_stored",
        "in_tool",
        "after_effect",
        "outcome_storing",
        "result_storing",
    }
)
"""Points at which a tool may have begun, and its result is not known.

What is written at the same time is committed together: a message with the calls of a quick model
and the intent to make them, a tool's outcome with the event of its result.
"""


async def test_a_turn_without_any_death_keeps_all_promises(place: TellerPlace) -> None:
    server = place.server()
    await server.start()
    client = place.client("s")
    await client.open_session()
    for number, form in enumerate(FORMS):
        sent = await client.send(f"pay 1 and book 2 then pay 3, {number}", form=form)
        assert sent.refused is None
    await place.keeps_all_promises(since=server.ready_at)
    assert _paid(place) == [1, 1, 1, 3, 3, 3]


@pytest.mark.parametrize("point", POINTS)
async def test_killed_once(place: TellerPlace, point: Point) -> None:
    server, sent = await _die_and_live_again(place, point, MESSAGE)
    await _takes_the_next_message(place)
    await place.keeps_all_promises(since=server.ready_at)
    assert server.starts == 2
    assert _status(sent) == "succeeded"
    if point not in NOBODY_KNOWS:
        assert _paid(place) == [7, 8, 9]
        assert "outcome_unknown" not in str(list(sent.frames))


@pytest.mark.parametrize(
    ("point", "again"),
    [
        ("accepted", "message_storing"),
        ("accepted", "accepted"),
        ("message_stored", "model_called"),
        ("model_streaming", "model_streaming"),
        ("call_stored", "result_storing"),
        ("call_stored", "result_stored"),
        ("call_stored", "call_stored"),
        ("call_stored", "intent_stored"),
        ("after_effect", "result_storing"),
        ("after_effect", "result_stored"),
        ("after_effect", "call_storing"),
        ("after_effect", "call_stored"),
        ("after_effect", "in_tool"),
        ("after_effect", "after_effect"),
        ("outcome_stored", "result_storing"),
        ("answer_storing", "answer_stored"),
        ("answer_stored", "finishing"),
        ("finishing", "finishing"),
    ],
)
async def test_killed_again_while_recovering(
    place: TellerPlace, point: Point, again: Point
) -> None:
    message = "book 3 and pay 4 then pay 8 and book 9, please"
    server, sent = await _die_and_live_again(place, point, message, again=again)
    await _takes_the_next_message(place)
    await place.keeps_all_promises(since=server.ready_at)
    assert _status(sent) == "succeeded"


@pytest.mark.parametrize("point", ["call_stored", "in_tool", "after_effect", "result_storing"])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_killed_among_parallel_calls(place: TellerPlace, point: Point, times: int) -> None:
    message = "pay 1 and book 2 and pay 3 then book 4 and pay 5 then pay 6 and book 7"
    server, sent = await _die_and_live_again(place, point, message, times=times)
    await _takes_the_next_message(place)
    await place.keeps_all_promises(since=server.ready_at)
    assert _status(sent) == "succeeded"


@pytest.mark.parametrize("form", ["plain", "async"])
@pytest.mark.parametrize("point", ["accepting", "accepted", "after_effect", "finished"])
async def test_killed_while_the_client_does_not_stream(
    place: TellerPlace, point: Point, form: Form
) -> None:
    server, sent = await _die_and_live_again(place, point, MESSAGE, form=form)
    await place.keeps_all_promises(since=server.ready_at)
    assert sent.ended


@pytest.mark.parametrize("seen", [1, 2, 3, 5, 8, 10])
async def test_killed_while_sending(place: TellerPlace, seen: int) -> None:
    server = place.server()
    await server.start()
    client = place.client("s")
    await client.open_session()
    killed: list[asyncio.Task[None]] = []

    async def kill_in_time(frame: Frame) -> None:
        if frame.number == seen and not killed:
            killed.append(asyncio.create_task(_kill_and_live(server)))

    sent = await client.send(MESSAGE, form="stream", on_frame=kill_in_time)
    await asyncio.gather(*killed)
    assert server.starts == 2
    await place.keeps_all_promises(since=server.ready_at)
    assert _status(sent) == "succeeded"


async def _kill_and_live(server: Server) -> None:
    await server.kill()
    await server.start()


async def _die_and_live_again(
    place: TellerPlace,
    point: Point,
    message: str,
    *,
    form: Form = "stream",
    times: int = 1,
    again: Point | None = None,
) -> tuple[Server, SentMessage]:
    """Say a message to a server that dies at the point; the next life dies at `again`, if there."""
    server = place.server()
    await server.start()
    client = place.client("s")
    await client.open_session()
    place.arm(point, times)
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(client.send(message, form=form))
        await server.exited()
        assert server.was_killed, server.output()
        if again is not None:
            place.arm(again)
            await server.start()
            dying = group.create_task(server.exited(within_s=60))
            await asyncio.wait({saying, dying}, return_when=asyncio.FIRST_COMPLETED)
            dying.cancel()
            place.disarm()
        if not server.running:
            await server.start()
    return server, await saying


async def _takes_the_next_message(place: TellerPlace) -> None:
    sent = await place.client("s").send(NEXT_MESSAGE, form="stream")
    assert _status(sent) == "succeeded"


def _status(sent: SentMessage) -> str:
    return next(str(frame.data["status"]) for frame in sent.frames if frame.kind == "done")


def _paid(place: TellerPlace) -> list[int]:
    return sorted(effect.amount for effect in place.left_effects() if effect.tool == "pay")
