"""An entry of a log refers to the event that its session keeps, instead of repeating it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_DATA = "JSON, as clients get it; null where the session has it"


def upgrade() -> None:
    # SQLite cannot drop a NOT NULL: alembic makes the table anew.
    with op.batch_alter_table("oda_turn_entries", table_kwargs={"sqlite_with_rowid": False}) as it:
        it.add_column(
            sa.Column(
                "event_id",
                sa.String(length=128),
                nullable=True,
                comment="Of the session's event that it shows",
            )
        )
        it.alter_column(
            "data",
            existing_type=sa.Text(),
            nullable=True,
            comment=_DATA,
            existing_comment="JSON, as clients get it",
        )


def downgrade() -> None:
    """Entries that only refer are lost; the session keeps their events."""
    op.execute(sa.text("DELETE FROM oda_turn_entries WHERE data IS NULL"))
    with op.batch_alter_table("oda_turn_entries", table_kwargs={"sqlite_with_rowid": False}) as it:
        it.drop_column("event_id")
        it.alter_column(
            "data",
            existing_type=sa.Text(),
            nullable=False,
            comment="JSON, as clients get it",
            existing_comment=_DATA,
        )
