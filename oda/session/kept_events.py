"""Recent events of the sessions that were used last, so that they are not read and parsed again."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from google.adk.events import Event

from oda.agent.turn_plugin import SessionKey

_MOST_EVENTS = 256
"""Of one session; a turn reads fewer, as a rule."""
_MOST_BYTES = 2 * 2**20
"""Of all sessions, as JSON; in memory they take about ten times as much."""


@dataclass
class _Kept:
    revision: str
    events: list[Event]
    sizes: list[int]
    whole: bool
    """Whether the session has no earlier events."""

    def trim(self) -> None:
        surplus = len(self.events) - _MOST_EVENTS
        if surplus > 0:
            del self.events[:surplus], self.sizes[:surplus]
            self.whole = False


class KeptEvents:
    """Events by session, each valid for one revision of it; the least recently used go first.

    They are shared with whoever reads the session, as ADK shares them within a run: an event that
    is stored is not to be changed.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[SessionKey, _Kept] = OrderedDict()
        self._bytes = 0

    def revision(self, key: SessionKey, recent: int | None) -> str | None:
        """Return the revision for which `recent` events are kept (None: all of them), if any."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        enough = kept.whole or (recent is not None and len(kept.events) >= recent)
        return kept.revision if enough else None

    def recent(self, key: SessionKey, recent: int | None) -> list[Event]:
        """Return the most recent events of a session for which `revision` has said that it can."""
        self._kept.move_to_end(key)
        events = self._kept[key].events
        return events[-recent:] if recent else events[:]

    def put(
        self,
        key: SessionKey,
        revision: str,
        events: Sequence[Event],
        sizes: Sequence[int],
        *,
        whole: bool,
    ) -> None:
        """Keep what was read."""
        self.forget(key)
        kept = self._kept[key] = _Kept(revision, [*events], [*sizes], whole)
        kept.trim()
        self._bytes += sum(kept.sizes)
        self._make_room()

    def append(
        self, key: SessionKey, before: str | None, revision: str, event: Event, size: int
    ) -> None:
        """Take an event that follows on the revision `before`; anything else is forgotten."""
        kept = self._kept.get(key)
        if kept is None:
            return
        if kept.revision != before:
            self.forget(key)
            return
        held = sum(kept.sizes)
        kept.revision = revision
        kept.events.append(event)
        kept.sizes.append(size)
        kept.trim()
        self._bytes += sum(kept.sizes) - held
        self._make_room()

    def forget(self, key: SessionKey) -> None:
        """Drop the events of a session."""
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= sum(kept.sizes)

    def _make_room(self) -> None:
        while self._bytes > _MOST_BYTES:
            self.forget(next(iter(self._kept)))
