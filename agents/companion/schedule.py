"""A child's tasks for today, and the step `learning-schedule` that looks them up."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, JsonValue, ValidationError

from oda.orchestration import StepContext, step

from .learning.records import MOST_SCHEDULED, Day, Schedule, ScheduleItem
from .learning.store import learning


class ScheduleRequest(BaseModel):
    """A day; by default today."""

    day: Day | None = None


@step("learning-schedule", timeout_s=10.0)
async def learning_schedule(request: ScheduleRequest, context: StepContext) -> Schedule:
    """Tell what is to be done on a day.

    There is no fallback: "nothing" would be a lie when the store cannot be read.
    """
    return await learning.schedule(context.user_id, request.day or context.today)


def _items(value: object) -> list[ScheduleItem]:
    """Return the first `MOST_SCHEDULED` valid items of a list; invalid ones are left out."""
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [item for one in listed[:MOST_SCHEDULED] if (item := _item(one)) is not None]


def _item(value: object) -> ScheduleItem | None:
    if isinstance(value, ScheduleItem):
        return value
    if isinstance(value, str):
        value = {"title": value}
    if not isinstance(value, Mapping):
        return None
    try:
        return ScheduleItem.model_validate(
            {name: value[name] for name in ScheduleItem.model_fields if name in value}
        )
    except ValidationError:
        return None


class Today(BaseModel):
    """The tasks of today, as a session carries them from scene to scene."""

    items: Annotated[list[ScheduleItem], BeforeValidator(_items)] = []
    passed: list[str] = []
    """Titles that have been recited well."""

    @classmethod
    def of(cls, carried: JsonValue) -> "Today":
        """Return the schedule from a request or a session, tolerating any value."""
        try:
            return cls.model_validate(
                carried if isinstance(carried, Mapping) else {"items": carried}
            )
        except ValidationError:
            return cls()

    @property
    def to_recite(self) -> list[ScheduleItem]:
        """The texts that remain to be recited."""
        return [
            item for item in self.items if item.kind == "recite" and item.title not in self.passed
        ]

    def kept(self) -> JsonValue:
        """As a session keeps it; long texts stay in the store."""
        return self.model_dump(
            mode="json", exclude_none=True, exclude={"items": {"__all__": {"text"}}}
        )
