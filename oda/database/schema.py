"""ODA's own tables; the session tables in the same database are ADK's.

A change here needs a revision in `migrations/versions`; a test compares the two.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
    text,
)

REVISION = "0102"
"""The newest revision of the schema; see `Schema.revision`."""

_Name = String(128)
"""Has the length of ADK's corresponding columns."""
_Id = String(64)


class UtcDateTime(TypeDecorator[datetime]):
    """A UTC time, also in databases that store no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()


def _where(condition: str) -> dict[str, Any]:
    """Return the options of a partial index.

    SQLite uses the index only for queries with the same condition, without parameters.
    """
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


turns = Table(
    "oda_turns",
    metadata,
    Column("turn_id", _Id, primary_key=True),
    Column("app", _Name, nullable=False),
    Column("user_id", _Name, nullable=False),
    Column("session_id", _Name, nullable=False),
    Column("position", BigInteger, nullable=False, comment="Order of acceptance in the session"),
    Column("interrupts", Boolean, nullable=False, comment="Goes before the turns that wait"),
    Column("agent", String(256), nullable=False),
    Column("agent_version", _Id, comment="Of the app's definition where the turn was accepted"),
    Column(
        "pinned",
        Boolean,
        nullable=False,
        server_default=false(),
        comment="Runs only where the app has that version",
    ),
    Column("status", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reply", Text, nullable=False),
    Column("error", JSON),
    Column("model_calls", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float),
    Column("pending_input", JSON, nullable=False),
    Column("metadata", JSON, nullable=False, comment="The client's own"),
    Column("trace_id", _Id),
    Column("created_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("waiting_since", UtcDateTime, comment="For a person; null while it does not"),
    Column("input", JSON, nullable=False, comment="What the next run of the turn is given"),
    Column("message_may_be_stored", Boolean, nullable=False, comment="In the session, by a run"),
    Column(
        "run",
        Integer,
        nullable=False,
        server_default="0",
        comment="Number of its latest run, which alone may write",
    ),
    Column("runner", _Id, comment="The process that runs it; null when none does"),
    Column("job_id", BigInteger, comment="Of the job that runs it; null without a queue of jobs"),
    Column("recoveries", Integer, nullable=False, comment="How often a process died with it"),
    Column("cancel_requested", Boolean, nullable=False),
    Index("oda_turns_of_session", "app", "user_id", "session_id", "position", unique=True),
    Index("oda_turns_finished", "finished_at", **_where("finished_at IS NOT NULL")),
    Index("oda_turns_unfinished", "status", **_where("finished_at IS NULL")),
    Index("oda_turns_unfinished_of_user", "user_id", **_where("finished_at IS NULL")),
    Index(
        "oda_turns_unfinished_of_session",
        "app",
        "user_id",
        "session_id",
        **_where("finished_at IS NULL"),
    ),
)

turn_entries = Table(
    "oda_turn_entries",
    metadata,
    Column(
        "turn_id",
        _Id,
        ForeignKey("oda_turns.turn_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("event_id", _Name, comment="Of the session's event that it shows"),
    Column("data", Text, comment="JSON; null where the session has it"),
    sqlite_with_rowid=False,
)

idempotency_keys = Table(
    "oda_idempotency_keys",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("route", String(512), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("body_hash", _Id, nullable=False),
    Column("turn_id", _Id, ForeignKey("oda_turns.turn_id", ondelete="CASCADE"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("oda_idempotency_keys_turn", "turn_id"),
    Index("oda_idempotency_keys_age", "created_at"),
)

tool_calls = Table(
    "oda_tool_calls",
    metadata,
    Column("invocation_id", _Id, primary_key=True, comment="The turn"),
    Column("call_id", String(255), primary_key=True, comment="Without the counter of repetitions"),
    Column("app", _Name, nullable=False),
    Column("user_id", _Name, nullable=False),
    Column("session_id", _Name, nullable=False),
    Column("agent", String(256), nullable=False),
    Column("tool", String(256), nullable=False),
    Column("status", String(16), nullable=False),
    Column("idempotent", Boolean, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("result", Text, comment="JSON; null while there is none"),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Index("oda_tool_calls_of_session", "app", "user_id", "session_id"),
    Index("oda_tool_calls_age", "started_at"),
)

deliveries = Table(
    "oda_deliveries",
    metadata,
    Column("delivery_id", _Id, primary_key=True),
    Column("turn_id", _Id, ForeignKey("oda_turns.turn_id", ondelete="CASCADE"), nullable=False),
    Column("type", String(32), nullable=False),
    Column("url", Text, nullable=False),
    Column("body", Text, nullable=False, comment="JSON, the same in each attempt"),
    Column("attempts", Integer, nullable=False),
    Column("problem", Text, nullable=False, comment="Of the last attempt"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_at", UtcDateTime, comment="Of the next attempt; null when there is none"),
    Column("delivered_at", UtcDateTime),
    Column("sender", _Id, comment="The process that sends it now"),
    Index("oda_deliveries_turn", "turn_id"),
    Index("oda_deliveries_age", "created_at"),
    Index("oda_deliveries_waiting", "next_at", **_where("next_at IS NOT NULL")),
)
"""Webhooks about turns, until these are forgotten."""

usage_days = Table(
    "oda_usage_days",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("day", String(10), primary_key=True, comment="In UTC, as 2026-01-31"),
    Column("turns", Integer, nullable=False),
    Column("model_calls", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float, nullable=False),
)

kept_totals = Table(
    "oda_kept_totals",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("bytes", BigInteger, nullable=False, comment="Of all items"),
    Column("sessions", Integer, nullable=False),
)

kept_items = Table(
    "oda_kept_items",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("app", _Name, primary_key=True),
    Column("session_id", _Name, primary_key=True, comment="Empty: the user's own artifacts"),
    Column("item", _Id, primary_key=True, comment="Empty: messages and state; else an artifact"),
    Column("bytes", BigInteger, nullable=False),
)

probes = Table(
    "oda_probes",
    metadata,
    Column("probe_id", _Id, primary_key=True),
    Column("filling", Text, nullable=False),
)
"""Rows written and deleted to check that the database accepts writes."""

api_keys = Table(
    "oda_api_keys",
    metadata,
    Column("key_id", _Id, primary_key=True),
    Column("user_id", _Name, nullable=False),
    Column("scope", String(16), nullable=False),
    Column("digest", _Id, nullable=False, comment="HMAC-SHA-256 of the secret"),
    Column("note", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
)

audit = Table(
    "oda_audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("actor", _Name, nullable=False, comment="Who acted"),
    Column("user_id", _Name, nullable=False, comment="For whom"),
    Column("key_id", _Id, comment="With which key"),
    Column("action", String(256), nullable=False, comment="Method and route, or a command"),
    Column("target", String(512), nullable=False),
    Column("status", Integer, nullable=False, comment="As of HTTP"),
    Column("trace_id", _Id),
    Column("detail", JSON, nullable=False),
    Index("oda_audit_at", "at"),
)
"""Append-only: triggers of the first revision refuse updates and deletions."""
