"""The steps that listen: is it recitation, how good is it, what helps, and put it on record."""

import asyncio
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from mcp_tools.recitation import (
    MAX_TIPS,
    MAX_UNITS,
    Evaluation,
    Language,
    Mistake,
    MistakeType,
    compare,
    is_recitation,
    memory_tips,
    normalize,
)
from oda import RetryPolicy
from oda.message.json_integer import JSON_INTEGER
from oda.orchestration import StepContext, step

from ..learning.records import MOST_ERRORS, Recitation, Saved
from ..learning.store import learning
from ..prompts import instruction
from ..safety.answers import unsafe_kind

_ONCE = RetryPolicy(max_retries=0)
"""For algorithms, which would fail again."""


def _with_words(text: str) -> str:
    if not normalize(text):
        raise ValueError("it holds no words: give the text that is to be recited")
    return text


ExpectedText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_UNITS,
        json_schema_extra={"pattern": r"[\p{L}\p{N}]"},
    ),
    AfterValidator(_with_words),
]
SaidText = Annotated[str, Field(max_length=MAX_UNITS)]


class CheckRequest(BaseModel):
    """A text, and what was said."""

    expected_text: ExpectedText
    user_text: SaidText


class Checked(BaseModel):
    """Whether the child was reciting, and how much of it comes from the text."""

    is_recitation: bool
    similarity: Annotated[float, Field(ge=0, le=1)]


@step("check-is-recitation-content", timeout_s=5.0, retry=_ONCE)
async def check_is_recitation_content(request: CheckRequest, context: StepContext) -> Checked:
    """Tell reciting from questions and remarks; an algorithm, which needs no fallback."""
    found, similarity = is_recitation(request.expected_text, request.user_text)
    return Checked(is_recitation=found, similarity=similarity)


class CompareRequest(CheckRequest):
    """A text, and what was said of it."""

    language: Language | None = None


@step("compare-and-evaluate", timeout_s=5.0, retry=_ONCE)
async def compare_and_evaluate(request: CompareRequest, context: StepContext) -> Evaluation:
    """Score a recitation and list its mistakes; an algorithm, which needs no fallback."""
    return compare(request.expected_text, request.user_text, request.language)


class Error(BaseModel):
    """A mistake as `compare-and-evaluate` tells it."""

    type: MistakeType
    expected: SaidText = ""
    actual: SaidText = ""
    position: Annotated[int, Field(ge=0, strict=True), JSON_INTEGER] = 0
    cost: Annotated[float, Field(ge=0, strict=True)] | None = None
    """How many units of the text it takes from the score; found out where it is not given."""

    def as_mistake(self) -> Mistake:
        cost = self.cost
        if cost is None:
            units = max(len(_units(self.expected)), len(_units(self.actual)))
            cost = units / 2 if self.type == "homophone" else float(units)
        return Mistake.model_validate({**self.model_dump(), "cost": cost})


def _units(text: str) -> list[str]:
    return text.split() if " " in text or text.isascii() else list(text)


class TipsRequest(BaseModel):
    """Mistakes in a text."""

    errors: Annotated[list[Error], Field(max_length=MOST_ERRORS)]
    expected_text: ExpectedText


class Tips(BaseModel):
    """What to practise, most important first; empty if there were no mistakes."""

    tips: list[str]


def _plain_tips(request: TipsRequest, context: StepContext, error: Exception) -> Tips:
    return Tips(tips=_tips(request))


@step("generate-memory-tips", timeout_s=10.0, fallback=_plain_tips)
async def generate_memory_tips(request: TipsRequest, context: StepContext) -> Tips:
    """Say what to practise; a model only chooses the words."""
    plain = await asyncio.to_thread(_tips, request)
    if not plain or not context.has_model:
        return Tips(tips=plain)
    told = f"Text:\n{request.expected_text}\n\nTips:\n" + "\n".join(plain)
    phrased = await context.ask(instruction("tips"), told, Tips)
    tips = [tip.strip() for tip in phrased.tips if tip.strip() and unsafe_kind(tip) is None]
    return Tips(tips=tips[:MAX_TIPS] or plain)


def _tips(request: TipsRequest) -> list[str]:
    return memory_tips([error.as_mistake() for error in request.errors], request.expected_text)


@step("save-history", timeout_s=10.0)
async def save_history(request: Recitation, context: StepContext) -> Saved:
    """Put a round of reciting on record, once for each call.

    There is no fallback: a round that could not be saved is tried again, not passed over.
    """
    return await learning.save_recitation(context.call_id, context.user_id, request, context.now)
