"""How much work a piece of code does, counted, so that no busy machine changes it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any


def calls(work: Callable[[], object]) -> int:
    """Return how many calls of functions some work takes, built-in ones included."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def calls_of(*functions: FunctionType) -> Iterator[list[FrameType]]:
    """Yield a list that gets a frame for each call of a function on this thread."""
    codes = {function.__code__ for function in functions}
    made: list[FrameType] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in codes:
            made.append(frame)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield made
    finally:
        sys.setprofile(before)


class CountedText(str):
    """A text that counts how often such texts are compared, all together."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__
