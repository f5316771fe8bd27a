"""The guard of facts: what the model may not write, since neither person nor resume has said it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content

from mcp_tools.resume import (
    Answer,
    BatchError,
    Edit,
    Language,
    NotAloneError,
    edit_all,
    refusal,
)
from mcp_tools.resume.access import texts_in
from mcp_tools.resume.facts import Known, unsaid_by
from mcp_tools.resume.fit import job_in

from .dialogue.phrases import joined, phrase
from .memory import Memory

UNSAID = "unsaid"
"""The code of the refusal."""
_MOST_TOLD = 8


def invented(
    edits: Sequence[Edit], memory: Memory, context: ToolContext
) -> Sequence[Answer] | None:
    """Return the refusals of a batch that states what nobody has said; None if it may be made."""
    try:
        made = edit_all(memory.resume, edits)
    except BatchError:
        return None  # the desk says what is wrong
    known = known_facts(memory, context)
    before = [memory.resume, *(edited.resume for edited in made)]
    found = [
        unsaid_by(edited.patch, known, before=resume.to_json())
        for edited, resume in zip(made, before, strict=False)
    ]
    if not any(found):
        return None
    said = [unsaid_error(facts, memory.language) for facts in found]
    reason = next(error for error in said if error is not None)
    return [
        {"success": False, "path": edit.path, "value": None, "error": error, "code": UNSAID}
        if error is not None
        else refusal(NotAloneError(reason=reason), memory.language, path=edit.path)
        for edit, error in zip(edits, said, strict=True)
    ]


def unsaid_error(facts: Sequence[str], language: Language) -> str | None:
    """Return the words of a refusal, None if there are no facts that nobody has given."""
    if not facts:
        return None
    told = joined((f"“{fact}”" for fact in facts[:_MOST_TOLD]), language)
    return phrase("unsaid", language, facts=told)


def known_facts(memory: Memory, context: CallbackContext, *also: str) -> Known:
    """Read what the person has said, what the resume says and has said; and what else is known.

    A job description in a message is not what the person says of themselves.
    """
    said = [
        *also,
        *_said(context.session.events),
        *_said_now(context),
        *(text for item in memory.pending for text in texts_in(item.model_dump(mode="json"))),
        *_texts_of_edits(memory),
    ]
    return Known.beside(memory.resume, said, today=datetime.now(tz=UTC).date())


def _said(events: Sequence[Event]) -> Iterator[str]:
    """The person's own words, as far back as the session is loaded."""
    for event in events:
        if event.author == "user" and event.content and not event.actions.compaction:
            yield from _own_words(event.content)


def _said_now(context: CallbackContext) -> Iterator[str]:
    if context.user_content:
        yield from _own_words(context.user_content)


def _own_words(content: Content) -> Iterator[str]:
    yield from (job_in(part.text)[0] for part in content.parts or [] if part.text)


def _texts_of_edits(memory: Memory) -> Iterator[str]:
    """Yield earlier texts of the resume, which a person may want back."""
    for edit in memory.history:
        for operation in (*edit["patch"], *edit["inverse"]):
            yield from texts_in(operation.get("value"))
