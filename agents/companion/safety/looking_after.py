"""The step `look-after`: answers a message that needs a grown-up, and puts it on record."""

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from oda.message.language import Language, language_of
from oda.orchestration import StepContext, step
from oda.orchestration.wording import Wording
from oda.telemetry import get_logger

from ..learning.records import Category, Concern, Id, Severity
from ..learning.store import learning
from ..parents.sending import send_waiting, told_at_once
from ..settings import companion_settings
from ..wording import wording
from .concerns import concern_in

log = get_logger(__name__)


class LookAfterRequest(BaseModel):
    """Something that a child has said."""

    user_input: Annotated[str, Field(max_length=20_000)]
    session_id: Id | None = None
    language: Language | None = None
    """Language of the answer; by default that of the message."""


class LookedAfter(BaseModel):
    """What the message is about, and the fixed text for it; nothing if no grown-up is needed."""

    category: Category | None = None
    severity: Severity = "none"
    reply: str = ""


@cache
def say() -> Wording:
    """The fixed texts."""
    return wording(Path(__file__).parent)


def _unsaved(request: LookAfterRequest, context: StepContext, error: Exception) -> LookedAfter:
    """Answer the child although its record cannot be written; the log still has the concern."""
    return _answered(request)


@step("look-after", timeout_s=10.0, fallback=_unsaved)
async def look_after(request: LookAfterRequest, context: StepContext) -> LookedAfter:
    """Tell a child in trouble who helps, and record the concern for its parents."""
    concern = concern_in(request.user_input)
    session_id = context.session_id or request.session_id
    if concern is not None and concern.severity != "none":
        log.warning(
            "companion_concern",
            category=concern.category,
            severity=concern.severity,
            user_id=context.user_id,
            session_id=session_id,
        )
        told = told_at_once(context.user_id, concern)
        await learning.save_concern(
            context.call_id, context.user_id, session_id, concern, context.now, told=told
        )
        await send_waiting(at_once=bool(told))
    return _answered(request)


def _answered(request: LookAfterRequest) -> LookedAfter:
    concern = concern_in(request.user_input)
    if concern is None:
        return LookedAfter()
    language = request.language or language_of(request.user_input, "zh")
    return LookedAfter(
        category=concern.category, severity=concern.severity, reply=fixed_text(concern, language)
    )


def fixed_text(concern: Concern, language: Language) -> str:
    """Return what a child is told about a concern."""
    return say()(concern.category, language, **companion_settings().help_in(language))
