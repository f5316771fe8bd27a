"""The tables of what a child is to learn and has learnt.

A change here needs a revision in `migrations/versions`; a test compares the two.
"""

from pathlib import Path

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Date,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from oda import Schema
from oda.database.schema import UtcDateTime

_Name = String(128)
_Id = String(64)
_Title = String(200)

metadata = MetaData()

schedules = Table(
    "companion_schedules",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("day", Date, primary_key=True, comment="The user's"),
    Column("items", JSON, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

recitations = Table(
    "companion_recitations",
    metadata,
    Column("id", _Id, primary_key=True, comment="Of the call that has saved it"),
    Column("user_id", _Name, nullable=False),
    Column("day", Date, nullable=False, comment="The user's"),
    Column("title", _Title, nullable=False),
    Column("score", Float, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("round", Integer, nullable=False),
    Column("errors", JSON, nullable=False),
    Column("saved_at", UtcDateTime, nullable=False),
    Index("companion_recitations_user", "user_id", "day"),
)

answers = Table(
    "companion_answers",
    metadata,
    Column("id", _Id, primary_key=True, comment="Of the call that has saved it"),
    Column("number", Integer, primary_key=True, comment="Of the item in that call"),
    Column("user_id", _Name, nullable=False),
    Column("session_id", _Name),
    Column("day", Date, nullable=False, comment="The user's"),
    Column("subject", String(64), nullable=False),
    Column("topic", String(64), nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("correct", Boolean, comment="Null where nobody could tell"),
    Column("saved_at", UtcDateTime, nullable=False),
    Index("companion_answers_user", "user_id", "day"),
)

LEARNING_SCHEMA = Schema(
    metadata=metadata,
    migrations=Path(__file__).parent / "migrations",
    revision="0001",
    version_table="companion_schema_version",
)
