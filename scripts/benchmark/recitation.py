"""How long it takes to compare a recitation of 2,000 characters, good ones and the worst ones."""

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from opencc import OpenCC

from mcp_tools.recitation import compare, texts, warm_up
from scripts.benchmark.goals import Goal

WORST_LIMIT_MS = 20.0
"""Specification of the `companion` agent, "recite"."""

_LENGTH = 2000
_TEXTS = 20
"""Number of samples of each kind, each with different mistakes."""
_REPETITIONS = 5
_COMMON = [
    bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xC0) for cell in range(0xA1, 0xFF)
]
_FEW = "的一是不了人我在有他"


@dataclass(frozen=True, kw_only=True)
class RecitationLatency:
    """CPU of a comparison, in milliseconds: the fastest of some tries for each recitation."""

    recitations: int
    median_ms: float
    p99_ms: float
    worst_ms: float
    worst: str

    @property
    def goal(self) -> Goal:
        name = f"recitation, {_LENGTH} characters: worst in ms"
        return Goal(name=name, value=self.worst_ms, limit=WORST_LIMIT_MS)

    def __str__(self) -> str:
        return (
            f"recitation, {self.recitations} of {_LENGTH} characters: median "
            f"{self.median_ms:.1f} ms, p99 {self.p99_ms:.1f} ms, "
            f"worst {self.worst_ms:.1f} ms ({self.worst})"
        )


def recitation_latency() -> RecitationLatency:
    """Compare recitations of every kind."""
    warm_up()
    chance = random.Random(20)
    measured = sorted(
        (_cost_ms(text, said), kind)
        for _ in range(_TEXTS)
        for kind, text, said in _recitations(chance)
    )
    costs = [cost for cost, _ in measured]
    return RecitationLatency(
        recitations=len(costs),
        median_ms=median(costs),
        p99_ms=costs[math.ceil(0.99 * len(costs)) - 1],
        worst_ms=costs[-1],
        worst=measured[-1][1],
    )


def _recitations(chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """A name, the text and what was said."""
    verses = [line for text in texts() if text.language == "zh" for line in text.text.splitlines()]
    lines = chance.sample(verses, len(verses))
    poem = "\n".join(lines)[:_LENGTH]
    yield "without a mistake", poem, poem
    yield "every tenth missing", poem, "".join(one for one in poem if chance.random() > 0.1)
    yield "every third wrong", poem, _with_mistakes(poem, chance)
    yield "lines in another order", poem, "\n".join(chance.sample(lines, len(lines)))[:_LENGTH]
    yield "one verse again and again", poem, (lines[0] * _LENGTH)[:_LENGTH]
    yield "traditional script", OpenCC("s2t").convert(poem), poem
    yield "other characters", _random(_COMMON, chance), _random(_COMMON, chance)
    yield "few characters", _random(_FEW, chance), _random(_FEW, chance)
    yield "numbers", _random("0123456789 ", chance), _random("0123456789 ", chance)
    yield "words", _random("abc ", chance), _random("abc ", chance)


def _with_mistakes(text: str, chance: random.Random) -> str:
    return "".join(chance.choice(_COMMON) if chance.random() < 1 / 3 else one for one in text)


def _random(characters: Sequence[str], chance: random.Random) -> str:
    return "".join(chance.choices(characters, k=_LENGTH))


def _cost_ms(text: str, said: str) -> float:
    def once() -> float:
        began = time.process_time()
        compare(text, said)
        return (time.process_time() - began) * 1e3

    return min(once() for _ in range(_REPETITIONS))
