"""The seam at which an application looks after its users, in every scene."""

from collections.abc import Sequence
from typing import Any, ClassVar

from oda.orchestration.response import Reply
from oda.orchestration.step import Step
from oda.orchestration.workflow import SceneTurn


class Watch:
    """Sees each message before it is classified or refused, and each reply before the user."""

    steps: ClassVar[Sequence[Step[Any, Any]]] = ()

    async def interrupts(self, scene: str, turn: SceneTurn) -> Reply | None:
        """Answer a message in place of the scenes; None lets it pass.

        The open question about another scene is dropped. The active scene stays as it is, unless
        the reply leaves it.

        Args:
            scene: The active one, whose phase and data the turn holds.
        """
        return None

    def completed(self, turn: SceneTurn, reply: Reply) -> Reply:
        """Return a reply as the user gets it."""
        return reply
