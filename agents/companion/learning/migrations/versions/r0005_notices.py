"""Which parents are to be told of a concern, and whether they have been."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "companion_notices",
        sa.Column(
            "id",
            sa.String(length=64),
            nullable=False,
            comment="Digest of concern, parent and channel",
        ),
        sa.Column("concern_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=128), nullable=False, comment="The child"),
        sa.Column("parent_id", sa.String(length=128), nullable=False),
        sa.Column("channel", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", UtcDateTime(), nullable=False, comment="Of the next attempt"),
        sa.Column(
            "problem", sa.String(length=200), nullable=False, comment="Of the latest attempt"
        ),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("companion_notices_status", "companion_notices", ["status", "next_at"])
    op.create_index("companion_notices_concern", "companion_notices", ["concern_id"])


def downgrade() -> None:
    op.drop_table("companion_notices")
