"""The open spans, and the messages in them."""

from collections import Counter
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
    """Writes messages whose spans nest correctly: no span outlives its parent.

    An id consists of the number of complete entries so far, a kind, and a count of that kind since
    then: it does not depend on whether a text was previewed, or in how many pieces. Times never
    decrease.
    """

    previewing: bool = False
    """Whether the current messages come from a preview, which other readers may not have seen."""

    def __init__(self) -> None:
        self._open: dict[str, SpanStart] = {}
        self._written: list[Message] = []
        self._entry = 1
        self._counts: Counter[str] = Counter()
        self._now = datetime.fromtimestamp(0, UTC)

    def take(self) -> list[Message]:
        """Return and clear the messages written since the last call."""
        written, self._written = self._written, []
        return written

    def next_entry(self) -> None:
        """Finish a complete entry: all of its messages have been written."""
        self._entry += 1
        self._counts.clear()

    def _new_id(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}_{self._entry}_{self._counts[kind]}"

    def at(self, time: datetime) -> None:
        """Set the time of subsequent messages."""
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
        span = SpanStart(
            span_id=self._new_id(f"span_{name.lower()}"),
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

    def new_text_id(self) -> str:
        return self._new_id("text")

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
                message_id=self._new_id("progress" if self.previewing else "msg"),
                channel=channel,
                data=dict(data),
                timestamp=self._now,
            )
        )
