"""PostgreSQL servers of our own, which a test may kill, start again and promote."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_WITHIN_S = 60


@dataclass(frozen=True)
class Cluster:
    """A server with its data; it listens on 127.0.0.1."""

    directory: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self.directory}"
        log = self.directory / "log"
        _run("pg_ctl", "-D", self.directory, "-w", "-s", "-l", log, "-o", options, "start")

    def kill(self) -> None:
        """Stop it as a crash would: without a word to its clients."""
        _run("pg_ctl", "-D", self.directory, "-w", "-s", "-m", "immediate", "stop")

    def promote(self) -> None:
        """Make a standby accept writes."""
        _run("pg_ctl", "-D", self.directory, "-w", "-s", "promote")

    def standby(self, directory: Path) -> "Cluster":
        """Make a copy that follows this server, which waits for it at each commit from then on."""
        copy = Cluster(directory, _free_port())
        origin = f"host=127.0.0.1 port={self.port} user=postgres application_name=copy"
        _run("pg_basebackup", "-D", directory, "-d", origin, "-R", "-X", "stream", "-c", "fast")
        copy.start()
        _psql(self.port, "ALTER SYSTEM SET synchronous_standby_names = 'copy'")
        _psql(self.port, "SELECT pg_reload_conf()")
        return copy


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    """Start a new server in a temporary directory; at the end, kill it and its standbys."""
    if not _PROGRAMS:
        required = os.environ.get("ODA_TEST_REQUIRE_SERVERS") == "1"
        (pytest.fail if required else pytest.skip)("needs the programs of a PostgreSQL server")
    with TemporaryDirectory(prefix="oda-postgres-") as name:
        directory = Path(name)
        if os.geteuid() == 0:
            directory.chmod(0o777)  # the server refuses to run as root
        cluster = Cluster(directory / "first", _free_port())
        _run("initdb", "-D", cluster.directory, "-U", "postgres", "--auth=trust", "--no-sync")
        cluster.start()
        try:
            yield cluster
        finally:
            for running in directory.glob("*/postmaster.pid"):
                Cluster(running.parent, 0).kill()


def _run(program: str, *arguments: str | Path) -> None:
    own = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    command = [*own, str(_PROGRAMS[-1] / program), *map(str, arguments)]
    # What a server prints must not keep a pipe of ours open.
    subprocess.run(command, check=True, timeout=_WITHIN_S, stdout=subprocess.DEVNULL, cwd="/")


def _psql(port: int, statement: str) -> None:
    _run("psql", "-qw", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-c", statement)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
