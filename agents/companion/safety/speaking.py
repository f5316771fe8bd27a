"""The words of a model on their way to a child: checked and released sentence by sentence.

A sentence is released when it, and all before it, may be read by a child. So nothing has to be
taken back that a child has seen, and a child does not wait for the whole answer.
"""

import re
from collections.abc import Callable

from .answers import unsafe_kind

_SENTENCE_END = re.compile(r"[。！？!?…]+[”’」』）)\"']*\s*|\n+|\.(?:[\"')”’]+)?\s+")
_DATA = re.compile(r"\s*(?:[{\[<`]|json\b)")


class UnsafeWordsError(Exception):
    """What a model has begun to say is not for children."""


def is_data(answer: str) -> bool:
    """Return whether an answer is written in a notation for programs, and so is none."""
    return _DATA.match(answer) is not None


class Speaking:
    """Takes an answer piece by piece, and releases its sentences.

    Args:
        release: Shows words to the child.
    """

    def __init__(self, release: Callable[[str], None]) -> None:
        self._release = release
        self._heard = ""
        self._released = 0

    def __call__(self, piece: str) -> None:
        """Take a piece.

        Raises:
            UnsafeWordsError: with this piece the answer is not for children.
        """
        self._heard = f"{self._heard}{piece}" if self._heard else piece.lstrip()
        if is_data(self._heard):
            return
        ends = [found.end() for found in _SENTENCE_END.finditer(self._heard, self._released)]
        if not ends:
            return
        said = self._heard[: ends[-1]]
        if unsafe_kind(said) is not None:
            raise UnsafeWordsError
        self._release(said[self._released :])
        self._released = len(said)
