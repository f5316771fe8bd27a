"""LRU cache of the recent events of sessions, which saves reading and parsing them again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from google.adk.events import Event

from oda.agent.turn_plugin import SessionKey

_MOST_EVENTS = 256
"""Limit per session; a turn usually reads fewer."""
_MOST_BYTES = 2 * 2**20
"""Limit for all sessions, measured as JSON; in memory, events take ten to thirty times as much."""
_IDLE_S = 300.0
"""Time after which the events of a session that nobody has read or added to are dropped."""


@dataclass
class _Kept:
    revision: str
    events: list[Event]
    sizes: list[int]
    whole: bool
    """Whether these are all events of the session."""
    used_at: float

    def trim(self) -> None:
        surplus = len(self.events) - _MOST_EVENTS
        if surplus > 0:
            del self.events[:surplus], self.sizes[:surplus]
            self.whole = False


class KeptEvents:
    """Cached events by session, each entry valid for one revision of the session.

    The event objects are shared between readers, as ADK shares them within a run, and must not be
    modified.

    Args:
        now: Returns a time in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: OrderedDict[SessionKey, _Kept] = OrderedDict()
        self._bytes = 0

    def revision(self, key: SessionKey, recent: int | None) -> str | None:
        """Return the cached revision if it has `recent` events (None: all), else None."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        enough = kept.whole or (recent is not None and len(kept.events) >= recent)
        return kept.revision if enough else None

    def recent(self, key: SessionKey, recent: int | None) -> list[Event]:
        """Return the most recent events of a session for which `revision` is not None."""
        self._note_use(key)
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
        """Replace the cached events of a session.

        Args:
            key: The session.
            revision: The revision that was read.
            events: Its most recent events, oldest first.
            sizes: The size of each event as JSON, in characters.
            whole: Whether these are all events of the session.
        """
        self.forget(key)
        kept = self._kept[key] = _Kept(revision, [*events], [*sizes], whole, self._now())
        kept.trim()
        self._bytes += sum(kept.sizes)
        self._make_room()

    def append(
        self, key: SessionKey, before: str | None, revision: str, event: Event, size: int
    ) -> None:
        """Add an event that was stored on top of the revision `before`.

        If another revision is cached, the session is dropped.
        """
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
        self._note_use(key)
        self._make_room()

    def forget(self, key: SessionKey) -> None:
        """Drop the events of a session."""
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= sum(kept.sizes)

    def _note_use(self, key: SessionKey) -> None:
        self._kept.move_to_end(key)
        self._kept[key].used_at = self._now()

    def _make_room(self) -> None:
        """Drop the sessions used longest ago: those that are idle, and what exceeds the limit."""
        idle_since = self._now() - _IDLE_S
        while self._kept:
            oldest, kept = next(iter(self._kept.items()))
            if self._bytes <= _MOST_BYTES and kept.used_at > idle_since:
                return
            self.forget(oldest)
