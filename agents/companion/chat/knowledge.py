"""Facts that the companion can look up for a child, shared by rules and a model's tools."""

from datetime import timedelta
from typing import Any

from mcp_tools.recitation import MAX_UNITS, find
from oda.orchestration import StepContext

from ..homework.progress import ProgressRequest, progress_of
from ..learning.store import learning

_MAX_NAME = 200


class Knowledge:
    """Looks things up for one child."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    async def current_time(self) -> dict[str, str]:
        """Tell the child's date, weekday and time."""
        now = self._context.now
        return {"date": f"{now:%Y-%m-%d}", "weekday": f"{now:%A}", "time": f"{now:%H:%M}"}

    async def schedule_of_day(self, days_from_today: int = 0) -> dict[str, Any]:
        """Tell what the child is to recite and to do.

        Args:
            days_from_today: 0 is today, 1 is tomorrow.
        """
        day = self._context.today + timedelta(days=max(-31, min(31, days_from_today)))
        schedule = await learning.schedule(self._context.user_id, day)
        items = [item.model_dump(exclude_none=True, exclude={"text"}) for item in schedule.items]
        return {"day": day.isoformat(), "items": items}

    async def find_poem(self, title: str) -> dict[str, Any]:
        """Find a well-known poem or text by its title or first line, with author and wording.

        Args:
            title: A title or the beginning; small errors do not matter.
        """
        found = find(title[:_MAX_NAME]) if title.strip() else None
        if found is None:
            return {"error": f"There is no text called {title[:_MAX_NAME]!r} in the library."}
        return {"title": found.title, "author": found.author, "text": found.text[:MAX_UNITS]}

    async def learning_progress(self, days: int = 7) -> dict[str, Any]:
        """Tell how the child has done in each subject: attempts, right ones, and the trend.

        Args:
            days: How many days to look back.
        """
        request = ProgressRequest(days=max(1, min(days, 90)))
        return (await progress_of(request, self._context)).model_dump()
