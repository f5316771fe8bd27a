"""What is to be told of turns by webhooks, until it has arrived."""

import sqlalchemy as sa
from alembic import op

revision = "0102"
down_revision = "0101"


def upgrade() -> None:
    op.create_table(
        "oda_deliveries",
        sa.Column("delivery_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False, comment="JSON, the same in each attempt"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False, comment="Of the last attempt"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "next_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="Of the next attempt; null when there is none",
        ),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "sender", sa.String(length=64), nullable=True, comment="The process that sends it now"
        ),
        sa.ForeignKeyConstraint(["turn_id"], ["oda_turns.turn_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delivery_id"),
    )
    op.create_index("oda_deliveries_turn", "oda_deliveries", ["turn_id"])
    op.create_index("oda_deliveries_age", "oda_deliveries", ["created_at"])
    op.create_index(
        "oda_deliveries_waiting",
        "oda_deliveries",
        ["next_at"],
        sqlite_where=sa.text("next_at IS NOT NULL"),
        postgresql_where=sa.text("next_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_table("oda_deliveries")
