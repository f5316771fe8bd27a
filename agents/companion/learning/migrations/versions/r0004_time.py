"""Time that a child spends with the companion, and the limit that a parent sets."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "companion_limits",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("daily_minutes", sa.Integer(), comment="Null: none"),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "companion_days",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("seconds", sa.Integer(), nullable=False, comment="Time with the companion"),
        sa.Column("last_at", UtcDateTime(), nullable=False, comment="Of the latest message"),
        sa.PrimaryKeyConstraint("user_id", "day"),
    )


def downgrade() -> None:
    for table in ("companion_limits", "companion_days"):
        op.drop_table(table)
