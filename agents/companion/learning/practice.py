"""Answers that were given in practice, and when their questions come back."""

import hashlib
from datetime import date, datetime

from sqlalchemy import Connection, delete, func, insert, select

from oda import ApplicationDatabase

from .intervals import Outcome, Recall, reviewed
from .records import Answer
from .schema import answers, learning_database, practised


class PracticeStore:
    """Keeps for each question that went wrong how well it is remembered.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def save(
        self,
        call_id: str,
        user_id: str,
        session_id: str | None,
        answer: Answer,
        outcome: Outcome,
        now: datetime,
    ) -> date:
        """Save an answer, unless this call has saved it before; return when it comes back.

        Args:
            now: In the user's time zone.
        """
        item = hashlib.sha256(f"{answer.subject}\n{answer.question}".encode()).hexdigest()
        this = (practised.c.user_id == user_id) & (practised.c.item == item)
        given = {
            "id": call_id,
            "number": 0,
            "user_id": user_id,
            "session_id": session_id,
            "day": now.date(),
            **answer.model_dump(),
            "saved_at": now,
        }

        def save_once(connection: Connection) -> date:
            row = connection.execute(select(practised).where(this).with_for_update()).first()
            is_saved = connection.scalar(select(func.count()).where(answers.c.id == call_id))
            if is_saved and row is not None:
                due_on: date = row.due_on
                return due_on
            before = None
            if row is not None:
                before = Recall(row.stability, row.difficulty, row.due_on, row.reviewed_at)
            after = reviewed(before, outcome, now)
            connection.execute(insert(answers), [given])
            connection.execute(delete(practised).where(this))
            kept = {
                "user_id": user_id,
                "item": item,
                "subject": answer.subject,
                "question": answer.question,
                "stability": after.stability,
                "difficulty": after.difficulty,
                "due_on": after.due_on,
                "reviews": (row.reviews if row is not None else 0) + 1,
                "reviewed_at": now,
            }
            connection.execute(insert(practised), [kept])
            return after.due_on

        return await self._database.write(save_once)


practice = PracticeStore(learning_database)
