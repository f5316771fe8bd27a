"""What a child has said that needs a grown-up."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "companion_concerns",
        sa.Column(
            "id", sa.String(length=64), nullable=False, comment="Of the call that has saved it"
        ),
        sa.Column("user_id", sa.String(length=128), nullable=False),
        sa.Column("session_id", sa.String(length=128)),
        sa.Column("day", sa.Date(), nullable=False, comment="The user's"),
        sa.Column("category", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("companion_concerns_user", "companion_concerns", ["user_id", "day"])


def downgrade() -> None:
    op.drop_table("companion_concerns")
