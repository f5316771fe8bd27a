"""Neighbours that were said in the other order."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from .align import Block
from .sounds import as_heard
from .units import Units

_FARTHEST = 12
"""How many blocks of an alignment one swap may span."""
_MOST_UNEVEN = 3
"""A run that moved past more than this multiple of its length is missing here and extra there."""


def mistakes(
    blocks: Sequence[Block], expected: Units, said: Units, sounds: Mapping[str, str]
) -> Iterator[Block]:
    """The blocks that are not equal, in order; those that together are a swap as one block.

    A swap is two neighbouring runs that were exchanged; homophones count as the same there. It
    reads better than what it was aligned as, and costs the same: the shorter run is missing
    where it belongs and extra where it was said. `sounds` are the `sound_keys` of both texts.
    """
    search = _Search(blocks, expected, said, sounds)
    number = 0
    while number < len(blocks):
        if blocks[number].kind == "equal":
            number += 1
        elif found := next(search.swaps_from(number), None):
            number, swap = found
            yield swap
        else:
            yield blocks[number]
            number += 1


class _Search:
    def __init__(
        self, blocks: Sequence[Block], expected: Units, said: Units, sounds: Mapping[str, str]
    ) -> None:
        self._expected = as_heard(expected.units, sounds)
        self._said = as_heard(said.units, sounds)
        self._blocks = blocks
        self._costs = [0.0, *accumulate(block.cost for block in blocks)]
        self._bounds = [*sorted(expected.clause_starts), len(expected.units)]

    def swaps_from(self, first: int) -> Iterator[tuple[int, Block]]:
        """Swaps that begin with a block, the shortest first; each after the number behind it."""
        begin = self._blocks[first]
        if begin.kind == "homophone":
            return
        shift = begin.said_start - begin.start
        for last in range(first, min(first + _FARTHEST, len(self._blocks))):
            end = self._blocks[last]
            if end.said_end - end.end == shift and end.kind not in ("equal", "homophone"):
                cost = self._costs[last + 1] - self._costs[first]
                for region in self._regions(first, last):
                    if self._is_swap(*region):
                        yield last + 1, Block("swapped", *region, cost)

    def _regions(self, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the spans of the blocks, and of the clauses around them if the rest is equal."""
        begin, end = self._blocks[first], self._blocks[last]
        yield begin.start, end.end, begin.said_start, end.said_end
        before = begin.start - self._bounds[bisect_right(self._bounds, begin.start) - 1]
        after = self._bounds[bisect_left(self._bounds, end.end)] - end.end
        if (before or after) and self._equal(first - 1, before) and self._equal(last + 1, after):
            yield (
                *(begin.start - before, end.end + after),
                *(begin.said_start - before, end.said_end + after),
            )

    def _equal(self, number: int, length: int) -> bool:
        """Return whether a block is equal over at least this length."""
        if not length:
            return True
        block = self._blocks[number] if 0 <= number < len(self._blocks) else None
        return block is not None and block.kind == "equal" and block.end - block.start >= length

    def _is_swap(self, start: int, end: int, said_start: int, said_end: int) -> bool:
        text, said = self._expected[start:end], self._said[said_start:said_end]
        shift = (text + text).find(said, 1)
        shorter, longer = sorted((shift, len(text) - shift))
        return 0 < shorter <= longer <= _MOST_UNEVEN * shorter
