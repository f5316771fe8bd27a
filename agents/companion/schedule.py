"""What a child is to do today, and the step `learning-schedule` that looks it up."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, JsonValue, ValidationError

from oda.orchestration import StepContext, step

from .learning.records import Schedule, ScheduleItem
from .learning.store import learning


class ScheduleRequest(BaseModel):
    """A day; by default today."""

    day: date | None = None


@step("learning-schedule", timeout_s=10.0)
async def learning_schedule(request: ScheduleRequest, context: StepContext) -> Schedule:
    """Tell what is to be done on a day.

    There is no fallback: "nothing" would be a lie when the store cannot be read.
    """
    return await learning.schedule(context.user_id, request.day or context.today)


def _items(value: object) -> list[ScheduleItem]:
    """The items of a list, or of an object that has one; what is none is left out."""
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [item for one in listed if (item := _item(one)) is not None]


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
    """What is to be done today, as a session carries it from scene to scene."""

    items: Annotated[list[ScheduleItem], BeforeValidator(_items)] = []
    passed: list[str] = []
    """Titles that have been recited well."""

    @classmethod
    def of(cls, carried: JsonValue) -> "Today":
        """The schedule in a request or in a session, whatever stands there."""
        try:
            return cls.model_validate(
                carried if isinstance(carried, Mapping) else {"items": carried}
            )
        except ValidationError:
            return cls()

    @property
    def to_recite(self) -> list[ScheduleItem]:
        """What is to be recited and has not been yet."""
        return [
            item for item in self.items if item.kind == "recite" and item.title not in self.passed
        ]

    def kept(self) -> JsonValue:
        """As a session keeps it; long texts stay in the store."""
        return self.model_dump(
            mode="json", exclude_none=True, exclude={"items": {"__all__": {"text"}}}
        )
