"""The step `homework-summary`: puts homework on record, and says how it went."""

import asyncio
from typing import Annotated

from pydantic import BaseModel, Field

from mcp_tools.homework import MAX_ITEMS, OTHER_TOPIC, Summary, Verdict, summarise
from oda.message.language import Language, language_of
from oda.orchestration import StepContext, step

from ..learning.records import Answer, Id, Label
from ..learning.store import learning
from .judging import Corrected

_MATHS = "math"
_OTHER = "other"


class SummaryRequest(BaseModel):
    """Homework that has been corrected; without it, what is on record of a session."""

    session_id: Id
    items: Annotated[list[Corrected], Field(max_length=MAX_ITEMS)] | None = None
    """The corrected items; the answered ones are recorded, and `learning-progress` reports them."""
    subject: Label | None = None
    language: Language | None = None


@step("homework-summary", timeout_s=15.0)
async def homework_summary(request: SummaryRequest, context: StepContext) -> Summary:
    """Say what went well and what to practise.

    There is no fallback: homework that could not be saved is tried again, not passed over.
    """
    if request.items is None:
        answers = await learning.answers_of(context.user_id, request.session_id)
        verdicts = [_verdict(answer) for answer in answers]
    else:
        verdicts = [item.as_verdict() for item in request.items]
        answered = (item for item in request.items if item.answer is not None)
        answers = [_answer(item, request.subject) for item in answered]
        await learning.save_answers(
            context.call_id, context.user_id, request.session_id, answers, context.now
        )
    text = " ".join(verdict.question for verdict in verdicts)
    language = request.language or language_of(text, "zh")
    return await asyncio.to_thread(summarise, verdicts, language)


def _answer(item: Corrected, subject: str | None) -> Answer:
    by_topic_ = _OTHER if item.topic == OTHER_TOPIC else _MATHS
    return Answer(
        question=item.question,
        answer=item.answer or "",
        correct=item.correct,
        subject=(subject or by_topic_)[:64],
        topic=item.topic,
    )


def _verdict(answer: Answer) -> Verdict:
    return Verdict(
        question=answer.question,
        answer=answer.answer or None,
        correct=answer.correct,
        expected=None,
        checked_by="none",
        comment="",
        topic=answer.topic or OTHER_TOPIC,
    )
