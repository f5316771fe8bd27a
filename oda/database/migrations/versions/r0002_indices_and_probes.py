"""Indices by which unfinished turns, old turns and old tool calls are found; probes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_STATUS_UNFINISHED = "status IN ('queued', 'running', 'waiting_input')"


def upgrade() -> None:
    op.create_table(
        "oda_probes",
        sa.Column("probe_id", sa.String(length=64), nullable=False),
        sa.Column("filling", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("probe_id"),
    )
    op.drop_index("oda_turns_unfinished", "oda_turns")
    op.drop_index("oda_turns_finished", "oda_turns")
    _create_partial("oda_turns_finished", ["finished_at"], "finished_at IS NOT NULL")
    _create_partial("oda_turns_unfinished", ["status", "owner"], "finished_at IS NULL")
    _create_partial(
        "oda_turns_unfinished_of_session", ["app", "user_id", "session_id"], "finished_at IS NULL"
    )
    op.create_index("oda_tool_calls_age", "oda_tool_calls", ["started_at"])


def downgrade() -> None:
    op.drop_index("oda_tool_calls_age", "oda_tool_calls")
    op.drop_index("oda_turns_unfinished_of_session", "oda_turns")
    op.drop_index("oda_turns_unfinished", "oda_turns")
    op.drop_index("oda_turns_finished", "oda_turns")
    op.create_index("oda_turns_finished", "oda_turns", ["finished_at"])
    _create_partial("oda_turns_unfinished", ["status", "user_id"], _STATUS_UNFINISHED)
    op.drop_table("oda_probes")


def _create_partial(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "oda_turns", columns, sqlite_where=where, postgresql_where=where)
