"""Published articles in SQL, in versions, each with its files.

A run makes one version: publishing it again, after a crash for example, replaces what was there.
"""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select

from oda import ApplicationDatabase
from oda.errors import InvalidRequestError, NotFoundError
from oda.message.storable import storable_text

from .records import Article, ArticlePage, Content, Draft, Run
from .rows import (
    SHOWN,
    article_where,
    copy_version,
    folded,
    is_version,
    is_work,
    next_version,
    not_found,
    record,
    row_id_of,
    show_latest,
    upsert,
)
from .schema import ARTICLE_SCHEMA, articles, files

_LONGEST_QUERY = 200


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
        """Publish an article, or a version of one, in place of an earlier one of the same run.

        A version that is not finished is not shown in place of one that is.

        Raises:
            ConflictError: the run is another user's.
        """
        row_id = row_id_of(draft.run.run_id)
        row = {
            "id": row_id,
            "owner": owner,
            "app": draft.run.app,
            "run_id": draft.run.run_id,
            "session_id": draft.run.session_id,
            "template": draft.template,
            "title": storable_text(draft.title),
            "summary": storable_text(draft.summary),
            "language": draft.language,
            "searched": folded(f"{draft.title}\n{draft.summary}"),
            "created_at": now,
            "finished": draft.finished,
            "change": storable_text(draft.change),
        }

        def publish(connection: Connection) -> Article:
            place = next_version(connection, owner, draft.article_id, row_id)
            work_id = upsert(connection, {**row, **place})
            connection.execute(delete(files).where(files.c.article_id == row_id))
            for one in contents:
                connection.execute(insert(files), [_file_row(row_id, one)])
            show_latest(connection, work_id)
            return article_where(connection, articles.c.id == row_id)

        return await self._database.write(publish)

    async def restore(
        self, owner: str, article_id: str, version: int, now: datetime, run: Run | None = None
    ) -> Article:
        """Make a new version that is as an earlier one was; what is shown already stays.

        Args:
            run: The run that restores it, if one does.

        Raises:
            NotFoundError: the article or the version does not exist.
        """

        def bring_back(connection: Connection) -> Article:
            wanted = article_where(
                connection, *is_version(owner, article_id, version), named=article_id
            )
            place = next_version(connection, owner, article_id, "")
            shown = article_where(connection, *is_version(owner, article_id, None))
            if version in (shown.version, shown.restored_from):
                return shown
            run_id = run.run_id if run else f"{article_id}.{place['version']}"
            row_id = copy_version(
                connection,
                wanted,
                run_id=run_id,
                session_id=run.session_id if run else shown.session_id,
                version=place["version"],
                now=now,
            )
            show_latest(connection, article_id)
            return article_where(connection, articles.c.id == row_id)

        return await self._database.write(bring_back)

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
        wanted = [articles.c.owner == owner, articles.c.latest]
        words = dict.fromkeys(folded(query).split())
        wanted += [articles.c.searched.contains(word, autoescape=True) for word in words]
        if template is not None:
            wanted.append(articles.c.template == storable_text(template))
        if cursor is not None:
            wanted.append(_after(cursor))
        found = (
            select(*SHOWN)
            .where(*wanted)
            .order_by(articles.c.created_at.desc(), articles.c.id.desc())
            .limit(limit + 1)
        )
        rows = await self._database.read(lambda connection: connection.execute(found).all())
        more = len(rows) > limit
        return ArticlePage(
            articles=tuple(record(row) for row in rows[:limit]),
            next_cursor=_cursor(rows[limit - 1]) if more else None,
        )

    async def get(self, owner: str, article_id: str, version: int | None = None) -> Article:
        """Return an article with the names of its files, by default its latest version.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """
        wanted = is_version(owner, article_id, version)
        return await self._database.read(
            lambda connection: article_where(connection, *wanted, named=article_id)
        )

    async def versions(self, owner: str, article_id: str) -> tuple[Article, ...]:
        """Return all versions of an article without their files, the newest first.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """
        query = select(*SHOWN).where(*is_work(owner, article_id))
        newest_first = query.order_by(articles.c.version.desc())
        rows = await self._database.read(lambda connection: connection.execute(newest_first).all())
        if not rows:
            raise not_found(article_id)
        return tuple(map(record, rows))

    async def of_run(self, owner: str, run_id: str) -> Article | None:
        """The version that a run has made."""
        return await self._first(owner, articles.c.run_id == storable_text(run_id))

    async def of_session(self, owner: str, session_id: str) -> Article | None:
        """The latest version of the article that a session has worked on last."""
        made = await self._first(owner, articles.c.session_id == storable_text(session_id))
        return None if made is None else await self.get(owner, made.id)

    async def content(
        self, owner: str, article_id: str, name: str, version: int | None = None
    ) -> Content:
        """Return a file of an article.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """
        query = (
            select(files.c.name, files.c.mime_type, files.c.content)
            .join(articles, articles.c.id == files.c.article_id)
            .where(*is_version(owner, article_id, version), files.c.name == storable_text(name))
        )
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise NotFoundError(f"The article {article_id!r} has no file {name!r}.")
        return Content(row.name, row.mime_type, bytes(row.content))

    async def _first(self, owner: str, wanted: ColumnElement[bool]) -> Article | None:
        found = (
            select(articles.c.id)
            .where(articles.c.owner == owner, wanted)
            .order_by(articles.c.created_at.desc(), articles.c.version.desc())
            .limit(1)
        )

        def find(connection: Connection) -> Article | None:
            row_id = connection.scalar(found)
            return article_where(connection, articles.c.id == row_id) if row_id else None

        return await self._database.read(find)

    async def delete(self, owner: str, article_id: str) -> None:
        """Delete an article with all its versions and their files.

        Raises:
            NotFoundError: it does not exist, or belongs to another user.
        """

        def remove(connection: Connection) -> None:
            query = select(articles.c.id).where(*is_work(owner, article_id))
            found = connection.scalars(query.with_for_update()).all()
            if not found:
                raise not_found(article_id)
            connection.execute(delete(files).where(files.c.article_id.in_(found)))
            connection.execute(delete(articles).where(articles.c.id.in_(found)))

        await self._database.write(remove)


published = ArticleStore(ApplicationDatabase(ARTICLE_SCHEMA))


def _file_row(article_id: str, one: Content) -> dict[str, Any]:
    return {
        "article_id": article_id,
        "name": storable_text(one.name),
        "mime_type": one.mime_type,
        "bytes": len(one.content),
        "content": one.content,
    }


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
