"""The server is killed a hundred times at random moments under load, and keeps every promise."""

import asyncio
import os
from collections import Counter
from itertools import cycle
from random import Random

import pytest

from oda.cli.chaos.patient_client import FORMS, PatientClient
from oda.cli.chaos.processes import Server
from oda.cli.chaos.promises import Frame
from tests.support.fault_world import TellerPlace

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

KILLS = 100
PARTS = 4
"""Each has a place of its own, so that they run beside each other."""
KILLS_OF_PART = KILLS // PARTS
SESSIONS = 8
CLIENTS_OF_EACH = 2
SECONDS_OF_LIFE = (0.0, 0.6)
"""After the first event that a client has read."""
SECONDS_OF_STARTING = (0.0, 1.0)
"""After the process has begun, or after it is ready."""
PATIENCE_S = 60
KINDS = ("starting", *["ready"] * 2, *["talking"] * 7)
"""When the kills come, in turn."""


@pytest.fixture
def seed() -> int:
    """Of `ODA_TEST_SEED`; another one each time when it is not set."""
    seed = int(os.environ.get("ODA_TEST_SEED") or Random().randrange(10**6))
    print(f"ODA_TEST_SEED={seed}")
    return seed


@pytest.fixture
def settings() -> dict[str, str]:
    return {"ODA_TURN__MAX_RECOVERIES": str(KILLS_OF_PART + 1)}


@pytest.mark.parametrize("part", range(PARTS))
async def test_nothing_is_lost_doubled_or_reordered(
    place: TellerPlace, seed: int, part: int
) -> None:
    random = Random(f"{seed}, {part}")
    server = place.server()
    await server.start()
    enough = asyncio.Event()
    heard = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(SESSIONS):
            for _ in range(CLIENTS_OF_EACH):
                client = place.client(f"s{number}", user_id=f"user{number}")
                group.create_task(_talk_on(client, Random(random.random()), enough, heard))
        for _, kind in zip(range(KILLS_OF_PART), cycle(KINDS), strict=False):
            await _kill_once(server, random, kind, heard)
        enough.set()
    await place.keeps_all_promises(since=server.ready_at)
    await _something_has_happened(place)


async def _kill_once(server: Server, random: Random, kind: str, heard: asyncio.Event) -> None:
    heard.clear()
    if kind == "starting":
        await server.kill()
        await server.begin()
    if kind == "talking":
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
        await asyncio.sleep(random.uniform(*SECONDS_OF_LIFE))
    else:
        await asyncio.sleep(random.uniform(*SECONDS_OF_STARTING))
    assert server.running, server.output()
    await server.kill()
    await server.start()


async def _talk_on(
    client: PatientClient, random: Random, enough: asyncio.Event, heard: asyncio.Event
) -> None:
    async def note(frame: Frame) -> None:
        if frame.kind == "event":
            heard.set()

    await client.open_session()
    while not enough.is_set():
        await client.send(_message(client, random), form=random.choice(FORMS), on_frame=note)


def _message(client: PatientClient, random: Random) -> str:
    """One to three steps of one to three calls, each with an amount of its own."""
    amounts = iter(range(1, 10))
    steps = [
        " and ".join(
            f"{random.choice(('pay', 'book'))} {next(amounts)}"
            for _ in range(random.choice((1, 1, 2, 3)))
        )
        for _ in range(random.choice((1, 1, 2, 3)))
    ]
    return f"{' then '.join(steps)}, {client.name}/{len(client.sent)}"


async def _something_has_happened(place: TellerPlace) -> None:
    sent = [message for client in place.clients for message in client.sent]
    broken_off = sum(len(message.views) > 1 for message in sent)
    effects = Counter(effect.tool for effect in place.left_effects())
    print(f"{len(sent)} turns, {broken_off} streams broken off, {dict(effects)}")
    assert len(sent) > KILLS_OF_PART
    assert broken_off > KILLS_OF_PART // 10
    assert effects.keys() == {"pay", "book"}
