"""What a test and the agents of `turn_agents` tell each other, by name, in one process."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Cues:
    """Who holds until told to go on, and what has been done."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.begun: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """Set when the model is asked to hold under a name."""
        self.go: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """Lets it answer."""
        self.asked: list[str] = []
        """The user's text of each model call, in order."""
        self.paid: list[int] = []
        self.most_at_once: Counter[str] = Counter()
        """Most model calls at once in each session."""
        self._inside: Counter[str] = Counter()

    @contextmanager
    def inside(self, session: str) -> Iterator[None]:
        self._inside[session] += 1
        self.most_at_once[session] = max(self.most_at_once[session], self._inside[session])
        try:
            yield
        finally:
            self._inside[session] -= 1


cues = Cues()
