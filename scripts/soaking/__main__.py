"""Command line of the soak test."""

import argparse
import asyncio
import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import uvloop

from scripts.soaking.client import Wrong
from scripts.soaking.honest import HonestUser
from scripts.soaking.hostile.crowd import ATTACKER, VICTIM, attack, target_of
from scripts.soaking.hostile.target import GRACE_S, Patience
from scripts.soaking.report import replace_section, report
from scripts.soaking.server import REPOSITORY, Soaked, soaked_server
from scripts.soaking.tally import Tally
from scripts.soaking.verdict import Rule, rules
from scripts.soaking.watch import EVERY_S, Sample, Watch

_FAILED, _NOT_RUN = 1, 2
_USERS = 20
_END_WITHIN_S = 300.0
"""Time for visits and attacks in progress to finish."""
_LONGEST_LINE = 1000
_DOCUMENT = REPOSITORY / "docs" / "reliability.md"


@dataclass(frozen=True)
class Plan:
    """Duration and pace of a run."""

    minutes: float
    patience: Patience
    pause_s: tuple[float, float]
    haste: float
    sample_every_s: float

    @property
    def settings(self) -> Mapping[str, str]:
        return {
            "ODA_LIMITS__HEAD_TIMEOUT_S": str(self.patience.head_s),
            "ODA_LIMITS__BODY_TIMEOUT_S": str(self.patience.body_s),
            "ODA_LIMITS__ANSWER_STALL_S": str(self.patience.stall_s),
        }


def _full(minutes: float) -> Plan:
    """Return the plan of a full run, which uses the server's default timeouts."""
    return Plan(minutes, Patience(10.0, 30.0, 30.0), (1.0, 5.0), 1.0, EVERY_S)


_SHORT = Plan(0.6, Patience(2.0, 3.0, 3.0), (0.2, 1.0), 6.0, 2.0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Serve twenty honest users beside hostile clients, and see whether the honest "
        "notice anything and whether the server stays as large as it was. The exit code is 1 when "
        "a rule does not hold, and 2 when the server does not start.",
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="by default %(default)s")
    parser.add_argument("--short", action="store_true", help="a bit more than a minute, for CI")
    parser.add_argument(
        "--database",
        metavar="URL",
        default="sqlite",
        help="a PostgreSQL server, on which a database is made; by default SQLite in a file",
    )
    parser.add_argument("--seed", type=int, default=1, help="by default %(default)s")
    parser.add_argument("--log", metavar="FILE", type=Path, help="keep what the server logs there")
    parser.add_argument(
        "--write", action="store_true", help="put the report into docs/reliability.md"
    )
    return parser.parse_args()


async def _run(arguments: argparse.Namespace, plan: Plan) -> tuple[str, list[Rule]]:
    tally = Tally(lambda wrong: print(wrong[:_LONGEST_LINE], file=sys.stderr))
    users = [f"user-{number}" for number in range(_USERS)]
    with tempfile.TemporaryDirectory(prefix="oda-soak-") as directory:
        async with soaked_server(
            Path(directory),
            [*users, ATTACKER, VICTIM],
            seed=arguments.seed,
            database=arguments.database,
            settings=plan.settings,
        ) as soaked:
            watch = Watch(soaked.process, tally, _tell)
            idle = await watch.sample()
            during = await _soak(soaked, users, plan, tally, watch, arguments.seed)
            settled = await _settled(watch, idle, plan.patience)
            log = soaked.process.log
        if arguments.log:
            arguments.log.write_text(log)
    found = rules(during, tally, log, idle=idle, settled=settled)
    command = shlex.join(["scripts/soak", *sys.argv[1:]])
    return report(command, during, tally, found), found


async def _soak(
    soaked: Soaked, users: list[str], plan: Plan, tally: Tally, watch: Watch, seed: int
) -> list[Sample]:
    """Run all users and attackers for the duration of the plan; return the samples of that time."""
    over = asyncio.Event()
    first = len(watch.samples)
    async with (
        target_of(soaked, plan.patience, tally) as target,
        asyncio.timeout(plan.minutes * 60 + _END_WITHIN_S),
        asyncio.TaskGroup() as group,
    ):
        at_work = [group.create_task(attack(target, tally, over, seed=seed, haste=plan.haste))]
        for name in users:
            user = HonestUser(soaked, name, tally, seed=seed, pause_s=plan.pause_s)
            at_work.append(group.create_task(user.live(over)))
        looking = group.create_task(watch.look(plan.sample_every_s))
        await asyncio.sleep(plan.minutes * 60)
        over.set()
        await asyncio.wait(at_work)
        looking.cancel()
    return watch.samples[first:]


async def _settled(watch: Watch, idle: Sample, patience: Patience) -> Sample:
    """Sample the server after all clients have left and their leftovers have timed out."""
    sample = await watch.sample()
    for _ in range(round(patience.stall_s + GRACE_S)):
        if sample.connections <= idle.connections + 10:
            break
        await asyncio.sleep(1.0)
        sample = await watch.sample()
    return sample


def _tell(s: Sample) -> None:
    print(
        f"{s.at_s:6.0f} s  {s.memory_mib:6.0f} MiB  {s.processes:2} processes  {s.files:4} files  "
        f"{s.connections:4} connections  {s.threads:3} threads  {s.requests:5} requests  "
        f"p50 {s.p50_ms:6.0f} ms  p99 {s.p99_ms:6.0f} ms  {s.errors} errors",
        file=sys.stderr,
    )


def main() -> int:
    arguments = _arguments()
    plan = _SHORT if arguments.short else _full(arguments.minutes)
    try:
        section, found = uvloop.run(_run(arguments, plan))
    except (RuntimeError, TimeoutError, Wrong, ExceptionGroup) as error:
        for one in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            print(f"error: {one!r}", file=sys.stderr)
        return _NOT_RUN
    print(section, end="")
    if arguments.write:
        replace_section(_DOCUMENT, section)
    return 0 if all(rule.holds for rule in found) else _FAILED


if __name__ == "__main__":
    sys.exit(main())
