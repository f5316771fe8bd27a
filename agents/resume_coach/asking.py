"""A model that is asked for better words. Whatever it does, the words of the rules are there."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from pydantic import BaseModel

from oda.telemetry import get_logger

log = get_logger(__name__)

T = TypeVar("T", bound=BaseModel)

ANSWERS_WITHIN_S = 20.0
"""Somebody waits for it."""


class Ask(Protocol):
    """Has a model answer in the shape of `answer`."""

    async def __call__(
        self,
        instruction: str,
        said: str,
        answer: type[T],
        hears: Callable[[str], None] | None = None,
    ) -> T: ...


class Wordsmith:
    """Gets wordings from a model, if one is configured.

    Args:
        ask: Calls the model; None without one.
        within_s: Time limit in seconds.
    """

    def __init__(self, ask: Ask | None = None, *, within_s: float = ANSWERS_WITHIN_S) -> None:
        self._ask = ask
        self._within_s = within_s

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask."""
        return self._ask is not None

    async def words(
        self,
        instruction: str,
        said: str,
        answer: type[T],
        hears: Callable[[str], None] | None = None,
    ) -> T | None:
        """Return what the model says; None where it fails, takes too long or talks nonsense.

        Args:
            hears: Receives the text of its answer, piece by piece.
        """
        if self._ask is None:
            return None
        try:
            async with asyncio.timeout(self._within_s):
                return await self._ask(instruction, said, answer, hears)
        except Exception as error:  # whatever the model does, the rules' wording remains
            why = f"{type(error).__name__}: {error}"
            log.warning("model_found_no_words", wanted=answer.__name__, reason=why)
            return None
