"""Reports the model usage of wrapped agents to the current meter."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from google.genai.types import GenerateContentResponseUsageMetadata as Tokens


class Meter(Protocol):
    """Counts calls of models, and limits them where that can be done."""

    def calls_left(self) -> int | None:
        """Return how many calls an agent may make; None without a limit.

        Raises:
            LimitExceededError: no calls are left.
        """
        ...

    def count(self, tokens: Tokens, model: str | None) -> None:
        """Count the usage of one answer; the model's name may be unknown."""
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
    """Return the number of calls that the meter allows; None without a meter.

    Raises:
        LimitExceededError: no calls are left.
    """
    meter = _meter.get()
    return None if meter is None else meter.calls_left()


def count(tokens: Tokens | None, model: str | None) -> None:
    """Report the usage of a model's answer to the meter, if there is one."""
    if tokens is not None and (meter := _meter.get()) is not None:
        meter.count(tokens, model)
