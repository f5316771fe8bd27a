"""What a test tells the steps of `orchestrators.guide` to do, in one process."""

import asyncio
from collections import defaultdict


class Rehearsal:
    """Steps by name: which have run, which fail, and which wait until they may go on."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.ran: list[str] = []
        """In order; also those that then failed or were cut off."""
        self.failures: dict[str, list[Exception]] = {}
        """Raised by the next runs of a step, one each."""
        self.held: dict[str, asyncio.Event] = {}
        """A step waits until the event of its name is set."""
        self.begun: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """Set when a step is held."""
        self.at_once = self.most_at_once = 0
        """Steps that run now, and most of them at any time."""


rehearsal = Rehearsal()


async def performed(name: str) -> None:
    """Do what the test has said for a step.

    Raises:
        Exception: that which the test has prepared.
    """
    rehearsal.ran.append(name)
    if prepared := rehearsal.failures.get(name):
        raise prepared.pop(0)
    rehearsal.at_once += 1
    rehearsal.most_at_once = max(rehearsal.most_at_once, rehearsal.at_once)
    try:
        await asyncio.sleep(0)
        if (may_go_on := rehearsal.held.get(name)) is not None:
            rehearsal.begun[name].set()
            await may_go_on.wait()
    finally:
        rehearsal.at_once -= 1
