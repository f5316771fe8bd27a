"""Running summary of the messages that have left the model's window, by ADK's compaction.

It is made after a turn, so that no answer is delayed: by the model if the model has answered the
turn, else without one. So sessions answered by rules alone never call a model, and the history
loaded for a turn stays short.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

from .memory import Layer, turn_in
from .settings import CvSettings
from .window import SUMMARY_MARK, digest, summary_of

log = logging.getLogger(__name__)

_PROMPT = """\
Summarise this conversation about editing a resume, for the assistant that goes on with it. In the \
language of the person, in at most {chars} characters: what the person wants and prefers, what \
has been changed, what is still open. Keep names, dates and numbers exactly as the person gave \
them, and add none. Leave out what the resume itself holds.

{{conversation_history}}"""

_answered_by: ContextVar[Layer] = ContextVar("cv_turn_answered_by", default="none")
"""The layer that has answered the turn that has just ended."""


class TurnEnds(BasePlugin):
    """Tells ADK's compaction when enough has fallen out of the window: only then, after a turn."""

    def __init__(self, window_messages: int) -> None:
        super().__init__(name="cv_turn_ends")
        self._window_messages = window_messages

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Prevent a summary before the answer."""
        invocation_context.events_compaction_config = None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Record which layer answered, and how many messages have left the window.

        The number is placed where ADK expects the token count of the latest prompt: in an event
        that exists only in the loaded session and is never stored.
        """
        session, invocation_id = invocation_context.session, invocation_context.invocation_id
        turn = turn_in(reversed(session.events), invocation_id)
        _answered_by.set(turn.layer if turn else "none")
        fallen = max(0, _since_summary(session.events) - self._window_messages)
        counted = GenerateContentResponseUsageMetadata(prompt_token_count=fallen)
        session.events.append(
            Event(author="cv", invocation_id=invocation_id, usage_metadata=counted)
        )


class RunningSummary(BaseEventsSummarizer):
    """Summarises what ADK is about to leave out, once that is enough. Never raises."""

    def __init__(self, model: BaseLlm, available: Callable[[], bool], settings: CvSettings) -> None:
        prompt = _PROMPT.format(chars=settings.summary_chars)
        self._model = LlmEventSummarizer(model, prompt_template=prompt)
        self._available = available
        self._settings = settings

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event with the summary; the first of `events` may be the summary before."""
        text = None
        if _answered_by.get() == "llm" and self._available():
            text = await self._by_model(events)
        return _compaction(events, text or self._digest(events))

    async def _by_model(self, events: list[Event]) -> str | None:
        try:
            async with asyncio.timeout(self._settings.summary_timeout_s):
                made = await self._model.maybe_summarize_events(events=events)
        except Exception as error:
            log.warning("a summary was made without the model: %s", error)
            return None
        compaction = made.actions.compaction if made else None
        parts = (compaction and compaction.compacted_content.parts) or []
        text = "".join(part.text for part in parts if part.text and not part.thought).strip()
        return f"{SUMMARY_MARK}\n{text[: self._settings.summary_chars]}" if text else None

    def _digest(self, events: Sequence[Event]) -> str:
        contents = [event.content for event in events if event.content]
        earlier = (contents and summary_of(contents[0])) or ""
        said = contents[1:] if earlier else contents
        return digest(said, summary=earlier, longest=self._settings.summary_chars)


def compaction(
    model: BaseLlm, available: Callable[[], bool], settings: CvSettings
) -> EventsCompactionConfig:
    """ADK's configuration; what it takes for tokens is what `TurnEnds` counts."""
    return EventsCompactionConfig(
        summarizer=RunningSummary(model, available, settings),
        token_threshold=settings.summary_after + 1,
        event_retention_size=settings.window_messages + 1,  # the event that tells the number
    )


def _since_summary(events: Sequence[Event]) -> int:
    """How many of the loaded events no summary tells."""
    ends = [event.actions.compaction.end_timestamp for event in events if event.actions.compaction]
    told_until = ends[-1] if ends else 0.0
    return sum(event.timestamp > told_until and not event.actions.compaction for event in events)


def _compaction(events: Sequence[Event], text: str) -> Event:
    content = Content(role="model", parts=[Part(text=text or SUMMARY_MARK)])
    covered = EventCompaction(
        start_timestamp=events[0].timestamp,
        end_timestamp=events[-1].timestamp,
        compacted_content=content,
    )
    return Event(
        author="user", invocation_id=Event.new_id(), actions=EventActions(compaction=covered)
    )
