"""How much each user keeps, in all and of each session and artifact."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "oda_kept_totals",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False, comment="Of all items"),
        sa.Column("sessions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "oda_kept_items",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column(
            "session_id",
            sa.String(length=128),
            nullable=False,
            comment="Empty: the user's own artifacts",
        ),
        sa.Column(
            "item",
            sa.String(length=64),
            nullable=False,
            comment="Empty: messages and state; else an artifact",
        ),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "app", "session_id", "item"),
    )


def downgrade() -> None:
    op.drop_table("oda_kept_items")
    op.drop_table("oda_kept_totals")
