"""Turns, their entries, idempotency keys, tool calls, usage, nodes, API keys, audit."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0001"
down_revision = None

_UNFINISHED = sa.text("status IN ('queued', 'running', 'waiting_input')")
_TABLES = (
    "oda_audit",
    "oda_api_keys",
    "oda_nodes",
    "oda_usage_days",
    "oda_tool_calls",
    "oda_idempotency_keys",
    "oda_turn_entries",
    "oda_turns",
)


def upgrade() -> None:
    op.create_table(
        "oda_api_keys",
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column(
            "digest", sa.String(length=64), nullable=False, comment="HMAC-SHA-256 of the secret"
        ),
        sa.Column("note", sa.String(length=255), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("key_id"),
    )
    op.create_table(
        "oda_audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False, comment="Who acted"),
        sa.Column("user_id", sa.String(length=128), nullable=False, comment="For whom"),
        sa.Column("key_id", sa.String(length=64), nullable=True, comment="With which key"),
        sa.Column(
            "action",
            sa.String(length=256),
            nullable=False,
            comment="Method and route, or a command",
        ),
        sa.Column("target", sa.String(length=512), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False, comment="As of HTTP"),
        sa.Column("trace_id", sa.String(length=64), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("oda_audit_at", "oda_audit", ["at"], unique=False)
    op.create_table(
        "oda_nodes",
        sa.Column("node_id", sa.String(length=64), nullable=False),
        sa.Column(
            "expires_at", UtcDateTime(), nullable=False, comment="Dead after it, unless renewed"
        ),
        sa.PrimaryKeyConstraint("node_id"),
    )
    op.create_table(
        "oda_tool_calls",
        sa.Column("invocation_id", sa.String(length=64), nullable=False, comment="The turn"),
        sa.Column(
            "call_id",
            sa.String(length=255),
            nullable=False,
            comment="Without the counter of repetitions",
        ),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("agent", sa.String(length=256), nullable=False),
        sa.Column("tool", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("idempotent", sa.Boolean(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True, comment="JSON; null while there is none"),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("invocation_id", "call_id"),
    )
    op.create_index(
        "oda_tool_calls_of_session",
        "oda_tool_calls",
        ["app", "user_id", "session_id"],
        unique=False,
    )
    op.create_table(
        "oda_turns",
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column(
            "position",
            sa.BigInteger(),
            nullable=False,
            comment="Order of acceptance in the session",
        ),
        sa.Column(
            "interrupts", sa.Boolean(), nullable=False, comment="Goes before the turns that wait"
        ),
        sa.Column("agent", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("pending_input", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False, comment="The client's own"),
        sa.Column("trace_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column(
            "waiting_since",
            UtcDateTime(),
            nullable=True,
            comment="For a person; null while it does not",
        ),
        sa.Column(
            "input", sa.JSON(), nullable=False, comment="What the next run of the turn is given"
        ),
        sa.Column(
            "owner",
            sa.String(length=64),
            nullable=True,
            comment="The node that runs it; null when none does",
        ),
        sa.Column(
            "begun", sa.Boolean(), nullable=False, comment="Whether `input` may be in the session"
        ),
        sa.Column(
            "recoveries", sa.Integer(), nullable=False, comment="How often a node died with it"
        ),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("turn_id"),
    )
    op.create_index("oda_turns_finished", "oda_turns", ["finished_at"], unique=False)
    op.create_index(
        "oda_turns_of_session",
        "oda_turns",
        ["app", "user_id", "session_id", "position"],
        unique=True,
    )
    op.create_index(
        "oda_turns_unfinished",
        "oda_turns",
        ["status", "user_id"],
        unique=False,
        sqlite_where=_UNFINISHED,
        postgresql_where=_UNFINISHED,
    )
    op.create_table(
        "oda_usage_days",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False, comment="In UTC, as 2026-01-31"),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "day"),
    )
    op.create_table(
        "oda_idempotency_keys",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("route", sa.String(length=512), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["oda_turns.turn_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "route", "key"),
    )
    op.create_index(
        "oda_idempotency_keys_age", "oda_idempotency_keys", ["created_at"], unique=False
    )
    op.create_index("oda_idempotency_keys_turn", "oda_idempotency_keys", ["turn_id"], unique=False)
    op.create_table(
        "oda_turn_entries",
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("data", sa.Text(), nullable=False, comment="JSON, as clients get it"),
        sa.ForeignKeyConstraint(["turn_id"], ["oda_turns.turn_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id", "number"),
        sqlite_with_rowid=False,
    )
    _make_append_only("oda_audit")


def downgrade() -> None:
    for table in _TABLES:
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION oda_append_only")


def _make_append_only(table: str) -> None:
    """Let the database itself refuse to change or delete what is recorded."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION oda_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION oda_append_only()"
    )
