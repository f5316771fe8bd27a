"""The server is killed between a model's failure and the end of its retry."""

import asyncio

import pytest

from oda.cli.chaos.crash_points import Point
from oda.cli.chaos.promises import SentMessage
from tests.support.fault_world import TellerPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("point", "times"),
    [
        pytest.param("failure_storing", 1, id="before_the_failure_is_stored"),
        pytest.param("failure_stored", 1, id="before_the_client_is_told"),
        pytest.param("model_called", 2, id="in_the_retry"),
    ],
)
async def test_the_client_is_told_of_a_retry_and_not_of_the_failure(
    place: TellerPlace, point: Point, times: int
) -> None:
    server = place.server()
    await server.start()
    client = place.client("s")
    await client.open_session()
    place.arm(point, times)
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(client.send("stumble and pay 7, please", form="stream"))
        await server.exited()
        assert server.was_killed, server.output()
        await server.start()
    message = await saying
    await place.keeps_all_promises(since=server.ready_at)
    told = errors(message)
    assert told == ([] if point == "failure_storing" else ["RETRY_ATTEMPT"])
    *_, done = message.frames
    assert (done.kind, done.data["status"]) == ("done", "succeeded")
    assert done.data["attempts"] == len(told) + 2  # the notice is stored with the failure
    assert [effect.amount for effect in place.left_effects()] == [7]


def errors(message: SentMessage) -> list[str]:
    """The error codes of the events that a client has seen, in order."""
    return [
        str(frame.data["errorCode"])
        for frame in message.frames
        if frame.kind == "event" and "errorCode" in frame.data
    ]
