"""The watches of the companion, each asked in turn before any scene."""

from collections.abc import Sequence
from typing import Any

from oda.orchestration import Reply, SceneTurn, Step, Watch


class Watches(Watch):
    """Several watches as one: the first that has an answer gives it."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches

    @property
    def steps(self) -> Sequence[Step[Any, Any]]:  # type: ignore[override]
        """The steps of all."""
        return tuple(step for watch in self._watches for step in watch.steps)

    async def interrupts(self, scene: str, turn: SceneTurn) -> Reply | None:
        """Return the first answer."""
        for watch in self._watches:
            if (reply := await watch.interrupts(scene, turn)) is not None:
                return reply
        return None

    def completed(self, turn: SceneTurn, reply: Reply) -> Reply:
        """Return the reply as all of them want it."""
        for watch in self._watches:
            reply = watch.completed(turn, reply)
        return reply
