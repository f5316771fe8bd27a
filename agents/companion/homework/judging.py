"""Judgement by a model of items that code cannot check."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from mcp_tools.homework import MAX_ITEMS, MAX_TEXT, OTHER_TOPIC, Verdict, gives_away
from mcp_tools.homework.wording import wording
from oda.message.language import language_of
from oda.orchestration import StepContext, step

from ..learning.records import Label
from ..prompts import instruction
from ..safety.answers import unsafe_kind
from .sentences import say


def _known(topic: str) -> str:
    return topic if topic in wording().topics else OTHER_TOPIC


Topic = Annotated[str, Field(max_length=64), AfterValidator(_known)]
"""The skill that an item practises, as named by `mcp_tools.homework`; `other` if it is unknown."""
HomeworkText = Annotated[str, Field(max_length=MAX_TEXT)]


class Corrected(BaseModel):
    """An item with its verdict."""

    model_config = ConfigDict(frozen=True)

    question: HomeworkText
    answer: HomeworkText | None = None
    correct: StrictBool | None = None
    """None if the item could not be judged, or was not answered."""
    expected: HomeworkText | None = None
    """Not for the child, who is to find it."""
    checked_by: Literal["code", "model", "none"] = "none"
    comment: HomeworkText = ""
    topic: Topic = OTHER_TOPIC

    def as_verdict(self) -> Verdict:
        checked_by = "none" if self.checked_by == "model" else self.checked_by
        return Verdict.model_validate({**self.model_dump(), "checked_by": checked_by})


class _Judged(BaseModel):
    number: int
    correct: bool | None
    expected: str = ""
    comment: str = ""


class Judgement(BaseModel):
    """A model's verdicts, by the items' numbers from 1 on."""

    items: list[_Judged]


class Undecided(BaseModel):
    """Homework with undecided items."""

    subject: Label | None
    items: Annotated[list[Corrected], Field(max_length=MAX_ITEMS)]


def _nobody_knows(request: Undecided, context: StepContext, error: Exception) -> Judgement:
    return Judgement(items=[])


@step("judge-homework", timeout_s=20.0, fallback=_nobody_knows)
async def judge_homework(request: Undecided, context: StepContext) -> Judgement:
    """Have a model judge what code cannot; items that it leaves out stay undecided."""
    lines = [] if request.subject is None else [f"Subject: {request.subject}"]
    for number, item in enumerate(request.items, 1):
        if is_open(item):
            lines += [f"{number}. question: {item.question}", f"   answer: {item.answer}"]
    judged = await context.ask(instruction("judge"), "\n".join(lines), Judgement)
    return Judgement(items=[_without_unsafe(one) for one in judged.items])


def _without_unsafe(judged: _Judged) -> _Judged:
    told = {"expected": judged.expected, "comment": judged.comment}
    return judged.model_copy(
        update={name: "" for name, text in told.items() if unsafe_kind(text) is not None}
    )


def with_judgement(items: list[Corrected], judgement: Judgement) -> list[Corrected]:
    """The items with what was said of those that were undecided."""
    found = {one.number: one for one in judgement.items}
    return [
        _with(item, found[number]) if is_open(item) and number in found else item
        for number, item in enumerate(items, 1)
    ]


def _with(item: Corrected, judged: _Judged) -> Corrected:
    if judged.correct is None:
        return item
    language = language_of(item.question, "zh")
    comment = judged.comment.strip()[:MAX_TEXT]
    told = not judged.correct and gives_away(comment, item.question, [judged.expected])
    if not comment or told:
        comment = say()("right" if judged.correct else "look_again", language)
    changes = {
        "correct": judged.correct,
        "expected": judged.expected.strip()[:MAX_TEXT] or None,
        "checked_by": "model",
        "comment": comment,
    }
    return item.model_copy(update=changes)


def is_open(item: Corrected) -> bool:
    """Return whether an item has an answer without a verdict."""
    return item.correct is None and item.answer is not None
