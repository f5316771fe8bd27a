"""The database's clock. Using it avoids comparing the clocks of different machines."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Float, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

from oda.database.schema import UtcDateTime


class DatabaseTime(FunctionElement[datetime]):
    """SQL expression for the database's current time, plus an offset."""

    type = UtcDateTime()
    inherit_cache = True

    def __init__(self, later: timedelta = timedelta(0)) -> None:
        super().__init__(literal(later.total_seconds(), Float))


@compiles(DatabaseTime, "postgresql")
def _postgresql(element: DatabaseTime, compiler: Any, **options: Any) -> str:
    return f"(clock_timestamp() + {compiler.process(element.clauses, **options)} * interval '1s')"


@compiles(DatabaseTime, "sqlite")
def _sqlite(element: DatabaseTime, compiler: Any, **options: Any) -> str:
    # The format in which `DateTime` stores values. SQLite's clock has milliseconds only.
    seconds = compiler.process(element.clauses, **options)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', printf('%+.3f seconds', {seconds}))"
