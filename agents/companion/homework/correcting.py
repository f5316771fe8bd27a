"""The step `homework-correct`: code checks what it can, a model the rest; no verdict is guessed."""

import asyncio
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mcp_tools.homework import (
    MAX_ITEMS,
    MAX_TEXT,
    HomeworkError,
    Item,
    check,
    collect,
    score,
)
from oda.errors import InvalidRequestError
from oda.message.language import Language
from oda.orchestration import StepContext, step
from oda.orchestration.response import Problem
from oda.orchestration.user_input import Understood, read_image

from ..learning.records import Label
from .judging import Corrected, Undecided, is_open, judge_homework, with_judgement
from .picture import Picture
from .sentences import say


class GivenItem(BaseModel):
    """A question, and what the child has answered."""

    question: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    answer: Annotated[str, Field(max_length=MAX_TEXT)] | None = None


class CorrectRequest(BaseModel):
    """Homework: its items, or the text or a photo in which they stand."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {"properties": {name: {"type": "null"} for name in ("items", "text", "image")}}
        }
    )

    subject: Label | None = None
    items: Annotated[list[GivenItem], Field(max_length=MAX_ITEMS)] | None = None
    text: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    image: Picture | None = None
    language: Language | None = None
    """Language of comments on items without words."""

    @model_validator(mode="after")
    def _has_work(self) -> Self:
        if self.items is None and self.text is None and self.image is None:
            raise ValueError("give items, text or image")
        return self


class Correction(BaseModel):
    """All items, and the share of right ones among those that could be judged, 0 to 100."""

    items: list[Corrected]
    score: int | None
    """Score of the judged items; None if no item could be judged."""
    judged: int
    """Number of items that have a verdict; the others count neither as right nor as wrong."""
    problem: Problem | None = None
    """Why the photo could not be read; the rest has been checked all the same."""


def _by_code_alone(request: CorrectRequest, context: StepContext, error: Exception) -> Correction:
    """Return the results of code alone, without the photo, after a timeout."""
    if isinstance(error, InvalidRequestError):
        raise error
    unread = Problem(
        code="not_read", message="The photo could not be read.", remedy="send it again"
    )
    items = _checked(_given(request, ""), request)
    return _correction(items, unread if request.image is not None else None)


@step("homework-correct", timeout_s=45.0, fallback=_by_code_alone, takes_files=True)
async def homework_correct(request: CorrectRequest, context: StepContext) -> Correction:
    """Check homework item by item; arithmetic and algebra by code, the rest by a model."""
    seen = Understood()
    if request.image is not None:
        seen = (await read_image(request.image, context)).response
    items = await asyncio.to_thread(_checked, _given(request, seen.text), request)
    if context.has_model and any(is_open(item) for item in items):
        asked = Undecided(subject=request.subject, items=items)
        items = with_judgement(items, (await judge_homework(asked, context)).response)
    return _correction(items, seen.problem)


def _given(request: CorrectRequest, in_picture: str) -> list[Item]:
    given = [Item(question=item.question, answer=item.answer) for item in request.items or ()]
    text = "\n".join(filter(None, (request.text, in_picture)))
    try:
        return given if not text else [*given, *collect(text)]
    except HomeworkError as error:
        raise InvalidRequestError(error.message(), remedy="send it in parts") from error


def _checked(items: list[Item], request: CorrectRequest) -> list[Corrected]:
    language = request.language or "zh"
    found = [
        Corrected.model_validate(check(item, request.subject, language=language).model_dump())
        for item in items
    ]
    unknown = {"comment": say()("unknown", language)}
    return [item.model_copy(update=unknown) if is_open(item) else item for item in found]


def _correction(items: list[Corrected], problem: Problem | None) -> Correction:
    verdicts = [item.as_verdict() for item in items]
    judged = sum(item.correct is not None for item in items)
    return Correction(items=items, score=score(verdicts), judged=judged, problem=problem)
