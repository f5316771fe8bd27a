"""The version of its agent with each turn."""

import sqlalchemy as sa
from alembic import op

revision = "0101"
down_revision = "0100"


def upgrade() -> None:
    op.add_column(
        "oda_turns",
        sa.Column(
            "agent_version",
            sa.String(length=64),
            nullable=True,
            comment="Of the app's definition where the turn was accepted",
        ),
    )
    op.add_column(
        "oda_turns",
        sa.Column(
            "pinned",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="Runs only where the app has that version",
        ),
    )


def downgrade() -> None:
    op.drop_column("oda_turns", "pinned")
    op.drop_column("oda_turns", "agent_version")
