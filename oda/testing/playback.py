"""Which step of a script comes next."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .script import BaseStep, Cue

S = TypeVar("S", bound=BaseStep)


@dataclass(slots=True)
class _Open(Generic[S]):
    step: S
    left: int | None


class Playback(Generic[S]):
    """A script being played: gives each model call its step and forgets steps that are used up."""

    def __init__(self, steps: Iterable[S], *, default: S) -> None:
        self._default = default
        self._open: list[_Open[S]] = []
        self.add(*steps)

    @property
    def remaining(self) -> tuple[S, ...]:
        """Steps that still have to answer a call; those that answer for ever are not counted."""
        return tuple(entry.step for entry in self._open if entry.left is not None)

    def add(self, *steps: S) -> None:
        """Append steps to the end of the script."""
        self._open.extend(_Open(step, step.times) for step in steps)

    def take(self, cue: Cue) -> S:
        """The first unused step that matches, or the default."""
        for index, entry in enumerate(self._open):
            if not entry.step.match.fits(cue):
                continue
            if entry.left is not None:
                entry.left -= 1
                if entry.left == 0:
                    del self._open[index]
            return entry.step
        return self._default
