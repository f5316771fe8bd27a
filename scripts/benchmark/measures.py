"""The measurements of one target; each is small, so that targets can take turns."""

import asyncio
import time
from statistics import fmean

from scripts.benchmark.model_stub import ModelStub
from scripts.benchmark.results import Block, Burst, Growth, StartUp
from scripts.benchmark.target import Target, TurnFailed

TURNS_PER_SESSION = 4
EARLY_TURN, LATE_TURN = 5, 200
_AROUND = 2
"""Turns before and after the early one that are measured with it, and as many late ones."""
_SETTLE_S = 0.05
"""Work that a target does right after its answer belongs to the turn."""


async def start_up(target: Target) -> StartUp:
    """Start a target and run its first turn."""
    ready_s = await target.start()
    ready_rss_mib = target.process.rss_mib()
    session = await target.new_session()
    began = time.perf_counter()
    await target.turn(session)
    return StartUp(
        ready_s=ready_s,
        first_turn_s=time.perf_counter() - began,
        ready_rss_mib=ready_rss_mib,
        first_turn_rss_mib=target.process.rss_mib(),
    )


async def block(target: Target, stub: ModelStub, *, sessions: int) -> Block:
    """Run turns one after the other in new sessions, whose creation is not counted."""
    names = [await target.new_session() for _ in range(sessions)]
    walls = []
    stub_began, began = stub.process.cpu_s(), await _settled_cpu_s(target)
    for name in names:
        for _ in range(TURNS_PER_SESSION):
            turn_began = time.perf_counter()
            await target.turn(name)
            walls.append((time.perf_counter() - turn_began) * 1e3)
    cpu_s = await _settled_cpu_s(target) - began
    return Block(
        cpu_ms=cpu_s * 1e3 / len(walls),
        stub_cpu_ms=(stub.process.cpu_s() - stub_began) * 1e3 / len(walls),
        wall_ms=tuple(walls),
    )


async def growth(target: Target) -> Growth:
    """Compare turns around the late one with turns around the early one of new sessions.

    The two alternate, so that a machine that gets slower meanwhile does not look like growth.
    """
    long_session = await target.new_session()
    for _ in range(LATE_TURN - _AROUND - 1):
        await target.turn(long_session)
    early, late = [], []
    for _ in range(2 * _AROUND + 1):
        late.append(await _cpu_ms_of_turn(target, long_session))
        short_session = await target.new_session()
        for number in range(1, EARLY_TURN + _AROUND + 1):
            cpu_ms = await _cpu_ms_of_turn(target, short_session)
            if number >= EARLY_TURN - _AROUND:
                early.append(cpu_ms)
    return Growth(early_ms=fmean(early), late_ms=fmean(late))


async def burst(target: Target, *, size: int) -> Burst:
    """Send one turn to each of `size` new sessions at the same moment."""
    names = [await target.new_session() for _ in range(size)]
    began = time.perf_counter()
    outcomes = await asyncio.gather(*(_failure(target, name) for name in names))
    return Burst(
        sent=size,
        failures=tuple(filter(None, outcomes)),
        duration_s=time.perf_counter() - began,
    )


def spin_ms() -> float:
    """Wall time of a fixed loop: how contended the machine is right now."""
    began = time.perf_counter()
    sum(number * number for number in range(1_000_000))
    return (time.perf_counter() - began) * 1e3


async def _failure(target: Target, session: str) -> str | None:
    try:
        await target.turn(session)
    except TurnFailed as error:
        return str(error)
    return None


async def _cpu_ms_of_turn(target: Target, session: str) -> float:
    began = await target.cpu_s()
    await target.turn(session)
    return (await _settled_cpu_s(target) - began) * 1e3


async def _settled_cpu_s(target: Target) -> float:
    await asyncio.sleep(_SETTLE_S)
    return await target.cpu_s()
