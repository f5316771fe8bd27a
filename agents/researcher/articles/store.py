"""Published articles in SQL, each with its files.

A run has one article: publishing it again, after a crash for example, replaces what was there.
"""

import base64
import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from oda import ApplicationDatabase
from oda.errors import ConflictError, InvalidRequestError, NotFoundError
from oda.message.storable import storable_text

from .records import Article, ArticlePage, Content, Draft, File
from .schema import ARTICLE_SCHEMA, articles, files

_LONGEST_QUERY = 200
_SHOWN = [column for column in articles.c if column.name not in ("owner", "searched")]
_FILE_SHOWN = (files.c.name, files.c.mime_type, files.c.bytes)


class ArticleStore:
    """The articles of all users; everyone sees their own only.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def save(
        self, owner: str, draft: Draft, contents: Sequence[Content], now: datetime
    ) -> Article:
        """Publish an article with its files, in place of an earlier one of the same run.

        Raises:
            ConflictError: the run is another user's.
        """
        article_id = hashlib.sha256(draft.run.run_id.encode()).hexdigest()[:32]
        row = {
            "id": article_id,
            "owner": owner,
            "app": draft.run.app,
            "run_id": draft.run.run_id,
            "session_id": draft.run.session_id,
            "template": draft.template,
            "title": storable_text(draft.title),
            "summary": storable_text(draft.summary),
            "language": draft.language,
            "searched": _folded(f"{draft.title}\n{draft.summary}"),
            "created_at": now,
        }

        def publish(connection: Connection) -> Article:
            _upsert(connection, row)
            connection.execute(delete(files).where(files.c.article_id == article_id))
            for one in contents:
                connection.execute(insert(files), [_file_row(article_id, one)])
            return _article(connection, owner, article_id)

        return await self._database.write(publish)

    async def list(
        self,
        owner: str,
        *,
        query: str = "",
        template: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ArticlePage:
        """A user's articles without their files, the newest first.

        Args:
            owner: The user.
            query: Words that stand in title or summary, all of them, in any case.
            template: The only template wanted.
            limit: Most articles of a page.
            cursor: `next_cursor` of the page before.

        Raises:
            InvalidRequestError: the query is too long, or the cursor was not given out.
        """
        if len(query) > _LONGEST_QUERY:
            raise InvalidRequestError(
                "The query is too long.", remedy=f"use at most {_LONGEST_QUERY} characters"
            )
        wanted = [articles.c.owner == owner]
        wanted += [articles.c.searched.contains(word, autoescape=True) for word in _words(query)]
        if template is not None:
            wanted.append(articles.c.template == storable_text(template))
        if cursor is not None:
            wanted.append(_after(cursor))
        found = (
            select(*_SHOWN)
            .where(*wanted)
            .order_by(articles.c.created_at.desc(), articles.c.id.desc())
            .limit(limit + 1)
        )
        rows = await self._database.read(lambda connection: connection.execute(found).all())
        more = len(rows) > limit
        return ArticlePage(
            articles=tuple(_record(row) for row in rows[:limit]),
            next_cursor=_cursor(rows[limit - 1]) if more else None,
        )

    async def get(self, owner: str, article_id: str) -> Article:
        """Return an article with the names of its files.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """
        return await self._database.read(lambda connection: _article(connection, owner, article_id))

    async def of_run(self, owner: str, run_id: str) -> Article | None:
        """The article that a run has made."""
        mine = (articles.c.owner == owner) & (articles.c.run_id == storable_text(run_id))

        def find(connection: Connection) -> Article | None:
            found = connection.scalar(select(articles.c.id).where(mine))
            return _article(connection, owner, found) if found else None

        return await self._database.read(find)

    async def content(self, owner: str, article_id: str, name: str) -> Content:
        """Return a file of an article.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """
        query = (
            select(files.c.name, files.c.mime_type, files.c.content)
            .join(articles, articles.c.id == files.c.article_id)
            .where(*_is(owner, article_id), files.c.name == storable_text(name))
        )
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise NotFoundError(f"The article {article_id!r} has no file {name!r}.")
        return Content(row.name, row.mime_type, bytes(row.content))

    async def delete(self, owner: str, article_id: str) -> None:
        """Delete an article and its files.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """

        def remove(connection: Connection) -> None:
            found = connection.scalar(
                select(articles.c.id).where(*_is(owner, article_id)).with_for_update()
            )
            if found is None:
                raise _not_found(article_id)
            connection.execute(delete(files).where(files.c.article_id == found))
            connection.execute(delete(articles).where(articles.c.id == found))

        await self._database.write(remove)


published = ArticleStore(ApplicationDatabase(ARTICLE_SCHEMA))


def _upsert(connection: Connection, row: dict[str, Any]) -> None:
    """Store a row; what it says of id and time holds from the first time on."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(articles).values(**row)
    kept = ("id", "owner", "app", "run_id", "created_at")
    stored = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["run_id"],
            set_={name: statement.excluded[name] for name in row if name not in kept},
            where=articles.c.owner == statement.excluded.owner,
        ).returning(articles.c.id)
    )
    if stored.first() is None:
        raise ConflictError(f"The run {row['run_id']!r} belongs to another user.")


def _article(connection: Connection, owner: str, article_id: str) -> Article:
    query = select(*_SHOWN).where(*_is(owner, article_id))
    if (row := connection.execute(query).first()) is None:
        raise _not_found(article_id)
    names = select(*_FILE_SHOWN).where(files.c.article_id == row.id).order_by(files.c.name)
    found = connection.execute(names).mappings().all()
    return _record(row, tuple(File.model_validate(dict(one)) for one in found))


def _is(owner: str, article_id: str) -> tuple[ColumnElement[bool], ...]:
    return articles.c.owner == owner, articles.c.id == storable_text(article_id)


def _record(row: Row[Any], of_it: tuple[File, ...] = ()) -> Article:
    return Article(**row._mapping, files=of_it)


def _file_row(article_id: str, one: Content) -> dict[str, Any]:
    return {
        "article_id": article_id,
        "name": storable_text(one.name),
        "mime_type": one.mime_type,
        "bytes": len(one.content),
        "content": one.content,
    }


def _not_found(article_id: str) -> NotFoundError:
    return NotFoundError(f"There is no article {article_id!r}.", remedy="list them first")


def _folded(text: str) -> str:
    """Text as it is searched: databases fold only ASCII, or by their own locale."""
    return unicodedata.normalize("NFKC", storable_text(text)).casefold()


def _words(query: str) -> list[str]:
    return list(dict.fromkeys(_folded(query).split()))


def _cursor(row: Row[Any]) -> str:
    place = f"{row.created_at.isoformat()} {row.id}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _after(cursor: str) -> ColumnElement[bool]:
    """Return the condition for articles older than the last one of a page.

    Raises:
        InvalidRequestError: the cursor was not issued by us.
    """
    try:
        place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        time, _, article_id = place.partition(" ")
        moment = datetime.fromisoformat(time)
        if moment.tzinfo is None or storable_text(article_id) != article_id:
            raise ValueError("not one of ours")
    except ValueError as error:
        raise InvalidRequestError(
            "The cursor is not valid.", remedy="use next_cursor of the page before"
        ) from error
    same_time = and_(articles.c.created_at == moment, articles.c.id < article_id)
    return or_(articles.c.created_at < moment, same_time)
