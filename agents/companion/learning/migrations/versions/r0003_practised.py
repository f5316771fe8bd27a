"""When a question that went wrong is to be practised again."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "companion_practised",
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column(
            "item", sa.String(length=64), nullable=False, comment="Digest of subject and question"
        ),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("stability", sa.Float(), nullable=False, comment="As fsrs has it, in days"),
        sa.Column("difficulty", sa.Float(), nullable=False, comment="As fsrs has it"),
        sa.Column("due_on", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("reviews", sa.Integer(), nullable=False),
        sa.Column("reviewed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "item"),
    )


def downgrade() -> None:
    op.drop_table("companion_practised")
