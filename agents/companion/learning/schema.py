"""The tables of what a child is to learn and has learnt, and of what worries about it.

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

from oda import ApplicationDatabase, Schema
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

concerns = Table(
    "companion_concerns",
    metadata,
    Column("id", _Id, primary_key=True, comment="Of the call that has saved it"),
    Column("user_id", _Name, nullable=False),
    Column("session_id", _Name),
    Column("day", Date, nullable=False, comment="The user's"),
    Column("category", String(64), nullable=False),
    Column("severity", String(16), nullable=False),
    Column("saved_at", UtcDateTime, nullable=False),
    Index("companion_concerns_user", "user_id", "day"),
)

practised = Table(
    "companion_practised",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("item", _Id, primary_key=True, comment="Digest of subject and question"),
    Column("subject", String(64), nullable=False),
    Column("question", Text, nullable=False),
    Column("stability", Float, nullable=False, comment="As fsrs has it, in days"),
    Column("difficulty", Float, nullable=False, comment="As fsrs has it"),
    Column("due_on", Date, nullable=False, comment="The user's"),
    Column("reviews", Integer, nullable=False),
    Column("reviewed_at", UtcDateTime, nullable=False),
)

limits = Table(
    "companion_limits",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("daily_minutes", Integer, comment="Null: none"),
    Column("updated_at", UtcDateTime, nullable=False),
)

days = Table(
    "companion_days",
    metadata,
    Column("user_id", _Name, primary_key=True),
    Column("day", Date, primary_key=True, comment="The user's"),
    Column("seconds", Integer, nullable=False, comment="Time with the companion"),
    Column("last_at", UtcDateTime, nullable=False, comment="Of the latest message"),
)

notices = Table(
    "companion_notices",
    metadata,
    Column("id", _Id, primary_key=True, comment="Digest of concern, parent and channel"),
    Column("concern_id", _Id, nullable=False),
    Column("user_id", _Name, nullable=False, comment="The child"),
    Column("parent_id", _Name, nullable=False),
    Column("channel", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", UtcDateTime, nullable=False, comment="Of the next attempt"),
    Column("problem", String(200), nullable=False, comment="Of the latest attempt"),
    Column("created_at", UtcDateTime, nullable=False),
    Index("companion_notices_status", "status", "next_at"),
    Index("companion_notices_concern", "concern_id"),
)

LEARNING_SCHEMA = Schema(
    metadata=metadata,
    migrations=Path(__file__).parent / "migrations",
    revision="0005",
    version_table="companion_schema_version",
)

learning_database = ApplicationDatabase(LEARNING_SCHEMA)
