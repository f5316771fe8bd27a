"""The benchmark's verdicts and its table, on made-up numbers."""

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from scripts.benchmark.goals import goals_of
from scripts.benchmark.report import json_of, notes_of, table_of
from scripts.benchmark.results import Block, Burst, Growth, Line, Run, StartUp, TargetResult


def _target(
    *,
    cpu_ms: tuple[float, ...] = (50.0, 50.0, 50.0),
    late_ms: float | None = 60.0,
    failures: tuple[str, ...] = (),
    ready_s: tuple[float, ...] = (5.0,),
    fault: str | None = None,
) -> TargetResult:
    return TargetResult(
        about="made up",
        starts=tuple(
            StartUp(ready_s=s, first_turn_s=0.3, ready_rss_mib=300, first_turn_rss_mib=350)
            for s in ready_s
        ),
        blocks=tuple(Block(cpu_ms=ms, stub_cpu_ms=0.3, wall_ms=(60.0, 70.0)) for ms in cpu_ms),
        bursts=(Burst(sent=64, failures=failures, duration_s=4.0, cpu_ms=50.0),),
        growth=None if late_ms is None else Growth(early_ms=50.0, late_ms=late_ms),
        line=Line(sent=20, fault=fault, duration_s=2.0),
        final_rss_mib=400,
    )


def _run(**oda: Any) -> Run:
    return Run(targets={"adk": _target(late_ms=None), "oda": _target(**oda)}, spin_ms=(45.0,))


def _missed(run: Run) -> list[str]:
    return [goal.name for goal in goals_of(run) if not goal.reached]


def test_a_run_within_all_limits_misses_no_goal() -> None:
    assert _missed(_run()) == []


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"cpu_ms": (56.0, 57.0, 58.0)}, "CPU per turn"),
        ({"fault": "out of order"}, "20 messages at once"),
        ({"late_ms": 101.0}, "turn 200 / turn 5"),
        ({"failures": ("no answer",)}, "failed turns of 64"),
        ({"ready_s": (12.1,)}, "ready"),
    ],
)
def test_each_exceeded_limit_is_a_missed_goal(numbers: dict[str, Any], named: str) -> None:
    (missed,) = _missed(_run(**numbers))

    assert named in missed


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
    assert "1 / 64" in shown
    assert any("database is locked" in note for note in notes_of(run))


def test_the_json_holds_the_numbers_and_the_verdicts() -> None:
    run = _run(late_ms=150.0)

    document = json.loads(json.dumps(json_of(run, goals_of(run))))

    assert document["targets"]["oda"]["growth"] == {"early_ms": 50.0, "late_ms": 150.0}
    assert [goal["reached"] for goal in document["goals"]].count(False) == 1
