"""The texts of one answer of a model: first in pieces, if it is streamed, then whole."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from google.genai.types import Part

from oda.message.protocol.open_spans import OpenSpans

_Kind = Literal["THINK", "PLAIN"]
_TITLES: dict[_Kind, str] = {"THINK": "thought", "PLAIN": "text"}


@dataclass
class _Said:
    span_id: str
    message_id: str
    kind: _Kind
    text: str = ""


class AnswerTexts:
    """Writes the thoughts and texts of one answer, each into a span of its own.

    What was streamed is closed by the whole text of its kind in the complete answer. Where the two
    do not fit together, the complete answer holds, and what was streamed is withdrawn.
    """

    def __init__(self, spans: OpenSpans, step: str, agent: str) -> None:
        self._spans = spans
        self._step = step
        self._agent = agent
        self._streamed: list[_Said] = []

    @property
    def streaming(self) -> bool:
        """Whether text has been streamed that no complete answer has followed yet."""
        return bool(self._streamed)

    def add(self, parts: Iterable[Part]) -> None:
        """Pieces of texts."""
        for kind, text in _texts(parts):
            last = self._streamed[-1] if self._streamed else None
            if last is None or last.kind != kind:
                if last is not None:
                    self._close(last, last.text)
                last = self._open(kind)
                self._streamed.append(last)
            last.text += text
            self._spans.say(last.span_id, last.message_id, text, delta=True)

    def complete(self, parts: Iterable[Part]) -> list[str]:
        """All texts of the answer; the ids of messages that do not hold any more."""
        streamed, self._streamed = self._streamed, []
        for kind, text in _texts(parts):
            said = next((said for said in streamed if self._may_be(said, kind, text)), None)
            if said is None:
                self._close(self._open(kind), text)
            else:
                streamed.remove(said)
                self._close(said, text)
        return self._withdraw(streamed)

    def withdraw(self) -> list[str]:
        """Withdraw the texts that no complete answer has followed.

        Return the ids of their messages.
        """
        streamed, self._streamed = self._streamed, []
        return self._withdraw(streamed)

    def _may_be(self, said: _Said, kind: _Kind, text: str) -> bool:
        return said.kind == kind and (self._spans.is_open(said.span_id) or said.text == text)

    def _open(self, kind: _Kind) -> _Said:
        span_id = self._spans.start(kind, _TITLES[kind], inside=self._step, agent=self._agent)
        return _Said(span_id, self._spans.new_text_id(), kind)

    def _close(self, said: _Said, text: str) -> None:
        if self._spans.is_open(said.span_id):
            self._spans.say(said.span_id, said.message_id, text, delta=False)
            self._spans.end(said.span_id, "ok")

    def _withdraw(self, streamed: Sequence[_Said]) -> list[str]:
        for said in streamed:
            self._spans.end(said.span_id, "interrupted")
        return [said.message_id for said in streamed]


def _texts(parts: Iterable[Part]) -> list[tuple[_Kind, str]]:
    """The texts in parts, those of one kind that follow each other put together."""
    said = [(_kind(part), part.text) for part in parts if part.text]
    return [
        (kind, "".join(text for _, text in texts))
        for kind, texts in groupby(said, key=lambda item: item[0])
    ]


def _kind(part: Part) -> _Kind:
    return "THINK" if part.thought else "PLAIN"
