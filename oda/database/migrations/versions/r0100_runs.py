"""A run's number in place of its node's lease; on PostgreSQL new entries wake their readers."""

import sqlalchemy as sa
from alembic import op

revision = "0100"
down_revision = "0004"

_UNFINISHED = sa.text("finished_at IS NULL")
_RENAMED = {"begun": "message_may_be_stored", "owner": "runner"}
_COMMENTS = {
    "oda_turns.message_may_be_stored": "In the session, by a run",
    "oda_turns.run": "Number of its latest run, which alone may write",
    "oda_turns.runner": "The process that runs it; null when none does",
    "oda_turns.job_id": "Of the job that runs it; null without a queue of jobs",
    "oda_turns.recoveries": "How often a process died with it",
    "oda_turn_entries.data": "JSON; null where the session has it",
}
_NOTIFY = """
CREATE FUNCTION oda_notify_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('oda_entries', turn_id || ' ' || max(number)) FROM added GROUP BY turn_id;
    RETURN NULL;
END $$
"""
_TRIGGER = """
CREATE TRIGGER oda_turn_entries_notify AFTER INSERT ON oda_turn_entries
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION oda_notify_readers()
"""


def upgrade() -> None:
    op.drop_index("oda_turns_unfinished", "oda_turns")
    for old, new in _RENAMED.items():
        op.execute(f"ALTER TABLE oda_turns RENAME COLUMN {old} TO {new}")
    op.add_column("oda_turns", sa.Column("run", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("oda_turns", sa.Column("job_id", sa.BigInteger(), nullable=True))
    _create_partial("oda_turns_unfinished", ["status"])
    _create_partial("oda_turns_unfinished_of_user", ["user_id"])
    op.drop_table("oda_nodes")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_NOTIFY)
        op.execute(_TRIGGER)
        for column, comment in _COMMENTS.items():
            op.execute(f"COMMENT ON COLUMN {column} IS '{comment}'")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER oda_turn_entries_notify ON oda_turn_entries")
        op.execute("DROP FUNCTION oda_notify_readers()")
    op.create_table(
        "oda_nodes",
        sa.Column("node_id", sa.String(length=64), primary_key=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.drop_index("oda_turns_unfinished_of_user", "oda_turns")
    op.drop_index("oda_turns_unfinished", "oda_turns")
    op.drop_column("oda_turns", "job_id")
    op.drop_column("oda_turns", "run")
    for old, new in _RENAMED.items():
        op.execute(f"ALTER TABLE oda_turns RENAME COLUMN {new} TO {old}")
    _create_partial("oda_turns_unfinished", ["status", "owner"])


def _create_partial(name: str, columns: list[str]) -> None:
    op.create_index(
        name, "oda_turns", columns, sqlite_where=_UNFINISHED, postgresql_where=_UNFINISHED
    )
