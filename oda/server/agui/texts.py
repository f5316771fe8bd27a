"""The texts and thoughts of a run: begun, continued and ended as AG-UI wants it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ag_ui.core.events import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

Kind = Literal["PLAIN", "THINK"]


@dataclass
class _Open:
    message_id: str
    kind: Kind
    name: str | None
    text: str = ""


class Texts:
    """The texts that are open, by their spans."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[Kind, str | None]] = {}
        """Kind and author of each span, before its text begins."""
        self._open: dict[str, _Open] = {}

    def announce(self, span_id: str, kind: Kind, author: str | None) -> None:
        self._kinds[span_id] = kind, author

    def say(self, span_id: str, message_id: str, text: str) -> Iterator[BaseEvent]:
        """A piece of a text, which may be its first."""
        known = self._open.get(span_id)
        if known is None:
            kind, name = self._kinds.get(span_id, ("PLAIN", None))
            known = self._open[span_id] = _Open(message_id, kind, name)
            yield from _begin(known)
        if text:
            known.text += text
            if known.kind == "THINK":
                yield ReasoningMessageContentEvent(message_id=known.message_id, delta=text)
            else:
                yield TextMessageContentEvent(message_id=known.message_id, delta=text)

    def said(self, span_id: str) -> str:
        """Return what has been said of an open text."""
        known = self._open.get(span_id)
        return known.text if known else ""

    def end(self, span_id: str) -> Iterator[BaseEvent]:
        """End a text, if it is open."""
        if (known := self._open.pop(span_id, None)) is not None:
            yield from _end(known)

    def end_all(self) -> Iterator[BaseEvent]:
        for span_id in [*self._open]:
            yield from self.end(span_id)


def _begin(text: _Open) -> Iterator[BaseEvent]:
    if text.kind == "THINK":
        yield ReasoningStartEvent(message_id=text.message_id)
        yield ReasoningMessageStartEvent(message_id=text.message_id)
    else:
        yield TextMessageStartEvent(
            message_id=text.message_id, role="assistant", name=text.name or None
        )


def _end(text: _Open) -> Iterator[BaseEvent]:
    if text.kind == "THINK":
        yield ReasoningMessageEndEvent(message_id=text.message_id)
        yield ReasoningEndEvent(message_id=text.message_id)
    else:
        yield TextMessageEndEvent(message_id=text.message_id)
