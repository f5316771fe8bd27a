"""The set of hostile clients, with their number and pace."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from scripts.soaking.client import Client
from scripts.soaking.hostile import broken, forged, huge, silent, slow
from scripts.soaking.hostile.target import Finding, Patience, Target
from scripts.soaking.server import Soaked
from scripts.soaking.tally import Tally

ATTACKER, VICTIM = "mallory", "victim"
SECRET = "the victim's own words"


@dataclass(frozen=True)
class Lane:
    """An attack, the number of clients that make it, and their pause after each."""

    attack: Callable[[Target], Awaitable[None]]
    clients: int
    rest_s: float

    @property
    def name(self) -> str:
        kind = self.attack.__module__.rpartition(".")[2]
        return f"{kind}: {self.attack.__name__.replace('_', ' ')}"


LANES = (
    Lane(slow.dripping_head, 5, 5.0),
    Lane(slow.dripping_body, 3, 5.0),
    Lane(slow.never_reading, 3, 10.0),
    Lane(silent.nothing_said, 10, 5.0),
    Lane(silent.nothing_more_said, 5, 5.0),
    Lane(silent.silent_socket, 4, 5.0),
    Lane(huge.body_above_the_limit, 1, 10.0),
    Lane(huge.endless_chunks, 1, 30.0),
    Lane(huge.upload_at_the_limit, 1, 60.0),
    Lane(huge.deep_json, 1, 20.0),
    Lane(huge.wide_json, 1, 30.0),
    Lane(huge.costly_resume, 1, 30.0),
    Lane(huge.long_head, 1, 10.0),
    Lane(broken.half_a_request, 1, 5.0),
    Lane(broken.torn_answer, 1, 5.0),
    Lane(broken.no_http, 1, 10.0),
    Lane(broken.no_json, 1, 10.0),
    Lane(broken.broken_frames, 1, 20.0),
    Lane(broken.torn_form, 1, 20.0),
    Lane(broken.hostile_files, 1, 60.0),
    Lane(forged.wrong_keys, 1, 15.0),
    Lane(forged.another_user, 1, 10.0),
    Lane(forged.victims_things, 1, 20.0),
    Lane(forged.adk_doors, 1, 20.0),
    Lane(forged.path_tricks, 1, 20.0),
    Lane(forged.forged_places, 1, 20.0),
)


@asynccontextmanager
async def target_of(soaked: Soaked, patience: Patience, tally: Tally) -> AsyncIterator[Target]:
    """Yield the target, with the attacker's and the victim's data in place.

    Check the latter at the end.

    Raises:
        Wrong: the target could not be set up, or data of the victim is lost.
    """
    sessions = "/v1/apps/assistant/sessions"
    async with (
        Client(soaked, ATTACKER, tally) as attacker,
        Client(soaked, VICTIM, tally) as victim,
    ):
        own = (await attacker.ask("POST", sessions, expect=(201,), json={})).json["session_id"]
        state = {"diary": SECRET}
        made = await victim.ask("POST", sessions, expect=(201,), json={"state": state})
        session = made.json["session_id"]
        message = {"message": SECRET}
        said = await victim.ask("POST", f"{sessions}/{session}/turns", json=message)
        file = f"{sessions}/{session}/artifacts/secret.txt"
        await victim.ask("PUT", file, expect=(201,), data=SECRET.encode())
        before = (await victim.ask("GET", f"{sessions}/{session}/events")).body
        turn = said.json["turn"]["turn_id"]
        yield Target(soaked, patience, ATTACKER, own, VICTIM, session, turn, SECRET)
        after = (await victim.ask("GET", f"{sessions}/{session}/events")).body
        if before != after or (await victim.ask("GET", file)).body != SECRET.encode():
            tally.finding("the victim's session or file is not what it was")


async def attack(
    target: Target, tally: Tally, over: asyncio.Event, *, seed: int, haste: float
) -> None:
    """Run all lanes until `over` is set; each attack is made at least once.

    Args:
        haste: Factor by which the pauses are shortened.
    """
    draw = random.Random(seed)
    async with asyncio.TaskGroup() as group:
        for lane in LANES:
            for _ in range(lane.clients):
                first_s = draw.uniform(0, lane.rest_s) / haste
                group.create_task(_attack(lane, target, tally, over, first_s, haste))


async def _attack(
    lane: Lane, target: Target, tally: Tally, over: asyncio.Event, rest_s: float, haste: float
) -> None:
    while True:
        await _rest(over, rest_s)
        try:
            await lane.attack(target)
            tally.attacks[lane.name] += 1
        except Finding as finding:
            tally.finding(f"{lane.name}: {finding}")
        if over.is_set():
            return
        rest_s = lane.rest_s / haste


async def _rest(over: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        pass
