"""Command line of the simulation."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import uvloop

from scripts.benchmark.target import REPOSITORY, TurnFailed
from scripts.scaling.measured import Measured, measured
from scripts.scaling.model import Load, most_turns_per_s, parts

_DOCUMENT = REPOSITORY / "docs" / "scaling.md"
_BEGIN, _END = "<!-- simulation: begin -->\n", "<!-- simulation: end -->\n"
_NOT_RUN = 2
_TERABYTE = 1e12


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/simulate_scale",
        description="Measure what a turn costs on a filled database, and compute which part of an "
        "installation of many processes gives way first.",
    )
    parser.add_argument(
        "--pg", metavar="URL", required=True, help="a PostgreSQL server on this machine"
    )
    parser.add_argument("--filled", type=int, default=1_000_000, help="sessions to fill it with")
    parser.add_argument("--processes", type=int, default=100, help="by default %(default)s")
    parser.add_argument("--sessions", type=int, default=1_000_000, help="by default %(default)s")
    parser.add_argument(
        "--turns", type=float, default=10.0, help="of a session in a day; by default %(default)s"
    )
    parser.add_argument(
        "--peak", type=float, default=4.0, help="beside an average minute; by default %(default)s"
    )
    parser.add_argument("--retention-days", type=int, default=30, help="by default %(default)s")
    parser.add_argument("--cores", type=int, default=16, help="of the database's machine")
    parser.add_argument("--max-connections", type=int, default=500)
    parser.add_argument("--disk-tb", type=float, default=4.0)
    parser.add_argument("--write", action="store_true", help="put the result into docs/scaling.md")
    return parser.parse_args()


def _lines(found: Measured, load: Load) -> Iterator[str]:
    costs, all_parts = found.costs, parts(found.costs, load)
    yield f"`{shlex.join(['scripts/simulate_scale', *sys.argv[1:]])}`"
    yield ""
    yield f"| measured | empty database | {found.sessions:,} sessions |"
    yield "|---|---|---|"
    for name, factor, unit in (
        ("process_cpu_s", 1000, "CPU of a turn in the process, ms"),
        ("database_cpu_s", 1000, "CPU of a turn in PostgreSQL, ms"),
        ("notifications", 1, "notifications of a turn"),
        ("bytes_stored", 1 / 1024, "kept of a turn, KiB"),
    ):
        empty, filled = (factor * getattr(one, name) for one in (found.empty, found.filled))
        yield f"| {unit} | {empty:.1f} | {filled:.1f} |"
    yield f"| CPU of hearing a notification, ms | | {1000 * costs.heard_cpu_s:.3f} |"
    yield f"| CPU of sending it to one process, ms | | {1000 * costs.sent_cpu_s:.3f} |"
    yield f"| commits per second that notify | | {costs.commits_per_s:.0f} |"
    yield f"| fetching a job of {costs.waiting:,}, ms | | {1000 * costs.fetch_s:.1f} |"
    yield f"| old turns deleted per second | | {costs.deleted_per_s:.0f} |"
    yield ""
    yield (
        f"{load.processes} processes, {load.sessions:,} sessions with {load.turns_per_day:g} turns "
        f"a day each: {load.turns_per_s:.0f} turns per second in the busiest minute. PostgreSQL on "
        f"{load.database_cores} cores, {load.max_connections} connections, "
        f"{load.disk_bytes / _TERABYTE:g} TB."
    )
    yield ""
    yield "| part | taken | gives way at | then |"
    yield "|---|---|---|---|"
    for part in all_parts:
        most = most_turns_per_s(part, load)
        limit = "" if most is None else f"{most:,.0f} turns/s"
        yield f"| {part.name} | {part.share:.0%} | {limit} | {part.then} |"


def _write(section: str) -> None:
    head, begin, rest = _DOCUMENT.read_text().partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    _DOCUMENT.write_text(f"{head}{begin}{section}{end}{tail}")


def main() -> int:
    arguments = _arguments()
    load = Load(
        processes=arguments.processes,
        sessions=arguments.sessions,
        turns_per_day=arguments.turns,
        peak=arguments.peak,
        retention_days=arguments.retention_days,
        database_cores=arguments.cores,
        max_connections=arguments.max_connections,
        disk_bytes=arguments.disk_tb * _TERABYTE,
    )

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="oda-scale-") as directory:
        try:
            found = uvloop.run(
                measured(arguments.pg, Path(directory), sessions=arguments.filled, tell=tell)
            )
        except (RuntimeError, TimeoutError, TurnFailed) as error:
            print(f"error: {error}", file=sys.stderr)
            return _NOT_RUN
    section = "\n".join(_lines(found, load)) + "\n"
    print(section)
    if arguments.write:
        _write(section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
