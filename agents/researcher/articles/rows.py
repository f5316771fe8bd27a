"""Rows of versions of articles, read and written within a transaction.

A version is one row, whose id follows from its run. An article is named by the id of its first one.
"""

import hashlib
import unicodedata
from datetime import datetime
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, Connection, Row, func, insert, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite

from oda.errors import ConflictError, NotFoundError
from oda.message.storable import storable_text

from .records import Article, File
from .schema import articles, files

_NOT_SHOWN = ("id", "work_id", "owner", "searched", "latest")
SHOWN = [
    articles.c.work_id.label("id"),
    *(column for column in articles.c if column.name not in _NOT_SHOWN),
]
_FILE_SHOWN = (files.c.name, files.c.mime_type, files.c.bytes)
_KEPT = ("id", "owner", "app", "run_id", "created_at", "work_id", "version", "change")
"""Columns that hold from the first time on that a run publishes."""


class Place(TypedDict):
    """The place of a new version."""

    work_id: str
    version: int


def row_id_of(run_id: str) -> str:
    """Return the id of the version that a run makes."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:32]


def is_work(owner: str, article_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for all versions of an article."""
    return articles.c.owner == owner, articles.c.work_id == storable_text(article_id)


def is_version(owner: str, article_id: str, version: int | None) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a version of an article; None is the one that is shown."""
    wanted = articles.c.latest if version is None else articles.c.version == version
    return *is_work(owner, article_id), wanted


def article_where(connection: Connection, *wanted: ColumnElement[bool], named: str = "") -> Article:
    """Return a version with the names of its files.

    Raises:
        NotFoundError: there is none.
    """
    row = connection.execute(select(articles.c.id.label("row_id"), *SHOWN).where(*wanted)).first()
    if row is None:
        raise not_found(named)
    names = select(*_FILE_SHOWN).where(files.c.article_id == row.row_id).order_by(files.c.name)
    found = connection.execute(names).mappings().all()
    return record(row, tuple(File.model_validate(dict(one)) for one in found))


def record(row: Row[Any], of_it: tuple[File, ...] = ()) -> Article:
    """Return a version as it is shown."""
    shown = {name: value for name, value in row._mapping.items() if name != "row_id"}
    return Article(**shown, files=of_it)


def next_version(connection: Connection, owner: str, article_id: str | None, row_id: str) -> Place:
    """Return the place of a version that is to be added; one at a time for each article.

    An article that is no longer there is begun anew.
    """
    if article_id is not None:
        mine = is_work(owner, article_id)
        connection.execute(
            select(articles.c.id).where(*mine, articles.c.version == 1).with_for_update()
        )
        newest = connection.scalar(select(func.max(articles.c.version)).where(*mine))
        if newest is not None:
            return {"work_id": article_id, "version": newest + 1}
    return {"work_id": row_id, "version": 1}


def upsert(connection: Connection, row: dict[str, Any]) -> str:
    """Store a version and return the id of its article.

    Raises:
        ConflictError: its run is another user's.
    """
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(articles).values(**row)
    stored = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["run_id"],
            set_={name: statement.excluded[name] for name in row if name not in _KEPT},
            where=articles.c.owner == statement.excluded.owner,
        ).returning(articles.c.work_id)
    ).first()
    if stored is None:
        raise ConflictError(f"The run {row['run_id']!r} belongs to another user.")
    return str(stored.work_id)


def copy_version(
    connection: Connection,
    wanted: Article,
    *,
    run_id: str,
    session_id: str,
    version: int,
    now: datetime,
) -> str:
    """Store a version of an article as a new one, with its files; return its row's id."""
    row_id = row_id_of(run_id)
    source = connection.scalar(
        select(articles.c.id).where(
            articles.c.work_id == wanted.id, articles.c.version == wanted.version
        )
    )
    changed = {
        "id": row_id,
        "run_id": run_id,
        "session_id": session_id,
        "version": version,
        "created_at": now,
        "finished": True,
        "change": "",
        "restored_from": wanted.version,
    }
    _copy(connection, articles, changed, articles.c.id == source)
    _copy(connection, files, {"article_id": row_id}, files.c.article_id == source)
    return row_id


def show_latest(connection: Connection, work_id: str) -> None:
    """Have lists show the newest version that is finished, or else the newest one."""
    newest = (
        select(articles.c.id)
        .where(articles.c.work_id == work_id)
        .order_by(articles.c.finished.desc(), articles.c.version.desc())
        .limit(1)
    )
    shown = connection.scalar(newest)
    connection.execute(
        update(articles).where(articles.c.work_id == work_id).values(latest=articles.c.id == shown)
    )


def not_found(article_id: str) -> NotFoundError:
    """Return the error about an article that is not there."""
    name = f" {article_id!r}" if article_id else ""
    return NotFoundError(f"There is no article{name}.", remedy="list them first")


def folded(text: str) -> str:
    """Return text as it is searched: databases fold only ASCII, or by their own locale."""
    return unicodedata.normalize("NFKC", storable_text(text)).casefold()


def _copy(
    connection: Connection, table: Any, changed: dict[str, Any], wanted: ColumnElement[bool]
) -> None:
    names = [column.name for column in table.c]
    values = [
        literal(changed[name], table.c[name].type) if name in changed else table.c[name]
        for name in names
    ]
    connection.execute(insert(table).from_select(names, select(*values).where(wanted)))
