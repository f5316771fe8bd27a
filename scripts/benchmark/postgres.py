"""A PostgreSQL database for one run, and the CPU that the server spends on it."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from scripts.benchmark.process import cpu_s


class Database:
    """A database; the CPU of its backends counts if they run on this machine."""

    def __init__(self, url: str, name: str, admin: psycopg.AsyncConnection) -> None:
        self.url = url
        self._name = name
        self._admin = admin
        self._seen: dict[int, float] = {}

    async def cpu_s(self) -> float:
        """CPU seconds of all backends that have been seen at work on this database."""
        cursor = await self._admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s", (self._name,)
        )
        for (pid,) in await cursor.fetchall():
            if _is_postgres(pid):
                self._seen[pid] = cpu_s(pid)
        return sum(self._seen.values())

    async def size(self) -> int:
        """Return the size of the database in bytes."""
        cursor = await self._admin.execute("SELECT pg_database_size(%s)", (self._name,))
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])


@asynccontextmanager
async def fresh_database(server_url: str) -> AsyncIterator[Database]:
    """Create an empty database on the server that the URL names, and drop it at the end."""
    name = f"oda_bench_{uuid.uuid4().hex[:8]}"
    plain_url = server_url.replace("+psycopg", "", 1)
    async with await psycopg.AsyncConnection.connect(plain_url, autocommit=True) as admin:
        await admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            url = urlsplit(plain_url)._replace(scheme="postgresql+psycopg", path=f"/{name}")
            yield Database(url.geturl(), name, admin)
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
            await admin.execute(drop.format(sql.Identifier(name)))


def _is_postgres(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("postgres")
    except OSError:
        return False
