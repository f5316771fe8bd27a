"""The watch that ends a day's time kindly and lets a tired child rest."""

from functools import cache
from pathlib import Path

from oda.orchestration import Reply, SceneTurn, Watch
from oda.orchestration.wording import Wording

from ..learning.time_spent import time_spent
from ..parents.families import families
from ..phrases import Phrases
from ..settings import companion_settings
from ..wording import wording

_HERE = Path(__file__).parent


class BreakWatch(Watch):
    """Counts the time of each message, also where there is no limit: parents see it."""

    async def interrupts(self, scene: str, turn: SceneTurn) -> Reply | None:
        """End the task when the time of the day is over, or the child is tired."""
        if not families().is_parent(turn.user_id):
            seconds, limit = await time_spent.spend(turn.user_id, turn.now)
            minutes = companion_settings().daily_minutes if limit is None else limit.daily_minutes
            if minutes is not None and seconds >= 60 * minutes:
                sentence = "time_is_up" if minutes else "not_today"
                text = say()(sentence, turn.language, minutes=str(minutes))
                return Reply(text=text, phase="idle", leaves=True)
        if _phrases().find(turn.text) is None:
            return None
        return Reply(
            text=say()("tired", turn.language),
            phase="idle",
            suggested_actions=say().choices("when_rested", turn.language),
            leaves=True,
        )


@cache
def say() -> Wording:
    """The sentences about breaks."""
    return wording(_HERE)


@cache
def _phrases() -> Phrases:
    return Phrases(_HERE / "phrases.yaml")
