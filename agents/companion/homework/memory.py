"""Data that the scene `homework` keeps between turns."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from mcp_tools.homework import Item
from oda.orchestration.state import Data

from ..rules import rules
from .judging import Corrected

LAST_LEVEL = 3


class Memory(BaseModel):
    """The work, what is known of it, and where the child is with it."""

    model_config = ConfigDict(frozen=True)

    work: list[Item] = []
    """Collected items that are not checked yet."""
    items: list[Corrected] = []
    """Checked items."""
    subject: str | None = None
    at: Annotated[int, Field(ge=0)] = 0
    """Index of the item that is talked about."""
    level: Annotated[int, Field(ge=0, le=LAST_LEVEL)] = 0
    """Level of the latest hint for the current item."""
    unsure: str | None = None
    """What may be the answer to that item: the child is asked."""
    solved: list[int] = []
    """Indexes of the items that were put right since."""

    @classmethod
    def of(cls, data: Data) -> "Memory":
        """Return the memory in a scene's data; an empty one if the data is invalid."""
        try:
            memory = cls.model_validate(data)
        except ValidationError:
            return cls()
        is_sound = memory.at < max(1, len(memory.work), len(memory.items))
        return memory if is_sound else cls()

    def kept(self, data: Data) -> Mapping[str, JsonValue]:
        """As the scene's data, with what is carried from scene to scene."""
        kept: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True)
        carried = {name: data[name] for name in rules().carried if name in data}
        return {**kept, **carried}

    def with_changes(self, **changes: Any) -> "Memory":
        """The same with other values."""
        return self.model_copy(update=changes)

    @property
    def unanswered(self) -> int | None:
        """Index of the next piece of work without an answer, from `at` on."""
        later = range(self.at, len(self.work))
        return next((index for index in later if self.work[index].answer is None), None)

    def to_tutor(self, start: int) -> int | None:
        """Index of the next item that is wrong or unanswered, from `start` on."""
        later = range(start, len(self.items))
        return next((index for index in later if self.needs_help(index)), None)

    def needs_help(self, index: int) -> bool:
        """Whether a checked item is wrong or unanswered, and was not put right since."""
        if not 0 <= index < len(self.items) or index in self.solved:
            return False
        item = self.items[index]
        return item.correct is False or (item.correct is None and item.answer is None)
