"""A turn that kills its server again and again is given up; its message and its session stay."""

import asyncio

import pytest

from oda.cli.chaos.crash_points import Point
from tests.support.fault_world import TellerPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX_RECOVERIES = 2


@pytest.fixture
def settings() -> dict[str, str]:
    return {"ODA_TURN__MAX_RECOVERIES": str(MAX_RECOVERIES)}


@pytest.mark.parametrize("point", ["message_storing", "model_called"])
async def test_turn_that_kills_each_life_fails_and_keeps_its_message(
    place: TellerPlace, point: Point
) -> None:
    server = place.server()
    await server.start()
    client = place.client("s")
    await client.open_session()
    async with asyncio.TaskGroup() as group:
        place.arm(point)
        saying = group.create_task(client.send("pay 7, please", form="stream"))
        await server.exited()
        for _ in range(MAX_RECOVERIES):
            place.arm(point)
            await server.start()
            await server.exited(within_s=60)
            assert server.was_killed, server.output()
        await server.start()
    done = next(frame for frame in (await saying).frames if frame.kind == "done")
    assert done.data["status"] == "failed"
    assert done.data["error"]["code"] == "crash_loop"
    next_talk = await place.client("s").send("pay 9, too", form="stream")
    assert next(f.data["status"] for f in next_talk.frames if f.kind == "done") == "succeeded"
    await place.keeps_all_promises(since=server.ready_at)
    assert [effect.amount for effect in place.left_effects()] == [9]
