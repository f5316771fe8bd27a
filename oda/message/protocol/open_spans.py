"""The spans that are open, and what is said in them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from oda.message.protocol.records import (
    ContentChannel,
    ContentMessage,
    Message,
    SpanEnd,
    SpanName,
    SpanOutcome,
    SpanStart,
)

Outcomes = Callable[[SpanStart], SpanOutcome]


def cut_off(span: SpanStart) -> SpanOutcome:
    """The outcome of a span that is closed because what it is in has ended well."""
    return "ok" if span.name in ("PROCEDURE", "TASK") else "interrupted"


class OpenSpans:
    """Writes messages that nest rightly: no span outlives the one in which it is.

    Ids are counted, so the same writing gives the same ids. Times never go back.
    """

    def __init__(self) -> None:
        self._open: dict[str, SpanStart] = {}
        self._written: list[Message] = []
        self._spans = 0
        self._messages = 0
        self._now = datetime.fromtimestamp(0, UTC)

    def take(self) -> list[Message]:
        """What has been written since the last time."""
        written, self._written = self._written, []
        return written

    def at(self, time: datetime) -> None:
        """What is written from now on is of this time."""
        self._now = max(self._now, time)

    def is_open(self, span_id: str | None) -> bool:
        return span_id in self._open

    def start(
        self,
        name: SpanName,
        title: str,
        *,
        inside: str | None,
        agent: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> str:
        """Open a span inside an open one, or the outermost; its id."""
        self._spans += 1
        span = SpanStart(
            span_id=f"span_{self._spans}",
            parent_id=inside,
            name=name,
            title=title,
            agent=agent,
            detail=dict(detail or {}),
            timestamp=self._now,
        )
        self._open[span.span_id] = span
        self._written.append(span)
        return span.span_id

    def end(
        self,
        span_id: str | None,
        outcome: SpanOutcome | Outcomes,
        error: dict[str, Any] | None = None,
    ) -> None:
        """Close a span, if it is open, after all that is open inside it."""
        span = self._open.get(span_id or "")
        if span is None:
            return
        for child in reversed(self._inside(span.span_id)):
            self.end(child, outcome)
        del self._open[span.span_id]
        self._written.append(
            SpanEnd(
                span_id=span.span_id,
                name=span.name,
                outcome=outcome if isinstance(outcome, str) else outcome(span),
                error=error,
                timestamp=self._now,
            )
        )

    def with_all_inside(self, span_id: str) -> set[str]:
        """An open span and all open ones below it."""
        found = {span_id}
        for span in self._open.values():
            if span.parent_id in found:
                found.add(span.span_id)
        return found

    def _inside(self, span_id: str) -> list[str]:
        return [span.span_id for span in self._open.values() if span.parent_id == span_id]

    def new_message_id(self) -> str:
        self._messages += 1
        return f"msg_{self._messages}"

    def say(self, span_id: str, message_id: str, text: str, *, delta: bool) -> None:
        """A text, or a piece of it."""
        self._written.append(
            ContentMessage(
                span_id=span_id,
                message_id=message_id,
                channel="PLAIN",
                delta=delta,
                text=text,
                timestamp=self._now,
            )
        )

    def tell(self, span_id: str, channel: ContentChannel, data: Mapping[str, Any]) -> None:
        """Data, in a message of its own."""
        self._written.append(
            ContentMessage(
                span_id=span_id,
                message_id=self.new_message_id(),
                channel=channel,
                data=dict(data),
                timestamp=self._now,
            )
        )
