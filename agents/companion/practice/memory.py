"""Data that the scene `practice` keeps between turns."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from oda.orchestration.state import Data

from ..homework.judging import HomeworkText
from ..homework.memory import LAST_LEVEL
from ..rules import rules


class Practice(BaseModel):
    """A question that is practised."""

    model_config = ConfigDict(frozen=True)

    question: HomeworkText
    subject: str
    topic: str = ""


class Memory(BaseModel):
    """The questions, and where the child is with them."""

    model_config = ConfigDict(frozen=True)

    items: list[Practice] = []
    at: Annotated[int, Field(ge=0)] = 0
    level: Annotated[int, Field(ge=0, le=LAST_LEVEL)] = 0
    """Level of the latest hint for the current question."""
    answer: str | None = None
    """The latest wrong answer to the current question: it is on record already."""
    unsure: str | None = None
    """What may be the answer: the child is asked."""
    days: Annotated[int, Field(ge=1)] = 1
    """After how many days the current question comes back."""
    right: Annotated[int, Field(ge=0)] = 0
    """How many were right at once."""

    @classmethod
    def of(cls, data: Data) -> "Memory":
        """Return the memory in a scene's data; an empty one if the data is invalid."""
        try:
            memory = cls.model_validate(data)
        except ValidationError:
            return cls()
        return memory if memory.at < max(1, len(memory.items)) else cls()

    def kept(self, data: Data) -> Mapping[str, JsonValue]:
        """As the scene's data, with what is carried from scene to scene."""
        kept: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True)
        return {**kept, **{name: data[name] for name in rules().carried if name in data}}

    def with_changes(self, **changes: Any) -> "Memory":
        """The same with other values."""
        return self.model_copy(update=changes)

    @property
    def item(self) -> Practice:
        """The current question."""
        return self.items[self.at]
