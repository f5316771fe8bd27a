"""The goals of oda, checked against the numbers of one run. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from scripts.benchmark.results import EARLY_TURN, FULL_TURN, LATE_TURN, Run, TargetResult

CPU_RATIO = {"oda": 0.55, "oda-postgres": 0.65}
"""To a bare ADK Runner with LiteLLM and sessions in memory."""
CPU_RATIO_BEFORE = 1.25
"""To an earlier version of oda on the same database."""
SLOWNESS = 1 / 1.2
"""Turns/s of LangGraph's server at 64 at once, to those of oda."""
P99_TO_P50 = 1.5
FIRST_TOKEN_LATE_MS = {1: 15.0, 16: 50.0}
"""By turns at once, after the model's own first token."""
LINE_RATIO = 1.1
"""20 messages at once to one session, to 20 single turns."""
GROWTH_RATIO = 1.1
"""With a full window of events."""
FILLING_RATIO = 1.6
"""A full window to an empty one."""
DATABASE_RATIO = 1.5
"""To ADK's own, of the same turns on SQLite."""
READY_S, FIRST_TURN_S, READY_RSS_MIB = 3.0, 0.1, 170.0
CV_GROWTH_RATIO = 2.0
WORKERS_SLOWNESS = 1 / 1.9
FIRST_EVENT_MS = 30.0


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
        return f"{verdict}  {self.name}: {self.value:.3g} (limit {self.limit:.3g})"


def goals_of(run: Run) -> list[Goal]:
    """All goals that the run can judge."""
    found: list[Goal] = []
    for name, result in run.targets.items():
        if name.startswith("oda") and not name.endswith("-before"):
            found += _relative_goals(name, result, run)
            found += _own_goals(name, result)
    return found


def _relative_goals(name: str, result: TargetResult, run: Run) -> Iterator[Goal]:
    if runner := run.targets.get("runner"):
        ratio = median(result.cpu_ratios(runner))
        yield Goal(
            name=f"{name}: CPU per turn / that of a bare Runner", value=ratio, limit=CPU_RATIO[name]
        )
    if before := run.targets.get(f"{name}-before"):
        ratio = median(result.cpu_ratios(before))
        yield Goal(name=f"{name}: CPU per turn / before", value=ratio, limit=CPU_RATIO_BEFORE)
    langgraph = run.targets.get("langgraph")
    ours, theirs = result.at_once(64), langgraph.at_once(64) if langgraph else None
    if ours and theirs:
        slowness = theirs.turns_per_s / ours.turns_per_s
        yield Goal(name=f"{name}: turns/s of LangGraph / ours", value=slowness, limit=SLOWNESS)
    adk = run.targets.get("adk")
    if name == "oda" and adk and adk.bytes_per_turn and result.bytes_per_turn:
        ratio = result.bytes_per_turn / adk.bytes_per_turn
        yield Goal(name="oda: database / that of adk", value=ratio, limit=DATABASE_RATIO)


def _own_goals(name: str, result: TargetResult) -> Iterator[Goal]:
    for at_once, limit in FIRST_TOKEN_LATE_MS.items():
        if (paced := result.at_once(at_once)) and paced.first_token_late_ms:
            late = median(paced.first_token_late_ms)
            yield Goal(
                name=f"{name}: first token later, ms, {at_once} at once", value=late, limit=limit
            )
    if paced := result.at_once(64):
        yield Goal(name=f"{name}: p99 / p50, 64 at once", value=paced.p99_to_p50, limit=P99_TO_P50)
    if grown := result.growth:
        yield Goal(
            name=f"{name}: CPU of turn {LATE_TURN} / turn {FULL_TURN}",
            value=grown.late_ms / grown.full_ms,
            limit=GROWTH_RATIO,
        )
        yield Goal(
            name=f"{name}: CPU of turn {FULL_TURN} / turn {EARLY_TURN}",
            value=grown.full_ms / grown.early_ms,
            limit=FILLING_RATIO,
        )
    yield Goal(name=f"{name}: failed turns", value=len(result.failures), limit=0)
    if (line := result.line) is not None:
        yield Goal(
            name=f"{name}: faults with {line.sent} messages at once to one session",
            value=int(line.fault is not None),
            limit=0,
        )
        single_s = median(wall for block in result.blocks for wall in block.wall_ms) / 1e3
        yield Goal(
            name=f"{name}: {line.sent} messages at once to one session / as many single turns",
            value=line.duration_s / (line.sent * single_s),
            limit=LINE_RATIO,
        )
    starts = result.starts
    yield Goal(
        name=f"{name}: seconds until ready",
        value=median(start.ready_s for start in starts),
        limit=READY_S,
    )
    yield Goal(
        name=f"{name}: seconds of the first turn",
        value=median(start.first_turn_s for start in starts),
        limit=FIRST_TURN_S,
    )
    yield Goal(
        name=f"{name}: memory when ready, MiB",
        value=median(start.ready_rss_mib for start in starts),
        limit=READY_RSS_MIB,
    )
