"""Data that the scene `recite` keeps between turns."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from oda.orchestration.state import Data

from ..schedule import Today

MAX_ROUNDS = 3


class Material(BaseModel):
    """A text that is recited, or that may be."""

    model_config = ConfigDict(frozen=True)

    title: str
    text: Annotated[str, Field(min_length=1)]
    author: str | None = None


class Memory(BaseModel):
    """The agreed text, and the child's progress with it."""

    model_config = ConfigDict(frozen=True)

    material: Material | None = None
    asked: Material | None = None
    """A text that may be the right one: the child or a parent is asked."""
    wanted: str | None = None
    """A title whose text is unknown: the child is asked to send it."""
    said: str = ""
    """The attempt so far."""
    stopped_at: Annotated[int, Field(ge=0)] | None = None
    """Position where the latest attempt stopped; None if it reached the last line."""
    round: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = 1
    hinted: int | None = None
    """Position of the latest hint."""
    today: Today = Today()

    @classmethod
    def of(cls, data: Data) -> "Memory":
        """Return the memory in a scene's data; an empty one if the data is invalid."""
        today = Today.of(data.get("learning_schedule"))
        try:
            return cls.model_validate({**data, "today": today})
        except ValidationError:
            return cls(today=today)

    def kept(self) -> Mapping[str, JsonValue]:
        """As the scene's data."""
        kept: dict[str, Any] = self.model_dump(
            mode="json", exclude_defaults=True, exclude={"today"}
        )
        return {**kept, "learning_schedule": self.today.kept()}

    def about(self, material: Material) -> "Memory":
        """A new text, from the beginning."""
        return Memory(material=material, today=self.today)

    def with_changes(self, **changes: Any) -> "Memory":
        """The same with other values."""
        return self.model_copy(update=changes)
