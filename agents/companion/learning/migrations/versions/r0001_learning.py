"""Schedules, recitations, answers to homework."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "companion_schedules",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "day"),
    )
    op.create_table(
        "companion_recitations",
        sa.Column(
            "id", sa.String(length=64), nullable=False, comment="Of the call that has saved it"
        ),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("errors", sa.JSON(), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("companion_recitations_user", "companion_recitations", ["user_id", "day"])
    op.create_table(
        "companion_answers",
        sa.Column(
            "id", sa.String(length=64), nullable=False, comment="Of the call that has saved it"
        ),
        sa.Column("number", sa.Integer(), nullable=False, comment="Of the item in that call"),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("session_id", sa.String(length=128)),
        sa.Column("day", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("topic", sa.String(length=64), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("correct", sa.Boolean(), comment="Null where nobody could tell"),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", "number"),
    )
    op.create_index("companion_answers_user", "companion_answers", ["user_id", "day"])


def downgrade() -> None:
    for table in ("companion_answers", "companion_recitations", "companion_schedules"):
        op.drop_table(table)
