"""The goals of oda, checked against the numbers of one run. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from scripts.benchmark.results import EARLY_TURN, LATE_TURN, Run, TargetResult

CPU_RATIO = 1.1
"""To `adk api_server`, which keeps no record of turns."""
CPU_RATIO_BEFORE = 1.25
"""To an earlier version of oda on the same database."""
GROWTH_RATIO = 2.0
FAILURES_AT_ONCE = 0
READY_S = 12.0


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A limit, and the value that was measured."""

    name: str
    value: float
    limit: float

    @property
    def reached(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "reached" if self.reached else "MISSED "
        return f"{verdict}  {self.name}: {self.value:.3g} (limit {self.limit:g})"


def goals_of(run: Run) -> list[Goal]:
    """All goals that the run can judge."""
    found = []
    for name, result in run.targets.items():
        if name == "oda" and (adk := run.targets.get("adk")):
            ratio = median(result.cpu_ratios(adk))
            found.append(Goal(name="oda: CPU per turn / that of adk", value=ratio, limit=CPU_RATIO))
        if before := run.targets.get(f"{name}-before"):
            ratio = median(result.cpu_ratios(before))
            found.append(
                Goal(name=f"{name}: CPU per turn / before", value=ratio, limit=CPU_RATIO_BEFORE)
            )
        if name.startswith("oda") and not name.endswith("-before"):
            found += _goals_of_one(name, result)
    return found


def _goals_of_one(name: str, result: TargetResult) -> Iterator[Goal]:
    if result.growth is not None:
        yield Goal(
            name=f"{name}: CPU of turn {LATE_TURN} / turn {EARLY_TURN}",
            value=result.growth.ratio,
            limit=GROWTH_RATIO,
        )
    yield Goal(
        name=f"{name}: failed turns of {sum(burst.sent for burst in result.bursts)} sent at once",
        value=len(result.failures),
        limit=FAILURES_AT_ONCE,
    )
    if result.line is not None:
        yield Goal(
            name=f"{name}: faults with {result.line.sent} messages at once to one session",
            value=int(result.line.fault is not None),
            limit=FAILURES_AT_ONCE,
        )
    yield Goal(
        name=f"{name}: seconds until ready",
        value=median(start.ready_s for start in result.starts),
        limit=READY_S,
    )
