"""A run as a table for people and as JSON for machines. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.table import Table

from scripts.benchmark.goals import Goal
from scripts.benchmark.results import (
    EARLY_TURN,
    FULL_TURN,
    LATE_TURN,
    TURNS_PER_SESSION,
    Paced,
    Run,
    TargetResult,
)

_NONE = "–"
Cell = Callable[[TargetResult], str]


def table_of(run: Run) -> Table:
    """One column for each target."""
    table = Table(title="one turn = two streaming model calls and one tool call", box=None)
    table.add_column("", no_wrap=True)
    for name in run.targets:
        table.add_column(name, justify="right", no_wrap=True)
    for label, cell in _rows(run):
        table.add_row(label, *(cell(result) for result in run.targets.values()))
    return table


def notes_of(run: Run) -> list[str]:
    """Return what was compared, the stability of the machine, and the failures of turns."""
    notes = [f"{name}: {result.about}" for name, result in run.targets.items()]
    notes.append(
        f"one at a time, in sessions of {TURNS_PER_SESSION} turns, except where it says otherwise; "
        "medians and extremes of the rounds; wall times are without the model stub's share; "
        "numbers of one run compare, numbers of two do not"
    )
    spins = sorted(run.spin_ms)
    notes.append(
        f"noise: a fixed loop took {median(spins):.0f} ms ({spins[0]:.0f}–{spins[-1]:.0f})"
    )
    for name, result in run.targets.items():
        if result.line and result.line.fault:
            notes.append(f"{name}, messages at once to one session: {result.line.fault[-200:]}")
        if result.failures:
            notes.append(f"{name} failed with, for example: {result.failures[0].strip()[-200:]}")
    return notes


def json_of(run: Run, goals: Sequence[Goal]) -> dict[str, Any]:
    """Everything measured, and the verdicts."""
    return {
        **asdict(run),
        "goals": [{**asdict(goal), "reached": goal.reached} for goal in goals],
    }


def _rows(run: Run) -> list[tuple[str, Cell]]:
    return [
        ("CPU per turn, ms", lambda r: _spread([b.cpu_ms for b in r.blocks], 1)),
        *(
            (f"  relative to {name}", _relative_to(run.targets[name]))
            for name in ("runner", "adk", "oda-before", "oda-postgres-before")
            if name in run.targets
        ),
        ("wall time per turn, median, ms", lambda r: f"{r.wall_ms(0.5):.1f}"),
        ("  fastest tenth, ms", lambda r: f"{r.wall_ms(0.1):.1f}"),
        *(
            (f"CPU around turn {turn}, ms", _growth(name))
            for turn, name in ((EARLY_TURN, "early"), (FULL_TURN, "full"), (LATE_TURN, "late"))
        ),
        *(
            (f"{label}, {at_once} at once", _paced(at_once, show))
            for at_once in _levels(run)
            for label, show in _OF_PACED.items()
        ),
        ("failed turns", lambda r: str(len(r.failures))),
        (
            "database, bytes per turn",
            lambda r: f"{r.bytes_per_turn:.0f}" if r.bytes_per_turn else _NONE,
        ),
        ("messages at once to one session, s", _line),
        ("ready after start, s", lambda r: _spread([s.ready_s for s in r.starts], 2)),
        ("first turn after ready, s", lambda r: _spread([s.first_turn_s for s in r.starts], 2)),
        ("memory when ready, MiB", lambda r: f"{r.starts[-1].ready_rss_mib:.0f}"),
        ("  after the first turn", lambda r: f"{r.starts[-1].first_turn_rss_mib:.0f}"),
        ("  after all turns", lambda r: f"{r.final_rss_mib:.0f}"),
    ]


def _relative_to(reference: TargetResult) -> Cell:
    return lambda result: _spread(result.cpu_ratios(reference), 2)


def _growth(place: str) -> Cell:
    return lambda result: f"{getattr(result.growth, f'{place}_ms'):.1f}" if result.growth else _NONE


def _levels(run: Run) -> list[int]:
    return sorted({paced.at_once for result in run.targets.values() for paced in result.paced})


def _paced(at_once: int, show: Callable[[Paced], str]) -> Cell:
    return lambda result: show(paced) if (paced := result.at_once(at_once)) else _NONE


_OF_PACED: dict[str, Callable[[Paced], str]] = {
    "turns/s": lambda p: f"{p.turns_per_s:.1f}",
    "  first token later, ms": lambda p: (
        f"{median(p.first_token_late_ms):.0f}" if p.first_token_late_ms else _NONE
    ),
    "  p99 / p50": lambda p: f"{p.p99_to_p50:.2f}",
    "  CPU per turn, ms": lambda p: f"{p.cpu_ms:.1f}",
}


def _database(result: TargetResult) -> str:
    return _NONE if result.bytes_per_turn is None else f"{result.bytes_per_turn:.0f}"


def _line(result: TargetResult) -> str:
    if result.line is None:
        return _NONE
    return f"{result.line.sent} in {result.line.duration_s:.1f}" if not result.line.fault else "✗"


def _spread(values: Sequence[float], digits: int) -> str:
    """The median, and the extremes if there are any."""
    middle = f"{median(values):.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f}–{max(values):.{digits}f})"
