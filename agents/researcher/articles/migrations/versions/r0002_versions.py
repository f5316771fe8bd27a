"""Versions of articles: what there was is the first version of itself."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TABLE = "researcher_articles"


def _columns() -> list[sa.Column[Any]]:
    return [
        sa.Column(
            "work_id",
            sa.String(length=64),
            nullable=False,
            server_default="",
            comment="The article: its first version",
        ),
        sa.Column("version", sa.Integer(), nullable=False, server_default="1"),
        sa.Column(
            "latest",
            sa.Boolean(),
            nullable=False,
            server_default=sa.true(),
            comment="Which one is shown",
        ),
        sa.Column("finished", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column(
            "change", sa.Text(), nullable=False, server_default="", comment="What was asked for"
        ),
        sa.Column("restored_from", sa.Integer(), comment="The version that it brings back"),
    ]


def upgrade() -> None:
    for column in _columns():
        op.add_column(_TABLE, column)
    articles = sa.table(_TABLE, sa.column("id"), sa.column("work_id"))
    op.execute(articles.update().values(work_id=articles.c.id))
    op.create_index(f"{_TABLE}_session", _TABLE, ["owner", "session_id", "created_at"])
    op.create_index(f"{_TABLE}_version", _TABLE, ["work_id", "version"], unique=True)


def downgrade() -> None:
    op.execute(f"DELETE FROM {_TABLE} WHERE NOT latest")
    for index in ("version", "session"):
        op.drop_index(f"{_TABLE}_{index}", _TABLE)
    for column in reversed(_columns()):
        op.drop_column(_TABLE, column.name)
