"""The tables of published articles: a row for each version, which has its files.

A change here needs a revision in `migrations/versions`; a test compares the two.
"""

from pathlib import Path

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    true,
)

from oda import Schema
from oda.database.schema import UtcDateTime

_Name = String(128)
_Id = String(64)

metadata = MetaData()

articles = Table(
    "researcher_articles",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("owner", _Name, nullable=False, comment="The user"),
    Column("app", _Name, nullable=False),
    Column("run_id", _Name, nullable=False, unique=True),
    Column("session_id", _Name, nullable=False),
    Column("template", String(64), nullable=False),
    Column("title", String(200), nullable=False),
    Column("summary", Text, nullable=False),
    Column("language", String(35), nullable=False),
    Column("searched", Text, nullable=False, comment="Title and summary, folded"),
    Column("created_at", UtcDateTime, nullable=False),
    Column(
        "work_id", _Id, nullable=False, server_default="", comment="The article: its first version"
    ),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("latest", Boolean, nullable=False, server_default=true(), comment="Which one is shown"),
    Column("finished", Boolean, nullable=False, server_default=true()),
    Column("change", Text, nullable=False, server_default="", comment="What was asked for"),
    Column("restored_from", Integer, comment="The version that it brings back"),
    Index("researcher_articles_owner", "owner", "created_at", "id"),
    Index("researcher_articles_session", "owner", "session_id", "created_at"),
    Index("researcher_articles_version", "work_id", "version", unique=True),
)

files = Table(
    "researcher_article_files",
    metadata,
    Column(
        "article_id",
        _Id,
        ForeignKey("researcher_articles.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("name", String(255), primary_key=True),
    Column("mime_type", String(127), nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

ARTICLE_SCHEMA = Schema(
    metadata=metadata,
    migrations=Path(__file__).parent / "migrations",
    revision="0002",
    version_table="researcher_schema_version",
)
