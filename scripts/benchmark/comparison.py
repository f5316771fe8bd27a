"""One run: start all targets, let them take turns in being measured, stop them."""

import compileall
import os
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scripts.benchmark.measures import (
    growth,
    interleaved,
    line,
    paced,
    rotated,
    spin_ms,
    start_up,
)
from scripts.benchmark.model_stub import ModelStub, model_stub
from scripts.benchmark.results import (
    TURNS_PER_SESSION,
    Block,
    Growth,
    Line,
    Paced,
    Run,
    StartUp,
    TargetResult,
)
from scripts.benchmark.target import REPOSITORY, Target

_WARM_UP_SESSIONS = 3


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured."""

    starts: int
    rounds: int
    """Number of rounds of consecutive turns."""
    sessions_per_round: int
    paced: Mapping[int, int]
    """Turns of each client by how many clients there are at a time."""
    line_size: int
    """Messages that are sent to one session at once."""
    growth_of: frozenset[str] | None
    """Names of the targets whose growth is measured; None for all."""


FULL = Size(
    starts=3,
    rounds=8,
    sessions_per_round=5,
    paced={1: 20, 16: 8, 64: 8},
    line_size=20,
    growth_of=None,
)
QUICK = Size(
    starts=1,
    rounds=5,
    sessions_per_round=2,
    paced={1: 8, 16: 4, 64: 4},
    line_size=20,
    growth_of=frozenset({"oda"}),
)


class TargetFactory(Protocol):
    def __call__(self, *, model_base: str, work: Path) -> Target: ...


async def compare(
    factories: Mapping[str, TargetFactory],
    size: Size,
    *,
    directory: Path,
    tell: Callable[[str], None],
) -> Run:
    """Measure all targets, whose data goes below `directory`.

    Raises:
        RuntimeError: a target does not start.
        TurnFailed: a turn fails although nothing else is going on.
    """
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(model_stub(_made(directory / "model")))
        starts: dict[str, list[StartUp]] = {name: [] for name in factories}
        targets: dict[str, Target] = {}
        for repetition in range(size.starts):
            for name, factory in factories.items():
                tell(f"start {repetition + 1}/{size.starts}: {name}")
                work = _made(directory / f"{name}-{repetition}")
                target = factory(model_base=stub.openai_base, work=work)
                stack.push_async_callback(target.stop)
                starts[name].append(await start_up(target))
                if repetition + 1 < size.starts:
                    await target.stop()
                else:
                    targets[name] = target
        return await _measured(targets, starts, stub, size, tell)


def compile_sources() -> None:
    """Write the bytecode that is missing, so that no target's start pays for compiling."""
    for sources in (Path(sysconfig.get_path("purelib")), REPOSITORY / "oda"):
        compileall.compile_dir(sources, quiet=2, workers=os.cpu_count() or 1)


async def _measured(
    targets: Mapping[str, Target],
    starts: Mapping[str, list[StartUp]],
    stub: ModelStub,
    size: Size,
    tell: Callable[[str], None],
) -> Run:
    blocks: dict[str, list[Block]] = {name: [] for name in targets}
    at_pace: dict[str, list[Paced]] = {name: [] for name in targets}
    grown: dict[str, Growth] = {}
    lines: dict[str, Line | None] = {}
    spins = []
    await interleaved(targets, stub, sessions=_WARM_UP_SESSIONS)
    sizes = {name: await target.database_bytes() for name, target in targets.items()}
    for number in range(size.rounds):
        tell(f"turns one by one, round {number + 1}/{size.rounds}")
        spins.append(spin_ms())
        for name, block in (
            await interleaved(targets, stub, sessions=size.sessions_per_round)
        ).items():
            blocks[name].append(block)
    turns = size.rounds * size.sessions_per_round * TURNS_PER_SESSION
    grew = {name: await _per_turn(target, sizes[name], turns) for name, target in targets.items()}
    for number, (at_once, each) in enumerate(size.paced.items()):
        tell(f"a paced model, {at_once} turns at once")
        for name, target in rotated(targets, number):
            at_pace[name].append(await paced(target, at_once=at_once, each=each))
    for name, target in targets.items():
        lines[name] = await line(target, size=size.line_size)
        if size.growth_of is None or name in size.growth_of:
            tell(f"a long session: {name}")
            grown[name] = await growth(target)
    spins.append(spin_ms())
    return Run(
        targets={
            name: TargetResult(
                about=target.about,
                starts=tuple(starts[name]),
                blocks=tuple(blocks[name]),
                paced=tuple(at_pace[name]),
                growth=grown.get(name),
                line=lines[name],
                bytes_per_turn=grew[name],
                final_rss_mib=target.process.rss_mib(),
            )
            for name, target in targets.items()
        },
        spin_ms=tuple(spins),
    )


async def _per_turn(target: Target, before: int | None, turns: int) -> float | None:
    now = await target.database_bytes()
    return None if now is None or before is None else (now - before) / turns


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory
