"""What is told of a turn, and to whom."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

NotifyEvent = Literal["done", "waiting_input"]
ALL_EVENTS: tuple[NotifyEvent, ...] = ("done", "waiting_input")


class Notify(BaseModel):
    """An address that is told of a turn."""

    model_config = ConfigDict(frozen=True)

    url: str
    """As `checked_url` returns it."""
    events: tuple[NotifyEvent, ...] = ALL_EVENTS
