"""Pieces of texts that are shown once, also when a reader gets a text so far as a whole."""

from collections.abc import Iterable
from itertools import groupby

from google.adk.events import Event
from google.genai.types import Content, Part

from oda.turn.log import is_marked, texts_of, unmarked

_Texts = list[tuple[bool, str]]
"""Texts of one kind that follow each other are one; true for a thought."""


class NewPieces:
    """Takes from previews what has been shown of their text before.

    A log that is opened again in memory gives each text so far as one marked preview.
    """

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str | None], _Texts] = {}

    def of(self, event: Event) -> Event | None:
        """Return an event of the log with what is new in it; None if nothing is."""
        stream = event.author, event.branch
        if not event.partial:
            if event.author == "system" and event.error_code:
                self._shown.clear()
            self._shown.pop(stream, None)
            return event
        if not texts_of(event):
            return event
        shown = self._shown.get(stream, [])
        texts = _joined((bool(part.thought), part.text or "") for part in texts_of(event))
        if is_marked(event):
            rest = _rest(shown, texts)
            if rest is None:  # the complete event will tell what holds
                return None
            self._shown[stream] = texts
            return _with(unmarked(event), rest) if rest else None
        self._shown[stream] = _joined([*shown, *texts])
        return event


def _joined(texts: Iterable[tuple[bool, str]]) -> _Texts:
    groups = groupby(texts, key=lambda item: item[0])
    return [(kind, "".join(text for _, text in group)) for kind, group in groups]


def _rest(shown: _Texts, texts: _Texts) -> _Texts | None:
    """Return what follows the texts that were shown; None if others were."""
    if not shown:
        return texts
    *before, (kind, text) = shown
    last = len(before)
    if texts[:last] != before or len(texts) <= last or texts[last][0] != kind:
        return None
    if not texts[last][1].startswith(text):
        return None
    new = texts[last][1].removeprefix(text)
    return [*([(kind, new)] if new else []), *texts[last + 1 :]]


def _with(event: Event, texts: _Texts) -> Event:
    parts = [Part(text=text, thought=thought or None) for thought, text in texts]
    role = event.content.role if event.content else None
    return event.model_copy(update={"content": Content(role=role, parts=parts)})
