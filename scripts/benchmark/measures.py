"""The single measurements; each is small, so that targets can take turns."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from scripts.benchmark.model_stub import ModelStub
from scripts.benchmark.results import (
    EARLY_TURN,
    FULL_TURN,
    LATE_TURN,
    TURNS_PER_SESSION,
    Block,
    Growth,
    Line,
    Paced,
    StartUp,
)
from scripts.benchmark.target import KeepsOrder, Target, TurnFailed
from scripts.benchmark.workload import FIRST_TOKEN_S, PACED_QUESTION

_AROUND = 2
"""Turns before and after the early one that are measured with it, and as many late ones."""
_SETTLE_S = 0.015
"""Work that a target does right after its answer counts as part of the turn."""


@dataclass(frozen=True, kw_only=True)
class _Turn:
    cpu_ms: float
    wall_ms: float


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


async def interleaved(
    targets: Mapping[str, Target], stub: ModelStub, *, sessions: int
) -> dict[str, Block]:
    """Run turns in short sessions, one target after the other with each single turn.

    So whatever else the machine does meets all targets alike.
    """
    cpu_ms: dict[str, list[float]] = {name: [] for name in targets}
    wall_ms: dict[str, list[float]] = {name: [] for name in targets}
    stub_began = stub.process.cpu_s()
    for _ in range(sessions):
        names = {name: await target.new_session() for name, target in targets.items()}
        for number in range(TURNS_PER_SESSION):
            for name, target in rotated(targets, number):
                turn = await _timed_turn(target, names[name])
                cpu_ms[name].append(turn.cpu_ms)
                wall_ms[name].append(turn.wall_ms)
    turns = sessions * TURNS_PER_SESSION * len(targets)
    stub_cpu_ms = (stub.process.cpu_s() - stub_began) * 1e3 / turns
    return {
        name: Block(
            cpu_ms=fmean(cpu_ms[name]), stub_cpu_ms=stub_cpu_ms, wall_ms=tuple(wall_ms[name])
        )
        for name in targets
    }


async def growth(target: Target) -> Growth:
    """Compare turns late in a session with turns of new sessions, early and with a full window.

    They alternate, so that a machine that gets slower meanwhile does not look like growth.
    """
    long_session = await target.new_session()
    for _ in range(LATE_TURN - _AROUND - 1):
        await target.turn(long_session)
    early, full, late = [], [], []
    for _ in range(2 * _AROUND + 1):
        late.append((await _timed_turn(target, long_session)).cpu_ms)
        short_session = await target.new_session()
        for number in range(1, FULL_TURN + _AROUND + 1):
            turn = await _timed_turn(target, short_session)
            if abs(number - EARLY_TURN) <= _AROUND:
                early.append(turn.cpu_ms)
            elif number >= FULL_TURN - _AROUND:
                full.append(turn.cpu_ms)
    return Growth(early_ms=median(early), full_ms=median(full), late_ms=median(late))


async def paced(target: Target, *, at_once: int, each: int) -> Paced:
    """Let `at_once` clients take `each` paced turns, each client in a session of its own.

    The model's first token of an answer comes after two delays: that of the tool call counts, too.
    """
    walls: list[float] = []
    late: list[float] = []
    failures: list[str] = []
    names = [await target.new_session() for _ in range(at_once)]

    async def client(session: str) -> None:
        for _ in range(each):
            began = time.perf_counter()
            try:
                first_s = await target.turn(session, PACED_QUESTION)
            except TurnFailed as error:
                failures.append(str(error))
                continue
            walls.append((time.perf_counter() - began) * 1e3)
            if first_s is not None:
                late.append((first_s - 2 * FIRST_TOKEN_S) * 1e3)

    cpu_began, began = await _settled_cpu_s(target), time.perf_counter()
    await asyncio.gather(*map(client, names))
    duration_s = time.perf_counter() - began
    return Paced(
        at_once=at_once,
        wall_ms=tuple(walls),
        first_token_late_ms=tuple(late),
        failures=tuple(failures),
        duration_s=duration_s,
        cpu_ms=(await _settled_cpu_s(target) - cpu_began) * 1e3 / (at_once * each),
    )


async def line(target: Target, *, size: int) -> Line | None:
    """Send `size` messages to one session at once; None if the target promises no order."""
    if not isinstance(target, KeepsOrder):
        return None
    began = time.perf_counter()
    try:
        fault = await target.messages_at_once(size)
    except TurnFailed as error:
        fault = str(error)
    return Line(sent=size, fault=fault, duration_s=time.perf_counter() - began)


def rotated(targets: Mapping[str, Target], by: int) -> list[tuple[str, Target]]:
    """All targets; the greater `by`, the later in their order the first one."""
    order = list(targets.items())
    first = by % len(order)
    return order[first:] + order[:first]


def spin_ms() -> float:
    """Wall time of a fixed loop: how contended the machine is right now."""
    began = time.perf_counter()
    sum(number * number for number in range(1_000_000))
    return (time.perf_counter() - began) * 1e3


async def _timed_turn(target: Target, session: str) -> _Turn:
    cpu_began, began = await target.cpu_s(), time.perf_counter()
    await target.turn(session)
    wall_ms = (time.perf_counter() - began) * 1e3
    return _Turn(cpu_ms=(await _settled_cpu_s(target) - cpu_began) * 1e3, wall_ms=wall_ms)


async def _settled_cpu_s(target: Target) -> float:
    await asyncio.sleep(_SETTLE_S)
    return await target.cpu_s()
