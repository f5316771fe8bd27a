"""The text that is to be recited, and the step `generate-standard-answer` that finds it."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from mcp_tools.recitation import MAX_UNITS, Language, find, normalize, texts
from oda.orchestration import StepContext, step

from ..learning.store import learning
from ..prompts import instruction
from ..safety.answers import unsafe_kind

_ANY_BY = re.compile(
    r"([^的]{2,4})的(?:一首)?(?:唐诗|宋词|古?诗|词)|(?:(?:a|any|some)\s+poem\s+)?by\s+(.{3,40})",
    re.IGNORECASE,
)
"""A title that only says of whom the text should be."""

Source = Literal["schedule", "library", "model"]

TRUSTED = 0.9
"""Texts of the schedule or the library of at least this confidence are recited without asking
whether they are right: the title is the same, or sounds the same. What a model recalls is asked
about, however sure it is."""
_ANOTHER_AUTHOR = 0.75
"""Part of the confidence that is left of a text by somebody else than was asked for."""
_BY_MODEL = 0.9
"""The most that a model is trusted: it recalls well-known texts, and makes up others."""


LONGEST_NAME = 200
"""Maximum length of the name of a text or its author, in characters."""


class StandardAnswerRequest(BaseModel):
    """Identifies the text."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    author: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None
    language: Language | None = None


class StandardAnswer(BaseModel):
    """A text as it should be recited; empty with confidence 0 where none was found."""

    text: str
    source: Source
    """The source of the text, or the last one searched."""
    confidence: Annotated[float, Field(ge=0, le=1)]
    title: str
    author: str | None = None


class _Recalled(BaseModel):
    known: bool
    text: str = ""
    author: str | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.0


def _not_recalled(
    request: StandardAnswerRequest, context: StepContext, error: Exception
) -> StandardAnswer:
    return _in_library(request) or _nothing(request, "model")


@step("generate-standard-answer", timeout_s=20.0, fallback=_not_recalled)
async def generate_standard_answer(
    request: StandardAnswerRequest, context: StepContext
) -> StandardAnswer:
    """Find the text of a title: in today's schedule, in the library, or by a model."""
    if (scheduled := await _in_schedule(request, context)) is not None:
        return scheduled
    listed = _in_library(request)
    if listed is not None and (listed.confidence >= TRUSTED or not context.has_model):
        return listed
    if not context.has_model:
        return _nothing(request, "library")
    recalled = await context.ask(
        instruction("recall"), request.model_dump_json(exclude_none=True), _Recalled
    )
    is_safe = unsafe_kind(f"{recalled.text}\n{recalled.author or ''}") is None
    if not recalled.known or not is_safe or not normalize(recalled.text[:MAX_UNITS]):
        return listed or _nothing(request, "model")
    return StandardAnswer(
        text=recalled.text.strip()[:MAX_UNITS],
        source="model",
        confidence=min(recalled.confidence, _BY_MODEL),
        title=request.title,
        author=request.author or recalled.author,
    )


async def _in_schedule(
    request: StandardAnswerRequest, context: StepContext
) -> StandardAnswer | None:
    wanted = normalize(request.title)
    for item in (await learning.schedule(context.user_id, context.today)).items:
        if item.text and normalize(item.text) and normalize(item.title) == wanted:
            return StandardAnswer(
                text=item.text.strip(),
                source="schedule",
                confidence=1.0,
                title=item.title,
                author=item.author,
            )
    return None


def _in_library(request: StandardAnswerRequest) -> StandardAnswer | None:
    if (by_author := _ANY_BY.fullmatch(request.title.strip())) is not None:
        author = next(filter(None, by_author.groups()))
        request = request.model_copy(update={"title": _first_by(author) or request.title})
    found = find(request.title, request.author, request.language)
    share = 1.0
    if found is None and request.author:
        found, share = find(request.title, None, request.language), _ANOTHER_AUTHOR
    if found is None:
        return None
    return StandardAnswer(
        text=found.text.strip(),
        source="library",
        confidence=found.confidence * share,
        title=found.title,
        author=found.author,
    )


def _first_by(author: str) -> str | None:
    wanted = normalize(author)
    known = (text for text in texts() if text.author and wanted in normalize(text.author))
    return next((text.title for text in known), None)


def _nothing(request: StandardAnswerRequest, source: Source) -> StandardAnswer:
    return StandardAnswer(
        text="", source=source, confidence=0.0, title=request.title, author=request.author
    )
