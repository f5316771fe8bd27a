"""`oda db`: the schema of the database, and how much is in it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from rich.console import Console
from sqlalchemy import Connection, Engine, func, inspect, select, table

from oda.cli.exit_code import ExitCode
from oda.cli.terminal import load_settings
from oda.database.database import open_database
from oda.database.engine import is_postgres, shown
from oda.database.migrate import current_revision, upgrade
from oda.database.postgres import unhurried
from oda.database.schema import REVISION, metadata, turns


@dataclass(frozen=True)
class _Status:
    database: str
    revision: str | None
    """None when the database has no tables of ours."""
    known_revision: str
    rows: Mapping[str, int]
    turns: Mapping[str, int]
    """Number of turns by status."""


def upgrade_database(*, as_json: bool) -> ExitCode:
    """Bring the database to this version's revision, and print the revisions before and after.

    Raises:
        ConfigurationError: the database belongs to a newer version of `oda`.
        UnavailableError: it cannot be reached.
    """
    before, after = asyncio.run(_upgrade())
    if as_json:
        print(json.dumps({"before": before, "after": after}))
    elif before == after:
        print(f"the database is at revision {after} already")
    else:
        print(f"the database was at {_named(before)}, and is at {_named(after)} now")
    return ExitCode.OK


def show_status(*, as_json: bool) -> ExitCode:
    """Print the revisions and the sizes; `FAILED` when the database needs an upgrade.

    Raises:
        UnavailableError: the database cannot be reached.
    """
    status = asyncio.run(_status())
    if as_json:
        print(json.dumps(asdict(status), indent=2))
    else:
        _print_status(status)
    return ExitCode.OK if status.revision == status.known_revision else ExitCode.FAILED


async def _upgrade() -> tuple[str | None, str | None]:
    async with open_database(load_settings(agents_dir=None).resolved_database_url) as database:
        with database.reaching():
            before = await current_revision(database.engine)
            await upgrade(database.engine)
            if is_postgres(database.url):
                from oda.turn.queue_schema import install

                await asyncio.to_thread(install, database.engine)
            return before, await current_revision(database.engine)


async def _status() -> _Status:
    async with open_database(load_settings(agents_dir=None).resolved_database_url) as database:
        with database.reaching():
            rows = await rows_by_table(database.engine)
            return _Status(
                database=shown(database.url),
                revision=await current_revision(database.engine),
                known_revision=REVISION,
                rows=rows,
                turns=await turns_by_status(database.engine) if turns.name in rows else {},
            )


def _print_status(status: _Status) -> None:
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"{status.database} is at {_named(status.revision)}")
    if status.revision != status.known_revision:
        console.print(
            f"this version of oda knows revision {status.known_revision}: run `oda db upgrade`",
            style="red",
        )
    widest = max(map(len, status.rows), default=0)
    for name, count in status.rows.items():
        by_status = ", ".join(f"{count} {status}" for status, count in status.turns.items())
        detail = f"  ({by_status})" if name == turns.name and by_status else ""
        console.print(f"{name:<{widest}}  {count:>8}{detail}")


def _named(revision: str | None) -> str:
    return f"revision {revision}" if revision is not None else "no revision"


_OF_ADK = ("sessions", "events")


T = TypeVar("T")


async def rows_by_table(engine: Engine) -> Mapping[str, int]:
    """Return the number of rows of each existing ODA and ADK table, by name."""
    return await asyncio.to_thread(_run_count, engine, _rows_by_table)


async def turns_by_status(engine: Engine) -> Mapping[str, int]:
    """Return the number of turns by status; the table must exist."""
    return await asyncio.to_thread(_run_count, engine, _turns_by_status)


def _run_count(engine: Engine, count: Callable[[Connection], T]) -> T:
    with unhurried(engine) as connection:
        return count(connection)


def _turns_by_status(connection: Connection) -> dict[str, int]:
    count = func.count().label("turns")
    query = select(turns.c.status, count).group_by(turns.c.status).order_by(turns.c.status)
    return {row.status: row.turns for row in connection.execute(query)}


def _rows_by_table(connection: Connection) -> dict[str, int]:
    existing = set(inspect(connection).get_table_names())
    return {
        name: connection.scalar(select(func.count()).select_from(table(name))) or 0
        for name in (*metadata.tables, *_OF_ADK)
        if name in existing
    }
