"""The command line of the benchmark."""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import uvloop
from rich.console import Console

from scripts.benchmark.comparison import FULL, QUICK, TargetFactory, compare, compile_sources
from scripts.benchmark.cv import CvGrowth, cv_growth
from scripts.benchmark.cv_rules import RulesLatency, rules_latency
from scripts.benchmark.goals import Goal, goals_of
from scripts.benchmark.postgres import fresh_database
from scripts.benchmark.recitation import RecitationLatency, recitation_latency
from scripts.benchmark.report import json_of, notes_of, table_of
from scripts.benchmark.results import Run
from scripts.benchmark.sandbox import SandboxCost, sandbox_costs
from scripts.benchmark.servers import (
    AdkApiServer,
    AdkApiServerOnSqlAlchemy,
    OdaServe,
    OdaServeOnPostgres,
    before,
    langgraph_server,
)
from scripts.benchmark.target import BareRunner, TurnFailed
from scripts.benchmark.workers import ManyProcesses, many_processes

_WIDTH = 160
_GOAL_MISSED, _NOT_RUN, _INTERRUPTED = 1, 2, 130


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure what a turn costs in a bare ADK Runner, in `adk api_server` and in "
        "`oda serve`, against one scripted model. The exit code is 1 when a goal is missed, and 2 "
        "when a target does not work.",
    )
    parser.add_argument("--quick", action="store_true", help="under two minutes, less exact")
    parser.add_argument("--pg", metavar="URL", help="measure oda on this PostgreSQL server as well")
    parser.add_argument(
        "--adk-sqlalchemy",
        action="store_true",
        help="measure `adk api_server` on sqlite+aiosqlite as well",
    )
    parser.add_argument(
        "--langgraph",
        action="store_true",
        help="measure LangGraph behind FastAPI as well; its packages are installed for that",
    )
    parser.add_argument(
        "--before",
        metavar="DIR",
        type=Path,
        help="compare with another checkout of oda, whose .venv is ready",
    )
    parser.add_argument(
        "--cv",
        action="store_true",
        help="measure only the resume agent: its rules, and how turns grow with their session",
    )
    parser.add_argument(
        "--recitation",
        action="store_true",
        help="measure only how long it takes to compare a recitation",
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="measure only what a run in a sandbox costs beside plain Python",
    )
    parser.add_argument(
        "--workers",
        action="store_true",
        help="measure only what a second worker adds; needs --pg",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    if arguments.workers and not arguments.pg:
        parser.error("--workers needs --pg URL")
    return arguments


async def _run(arguments: argparse.Namespace, console: Console) -> Run:
    _cancel_on_termination()
    factories: dict[str, TargetFactory] = {"runner": BareRunner, "adk": AdkApiServer}
    if arguments.adk_sqlalchemy:
        factories["adk-sqlalchemy"] = AdkApiServerOnSqlAlchemy
    factories["oda"] = OdaServe
    if arguments.before:
        factories["oda-before"] = before(OdaServe, arguments.before.resolve())
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oda-bench-")))
        if arguments.langgraph:
            console.print("installing LangGraph", style="dim")
            factories["langgraph"] = await langgraph_server(directory / "langgraph")
        if arguments.pg:
            database = await stack.enter_async_context(fresh_database(arguments.pg))
            factories["oda-postgres"] = partial(OdaServeOnPostgres, database=database)
            if arguments.before:
                earlier = await stack.enter_async_context(fresh_database(arguments.pg))
                factories["oda-postgres-before"] = partial(
                    before(OdaServeOnPostgres, arguments.before.resolve()), database=earlier
                )
        return await compare(
            factories,
            QUICK if arguments.quick else FULL,
            directory=directory,
            tell=lambda text: console.print(text, style="dim"),
        )


async def _run_cv() -> list[CvGrowth]:
    _cancel_on_termination()
    with tempfile.TemporaryDirectory(prefix="oda-bench-") as directory:
        return await cv_growth(Path(directory))


async def _run_workers(server_url: str) -> ManyProcesses:
    _cancel_on_termination()
    with tempfile.TemporaryDirectory(prefix="oda-bench-") as directory:
        async with fresh_database(server_url) as database:
            return await many_processes(database, Path(directory))


async def _run_sandbox() -> list[SandboxCost]:
    _cancel_on_termination()
    with tempfile.TemporaryDirectory(prefix="oda-bench-") as directory:
        return await sandbox_costs(Path(directory))


def _cancel_on_termination() -> None:
    """Let a terminated run stop the processes that it has started."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def main() -> int:
    arguments = _arguments()
    progress = Console(stderr=True)
    compile_sources()
    try:
        if arguments.cv:
            return _report_parts([rules_latency(), *uvloop.run(_run_cv())])
        if arguments.recitation:
            return _report_parts([recitation_latency()])
        if arguments.sandbox:
            return _report_parts(uvloop.run(_run_sandbox()))
        if arguments.workers:
            measured = uvloop.run(_run_workers(arguments.pg))
            return _report([measured], measured.goals)
        run = uvloop.run(_run(arguments, progress))
    except (RuntimeError, TimeoutError, TurnFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return _NOT_RUN
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _INTERRUPTED
    goals = goals_of(run)
    if arguments.json:
        arguments.json.write_text(json.dumps(json_of(run, goals), indent=1))
    console = Console(width=_WIDTH)
    console.print(table_of(run))
    for line in (*notes_of(run), *map(str, goals)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0 if all(goal.reached for goal in goals) else _GOAL_MISSED


def _report_parts(
    found: Sequence[RulesLatency | CvGrowth | RecitationLatency | SandboxCost],
) -> int:
    return _report(found, [measured.goal for measured in found])


def _report(found: Sequence[object], goals: Sequence[Goal]) -> int:
    for line in (*found, *goals):
        print(line)
    return 0 if all(goal.reached for goal in goals) else _GOAL_MISSED


if __name__ == "__main__":
    sys.exit(main())
