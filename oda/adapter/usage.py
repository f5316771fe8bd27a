"""What wrapped agents use of models, told to whoever pays for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from google.genai.types import GenerateContentResponseUsageMetadata as Tokens


class Meter(Protocol):
    """Counts calls of models, and limits them where that can be done."""

    def calls_left(self) -> int | None:
        """How many calls an agent may make; None is as many as it likes.

        Raises:
            LimitExceededError: none.
        """
        ...

    def count(self, tokens: Tokens, model: str | None) -> None:
        """Take down what one answer has cost; the model's name, where it is known."""
        ...


_meter: ContextVar[Meter | None] = ContextVar("oda_adapter_meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Have the agents that the running task invokes tell `meter`."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)


def calls_left() -> int | None:
    """What the meter allows; None where there is no meter.

    Raises:
        LimitExceededError: it allows none.
    """
    meter = _meter.get()
    return None if meter is None else meter.calls_left()


def count(tokens: Tokens | None, model: str | None) -> None:
    """Tell the meter, if there is one, what an answer of a model has cost."""
    if tokens is not None and (meter := _meter.get()) is not None:
        meter.count(tokens, model)
