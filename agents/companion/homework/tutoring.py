"""The step `homework-tutor`: hints in three levels; only the last may contain the answer."""

import asyncio

from pydantic import BaseModel, Field

from mcp_tools.homework import (
    MAX_TEXT,
    OTHER_TOPIC,
    Hint,
    Item,
    Level,
    gives_away,
    hint,
    topic_of,
)
from oda.message.language import Language, language_of
from oda.orchestration import StepContext, step

from ..prompts import instruction
from ..safety.answers import unsafe_kind


class TutorRequest(BaseModel):
    """An item that a child needs help with."""

    question: str = Field(min_length=1, max_length=MAX_TEXT)
    answer: str | None = Field(default=None, max_length=MAX_TEXT)
    """The child's answer, which is wrong."""
    hint_level: Level
    """1: the method; 2: the next step; 3: the way and the answer."""
    expected: str | None = Field(default=None, max_length=MAX_TEXT)
    """The right answer, if it is known."""
    language: Language | None = None


class _Help(BaseModel):
    solution: str
    """Solution of the question."""
    hint: str


_LEVELS = {
    1: "Remind the child of the method or of what the question asks. Neither the answer nor the "
    "first step may stand in the hint.",
    2: "Show the next step with the numbers or words of the question. The answer may not stand in "
    "the hint.",
    3: "Show the way to the answer step by step, and then the answer.",
}


def _by_code_alone(request: TutorRequest, context: StepContext, error: Exception) -> Hint:
    return _hint(request)


@step("homework-tutor", timeout_s=20.0, fallback=_by_code_alone)
async def homework_tutor(request: TutorRequest, context: StepContext) -> Hint:
    """Help with an item: by code where it understands the question, else by a model."""
    item = Item(question=request.question, answer=request.answer)
    is_known = await asyncio.to_thread(topic_of, item) != OTHER_TOPIC
    if is_known or not context.has_model:
        return await asyncio.to_thread(_hint, request)
    told = request.model_dump_json(include={"question", "answer"}, exclude_none=True)
    help_ = await context.ask(instruction("tutor", level=_LEVELS[request.hint_level]), told, _Help)
    answers = [answer for answer in (request.expected, help_.solution) if answer]
    reveals = gives_away(help_.hint, request.question, answers)
    is_safe = unsafe_kind(help_.hint) is None
    if not help_.hint.strip() or not is_safe or (reveals and request.hint_level < 3):
        return _hint(request)
    return Hint(hint=help_.hint.strip(), reveals_answer=reveals)


def _hint(request: TutorRequest) -> Hint:
    item = Item(question=request.question, answer=request.answer)
    language = request.language or language_of(request.question, "zh")
    found = hint(item, request.hint_level, language)
    if request.hint_level == 3 and not found.reveals_answer and request.expected:
        return Hint(hint=f"{request.question} → {request.expected}", reveals_answer=True)
    return found
