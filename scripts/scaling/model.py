"""What a load asks of each part of the system, and which part gives way first."""

from collections.abc import Sequence
from dataclasses import dataclass

_DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of the parts, measured on one machine."""

    process_cpu_s: float
    """CPU that a turn takes in our processes, together."""
    database_cpu_s: float
    """CPU that a turn takes in PostgreSQL."""
    commits: float
    """Transactions of a turn that notify; PostgreSQL commits them one after the other."""
    commits_per_s: float
    """How many such transactions the database commits in a second."""
    notifications: float
    """Notifications of a turn."""
    heard_cpu_s: float
    """CPU that a process takes to hear a notification that is not for it."""
    sent_cpu_s: float
    """CPU that PostgreSQL takes to send a notification to one process."""
    bytes_stored: float
    """What a turn leaves in the database, with its indexes."""
    deleted_per_s: float
    """Turns older than the retention that the sweep deletes in a second."""
    fetch_s: float
    """Time to fetch a job while `waiting` wait."""
    waiting: int
    connections: int
    """Connections of a process."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """The size of an installation."""

    processes: int
    sessions: int
    turns_per_day: float
    """Of a session."""
    peak: float
    """Turns of the busiest minute, beside those of an average one."""
    retention_days: int
    database_cores: int
    max_connections: int
    disk_bytes: float

    @property
    def turns_per_s(self) -> float:
        """Turns of all sessions in a second of the busiest minute."""
        return self.average * self.peak

    @property
    def average(self) -> float:
        return self.sessions * self.turns_per_day / _DAY_S


@dataclass(frozen=True)
class Part:
    """A part of the system, and how much of it a load takes."""

    name: str
    share: float
    """Of what it can do; above 1 it gives way."""
    then: str
    """What to do before it does."""
    grows_with_turns: bool = True


def parts(costs: Costs, load: Load) -> Sequence[Part]:
    """Return all parts, the one that gives way first at the head."""
    per_s, processes = load.turns_per_s, load.processes
    sends_cpu_s = costs.notifications * costs.sent_cpu_s * processes
    found = [
        Part(
            "a process: its share of the turns",
            per_s * costs.process_cpu_s / processes,
            "more processes",
        ),
        Part(
            "a process: hearing the notifications of all turns",
            per_s * costs.notifications * costs.heard_cpu_s,
            "sessions divided among several installations, each with a database of its own",
        ),
        Part(
            "the database: CPU of the turns",
            per_s * costs.database_cpu_s / load.database_cores,
            "more cores; then sessions divided among databases",
        ),
        Part(
            "the database: CPU of sending notifications to all processes",
            per_s * sends_cpu_s / load.database_cores,
            "fewer, larger processes; then sessions divided among databases",
        ),
        Part(
            "the database: commits that notify, one at a time",
            per_s * costs.commits / costs.commits_per_s,
            "faster storage for the write-ahead log; then sessions divided among databases",
        ),
        Part(
            f"the queue: fetching a job while {costs.waiting:,} wait",
            per_s * costs.fetch_s / load.database_cores,
            "more workers, so that fewer jobs wait",
        ),
        Part(
            "the database: deleting what is older than the retention",
            load.average / costs.deleted_per_s,
            "tables of turns and entries partitioned by month, so that a month is dropped at once",
        ),
        Part(
            "the disk: what is kept",
            load.average * _DAY_S * load.retention_days * costs.bytes_stored / load.disk_bytes,
            "a shorter ODA_TURN__RETENTION_DAYS, partitions on other disks",
        ),
        Part(
            "the database: connections without a pooler",
            processes * costs.connections / load.max_connections,
            "PgBouncer in transaction mode, with ODA_LISTEN_URL past it",
            grows_with_turns=False,
        ),
    ]
    return sorted(found, key=lambda part: part.share, reverse=True)


def most_turns_per_s(part: Part, load: Load) -> float | None:
    """Return the peak at which a part gives way; None if it does not depend on the turns."""
    return load.turns_per_s / part.share if part.grows_with_turns and part.share else None
