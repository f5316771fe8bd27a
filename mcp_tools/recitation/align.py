"""Alignment of the spoken text with the expected one, with the fewest mistakes.

Mistakes are counted as in the error rates of speech recognition: a unit that is missing, extra or
wrong counts one, a homophone one half. Each unit is encoded as two symbols, its spelling and its
sound, so that the Levenshtein distance of the symbols is exactly twice that count; the library
computes it bit-parallel, 2,000 units against 2,000 in about 3 ms.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from .sounds import FIRST_SYMBOL, spelling_of
from .units import Units

BlockKind = Literal["equal", "homophone", "wrong", "missing", "extra", "swapped"]


class Block(NamedTuple):
    """Consecutive units of one kind: `expected[start:end]` beside `said[said_start:said_end]`."""

    kind: BlockKind
    start: int
    end: int
    said_start: int
    said_end: int
    cost: float
    """How many mistakes these are."""


def align(expected: Units, said: Units, sounds: Mapping[str, str]) -> list[Block]:
    """The blocks from the beginning to the end of both texts; neighbours differ in kind.

    `sounds` are the `sound_keys` of both.
    """
    symbols = _symbols(sounds)
    matches = _matches(
        *("".join([symbols[unit] for unit in text.units]) for text in (expected, said))
    )
    return list(_blocks(matches, expected, len(said.units)))


def _symbols(sounds: Mapping[str, str]) -> dict[str, str]:
    """The two symbols of each unit."""
    spellings = {unit: spelling_of(unit) for unit in sounds}
    written = _numbered(spellings.values(), FIRST_SYMBOL)
    heard = _numbered(sounds.values(), FIRST_SYMBOL + len(written))
    return {unit: written[spellings[unit]] + heard[sound] for unit, sound in sounds.items()}


def _numbered(names: Iterable[str], first: int) -> dict[str, str]:
    return {name: chr(number) for number, name in enumerate(dict.fromkeys(names), first)}


def _matches(expected: str, said: str) -> Iterator[tuple[int, int, bool]]:
    """The pairs of units that match, in order, and whether they are equal.

    The symbols of one unit may match in two units, its spelling in one and its sound in a later
    one. The first match counts; the rest of the other unit is then as unmatched as before.
    """
    last, last_said = -1, -1
    for step in Levenshtein.opcodes(expected, said):
        if step.tag != "equal":
            continue
        for offset in range(step.src_end - step.src_start):
            number, is_sound = divmod(step.src_start + offset, 2)
            said_number = (step.dest_start + offset) // 2
            if number > last and said_number > last_said:
                yield number, said_number, not is_sound
                last, last_said = number, said_number


def _blocks(
    matches: Iterator[tuple[int, int, bool]], expected: Units, said_length: int
) -> Iterator[Block]:
    start = said_start = 0
    run: Block | None = None
    for number, said_number, is_equal in matches:
        kind: BlockKind = "equal" if is_equal else "homophone"
        gap = (number, said_number) != (start, said_start)
        if run and (gap or run.kind != kind):
            yield run
            run = None
        if gap:
            yield from _gap(start, number, said_start, said_number, expected)
        start, said_start = number + 1, said_number + 1
        begin, said_begin = (run.start, run.said_start) if run else (number, said_number)
        cost = 0.0 if is_equal else (start - begin) / 2
        run = Block(kind, begin, start, said_begin, said_start, cost)
    if run:
        yield run
    yield from _gap(start, len(expected.units), said_start, said_length, expected)


def _gap(start: int, end: int, said_start: int, said_end: int, text: Units) -> Iterator[Block]:
    """Units without a match: as many as stand beside each other are wrong, the rest is left over.

    What is missing comes last, except if it is the beginning of the gap and makes whole clauses.
    """
    length, said_length = end - start, said_end - said_start
    both, left_over = min(length, said_length), length - said_length
    if both and left_over > 0 and {start, start + left_over} <= text.clause_starts:
        yield _unmatched("missing", start, start + left_over, said_start, said_start)
        yield _unmatched("wrong", start + left_over, end, said_start, said_end)
        return
    middle, said_middle = start + both, said_start + both
    if both:
        yield _unmatched("wrong", start, middle, said_start, said_middle)
    if left_over > 0:
        yield _unmatched("missing", middle, end, said_middle, said_end)
    if left_over < 0:
        yield _unmatched("extra", middle, end, said_middle, said_end)


def _unmatched(kind: BlockKind, start: int, end: int, said_start: int, said_end: int) -> Block:
    cost = max(end - start, said_end - said_start)
    return Block(kind, start, end, said_start, said_end, float(cost))
