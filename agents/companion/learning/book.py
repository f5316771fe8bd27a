"""All that a child has done, read page by page: the history, and the mistakes in it."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    ColumnElement,
    Date,
    Float,
    Integer,
    RowMapping,
    Select,
    String,
    Subquery,
    Text,
    and_,
    case,
    func,
    literal,
    null,
    or_,
    select,
    type_coerce,
    union_all,
)

from oda import ApplicationDatabase
from oda.errors import InvalidRequestError
from oda.message.storable import storable_text

from .records import Kind, Mistake, Recited, Work
from .schema import answers, learning_database, practised, recitations
from .store import RECITATION

T = TypeVar("T", bound=Work)

_EVER = date(2000, 1, 1)


@dataclass(frozen=True)
class Wanted:
    """The part of a child's work that is asked for; all of it by default."""

    user_id: str
    since: date = _EVER
    until: date = date.max
    subject: str | None = None
    kind: Kind | None = None


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a list, the latest first."""

    entries: Sequence[T]
    next_cursor: str | None


class Book:
    """Reads what `LearningStore` has saved.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def history(self, wanted: Wanted, *, limit: int, cursor: str | None = None) -> Page[Work]:
        """Return all that was done, the latest first.

        Raises:
            InvalidRequestError: the cursor was not given out.
        """
        rows = await self._rows(select(_work(wanted)), limit, cursor)
        return _page([_as(Work, row) for row in rows], rows, limit)

    async def mistakes(
        self, wanted: Wanted, *, limit: int, cursor: str | None = None
    ) -> Page[Mistake]:
        """Return the questions that were answered wrongly and the texts that did not pass.

        Each comes once, with its latest mistake in that time.

        Raises:
            InvalidRequestError: the cursor was not given out.
        """
        rows = await self._rows(select(_mistakes(wanted)), limit, cursor)
        return _page([_as(Mistake, row) for row in rows], rows, limit)

    async def mistakes_count(self, wanted: Wanted) -> int:
        """Return how many questions and texts `mistakes` has."""
        query = select(func.count()).select_from(_mistakes(wanted))
        return await self._database.read(lambda connection: connection.scalar(query)) or 0

    async def due(self, user_id: str, today: date, *, limit: int) -> list[Mistake]:
        """Return the questions that are to be practised, the longest due first."""
        mistakes = _mistakes(Wanted(user_id, kind="homework"))
        query = (
            select(mistakes)
            .where(mistakes.c.due_on <= today)
            .order_by(mistakes.c.due_on, mistakes.c.saved_at, mistakes.c.id, mistakes.c.number)
            .limit(limit)
        )
        rows = await self._database.read(lambda found: found.execute(query).mappings().all())
        return [_as(Mistake, row) for row in rows]

    async def next_due(self, user_id: str) -> date | None:
        """Return the day on which a question is to be practised next; None if there is none."""
        mistakes = _mistakes(Wanted(user_id, kind="homework"))
        query = select(func.min(mistakes.c.due_on))
        return await self._database.read(lambda connection: connection.scalar(query))

    async def recited(self, wanted: Wanted, *, limit: int) -> list[Recited]:
        """Return the texts that were recited, the latest first."""
        columns = recitations.c
        last = func.max(columns.saved_at)
        query = (
            select(
                columns.title,
                func.count().label("rounds"),
                func.max(columns.score).label("best"),
                func.max(columns.passed.cast(Integer)).label("passed"),
                func.max(columns.day).label("last_day"),
            )
            .where(
                columns.user_id == wanted.user_id,
                columns.day.between(wanted.since, wanted.until),
            )
            .group_by(columns.title)
            .order_by(last.desc(), columns.title)
            .limit(limit)
        )
        rows = await self._database.read(lambda found: found.execute(query).mappings().all())
        return [Recited.model_validate(dict(row)) for row in rows]

    async def _rows(
        self, query: Select[Any], limit: int, cursor: str | None
    ) -> Sequence[RowMapping]:
        found = query.selected_columns
        if cursor is not None:
            query = query.where(_after(cursor, found))
        query = query.order_by(found.saved_at.desc(), found.id, found.number).limit(limit + 1)
        return await self._database.read(
            lambda connection: connection.execute(query).mappings().all()
        )


