"""The benchmark's verdicts and its table, on made-up numbers."""

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from scripts.benchmark.goals import goals_of
from scripts.benchmark.report import json_of, notes_of, table_of
from scripts.benchmark.results import Block, Growth, Line, Paced, Run, StartUp, TargetResult


def _target(
    *,
    cpu_ms: tuple[float, ...] = (50.0, 50.0, 50.0),
    full_ms: float = 60.0,
    late_ms: float | None = 60.0,
    failures: tuple[str, ...] = (),
    ready_s: tuple[float, ...] = (2.0,),
    first_turn_s: float = 0.05,
    rss_mib: float = 150.0,
    fault: str | None = None,
    line_s: float = 1.3,
    bytes_per_turn: float = 3000.0,
    first_token_late_ms: float = 10.0,
    slowest_ms: float = 700.0,
    duration_s: float = 4.0,
) -> TargetResult:
    return TargetResult(
        about="made up",
        starts=tuple(
            StartUp(
                ready_s=s,
                first_turn_s=first_turn_s,
                ready_rss_mib=rss_mib,
                first_turn_rss_mib=rss_mib,
            )
            for s in ready_s
        ),
        blocks=tuple(Block(cpu_ms=ms, stub_cpu_ms=0.3, wall_ms=(60.0, 70.0)) for ms in cpu_ms),
        paced=tuple(
            Paced(
                at_once=at_once,
                wall_ms=(*[600.0] * 9, slowest_ms, slowest_ms),
                first_token_late_ms=(first_token_late_ms,),
                failures=failures if at_once == 64 else (),
                duration_s=duration_s,
                cpu_ms=50.0,
            )
            for at_once in (1, 16, 64)
        ),
        growth=None if late_ms is None else Growth(early_ms=50.0, full_ms=full_ms, late_ms=late_ms),
        line=Line(sent=20, fault=fault, duration_s=line_s),
        bytes_per_turn=bytes_per_turn,
        final_rss_mib=400,
    )


def _run(**oda: Any) -> Run:
    peers = {
        "runner": _target(cpu_ms=(100.0,) * 3, late_ms=None),
        "adk": _target(late_ms=None),
        "langgraph": _target(late_ms=None, duration_s=8.0),
    }
    return Run(targets={**peers, "oda": _target(**oda)}, spin_ms=(45.0,))


def _missed(run: Run) -> list[str]:
    return [goal.name for goal in goals_of(run) if not goal.reached]


def test_a_run_within_all_limits_misses_no_goal() -> None:
    assert _missed(_run()) == []


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"cpu_ms": (56.0, 57.0, 58.0)}, "CPU per turn"),
        ({"duration_s": 7.0}, "LangGraph"),
        ({"bytes_per_turn": 4600.0}, "database"),
        ({"slowest_ms": 1000.0}, "p99 / p50"),
        ({"fault": "out of order"}, "faults with 20 messages"),
        ({"line_s": 1.6}, "as many single turns"),
        ({"late_ms": 67.0}, "turn 200 / turn 32"),
        ({"full_ms": 81.0, "late_ms": 80.0}, "turn 32 / turn 5"),
        ({"failures": ("no answer",)}, "failed turns"),
        ({"ready_s": (3.1,)}, "ready"),
        ({"first_turn_s": 0.2}, "first turn"),
        ({"rss_mib": 171.0}, "memory"),
    ],
)
def test_each_exceeded_limit_is_a_missed_goal(numbers: dict[str, Any], named: str) -> None:
    (missed,) = _missed(_run(**numbers))

    assert named in missed


def test_a_late_first_token_is_a_missed_goal_for_each_level() -> None:
    assert len(_missed(_run(first_token_late_ms=51.0))) == 2


def test_one_disturbed_round_does_not_decide_the_cpu_ratio() -> None:
    assert _missed(_run(cpu_ms=(49.0, 500.0, 49.0))) == []


def test_what_was_not_measured_is_no_goal() -> None:
    names = [goal.name for goal in goals_of(_run(late_ms=None))]

    assert not any("turn 200" in name for name in names)


def test_every_target_has_a_column_and_its_failures_are_told() -> None:
    run = _run(failures=("database is locked",))
    console = Console(file=StringIO(), width=120, record=True)
    console.print(table_of(run))
    shown = console.export_text()

    assert "adk" in shown and "oda" in shown
    assert "failed turns" in shown
    assert any("database is locked" in note for note in notes_of(run))


def test_the_json_holds_the_numbers_and_the_verdicts() -> None:
    run = _run(late_ms=80.0)

    document = json.loads(json.dumps(json_of(run, goals_of(run))))

    assert document["targets"]["oda"]["growth"] == {
        "early_ms": 50.0,
        "full_ms": 60.0,
        "late_ms": 80.0,
    }
    assert [goal["reached"] for goal in document["goals"]].count(False) == 1
