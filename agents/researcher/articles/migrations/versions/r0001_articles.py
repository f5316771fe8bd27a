"""Articles and their files."""

import sqlalchemy as sa
from alembic import op

from oda.database.schema import UtcDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "researcher_articles",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False, comment="The user"),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.String(length=128), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("template", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=35), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False, comment="Title and summary, folded"),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id"),
    )
    op.create_index(
        "researcher_articles_owner", "researcher_articles", ["owner", "created_at", "id"]
    )
    op.create_table(
        "researcher_article_files",
        sa.Column("article_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("mime_type", sa.String(length=127), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["researcher_articles.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("article_id", "name"),
    )


def downgrade() -> None:
    for table in ("researcher_article_files", "researcher_articles"):
        op.drop_table(table)