book = Book(learning_database)


def _work(wanted: Wanted) -> Subquery:
    """Answers and recitations with the same columns."""
    answered = answers.c
    given = select(
        literal("homework", String).label("kind"),
        answered.id,
        answered.number,
        answered.subject,
        answered.topic,
        answered.question.label("title"),
        answered.answer,
        answered.correct,
        null().cast(Float).label("score"),
        null().cast(Integer).label("round"),
        answered.session_id,
        answered.day,
        answered.saved_at,
    ).where(answered.user_id == wanted.user_id, answered.day.between(wanted.since, wanted.until))
    said = recitations.c
    recited = select(
        literal("recite", String),
        said.id,
        literal(0, Integer),
        literal(RECITATION, String),
        literal("", String),
        said.title,
        null().cast(Text),
        said.passed,
        said.score,
        said.round,
        null().cast(String),
        said.day,
        said.saved_at,
    ).where(said.user_id == wanted.user_id, said.day.between(wanted.since, wanted.until))
    work = union_all(given, recited).subquery("work")
    found = select(work)
    if wanted.subject is not None:
        found = found.where(work.c.subject == storable_text(wanted.subject))
    if wanted.kind is not None:
        found = found.where(work.c.kind == wanted.kind)
    return found.subquery("wanted")


def _mistakes(wanted: Wanted) -> Subquery:
    work = _work(wanted)
    same = (work.c.kind, work.c.subject, work.c.title)
    latest_first = (work.c.saved_at.desc(), work.c.id, work.c.number)
    wrong = (
        select(
            work,
            func.count().over(partition_by=same).label("times"),
            func.row_number().over(partition_by=same, order_by=latest_first).label("nth"),
        )
        .where(work.c.correct.is_(False))
        .subquery("wrong")
    )
    columns = [column for column in wrong.c if column.name != "nth"]
    same_item = and_(
        practised.c.user_id == wanted.user_id,
        practised.c.subject == wrong.c.subject,
        practised.c.question == wrong.c.title,
    )
    made_anew = or_(practised.c.reviewed_at.is_(None), practised.c.reviewed_at < wrong.c.saved_at)
    due_on = case(
        (wrong.c.kind == "recite", null()),
        (made_anew, wrong.c.day),
        else_=practised.c.due_on,
    )
    return (
        select(
            *columns,
            type_coerce(due_on, Date).label("due_on"),
            func.coalesce(practised.c.reviews, 0).label("reviews"),
        )
        .select_from(wrong.outerjoin(practised, same_item))
        .where(wrong.c.nth == 1)
        .subquery("mistakes")
    )


def _as(record: type[T], row: RowMapping) -> T:
    return record.model_validate({**row, "id": f"{row['id']}-{row['number']}"})


def _page(entries: Sequence[T], rows: Sequence[RowMapping], limit: int) -> Page[T]:
    more = len(rows) > limit
    return Page(entries[:limit], _cursor(rows[limit - 1]) if more else None)


def _cursor(row: RowMapping) -> str:
    place = f"{row['saved_at'].isoformat()} {row['number']} {row['id']}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _after(cursor: str, found: Any) -> ColumnElement[bool]:
    """Return the condition for what comes after the last entry of a page.

    Raises:
        InvalidRequestError: the cursor was not issued by us.
    """
    try:
        place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        time, number, id_ = place.split(" ")
        moment, nth = datetime.fromisoformat(time), int(number)
        if moment.tzinfo is None or storable_text(id_) != id_ or not 0 <= nth < 2**31:
            raise ValueError("not one of ours")
    except ValueError as error:
        raise InvalidRequestError(
            "The cursor is not valid.", remedy="use next_cursor of the page before"
        ) from error
    same_call = and_(found.id == id_, found.number > nth)
    same_time = and_(found.saved_at == moment, or_(found.id > id_, same_call))
    return or_(found.saved_at < moment, same_time)
