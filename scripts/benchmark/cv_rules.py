"""How long the rules of the resume agent take to decide, over all labelled messages."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any

import yaml

from agents.cv.dialogue.decide import decide, warm_up
from agents.cv.dialogue.situation import Situation
from mcp_tools.resume import load_resume
from scripts.benchmark.goals import Goal
from scripts.benchmark.target import REPOSITORY

P99_LIMIT_MS = 10.0
"""Specification of the `cv` agent, "Acceptance"."""

_LABELLED = REPOSITORY / "tests" / "unit"
_REPETITIONS = 5
_TODAY = date(2026, 11, 21)


@dataclass(frozen=True, kw_only=True)
class RulesLatency:
    """CPU of a decision, in milliseconds: the fastest of some tries for each message."""

    messages: int
    median_ms: float
    p99_ms: float
    slowest_ms: float
    slowest: str

    @property
    def goal(self) -> Goal:
        return Goal(name="cv, rules: p99 in ms", value=self.p99_ms, limit=P99_LIMIT_MS)

    def __str__(self) -> str:
        return (
            f"cv, rules on {self.messages} messages: median {self.median_ms:.1f} ms, "
            f"p99 {self.p99_ms:.1f} ms, slowest {self.slowest_ms:.1f} ms ({self.slowest})"
        )


def rules_latency() -> RulesLatency:
    """Decide on every labelled message, each for itself."""
    warm_up()
    measured = sorted((_cost_ms(text, situation), text) for text, situation in _messages())
    costs = [cost for cost, _ in measured]
    return RulesLatency(
        messages=len(costs),
        median_ms=median(costs),
        p99_ms=_quantile(costs, 0.99),
        slowest_ms=costs[-1],
        slowest=measured[-1][1],
    )


def _messages() -> Iterator[tuple[str, Situation]]:
    for file in sorted((*_LABELLED.glob("cv_*.yaml"), *_LABELLED.glob("cv_evaluation/*.yaml"))):
        data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        situation = Situation(load_resume(data["resume"]), (), "zh", _TODAY)
        for text in _said(data):
            yield text, situation


def _said(data: dict[str, Any]) -> Iterator[str]:
    for language in ("utterances", "zh", "en"):
        yield from (utterance["say"] for utterance in data.get(language, ()))
    for dialogue in data.get("dialogues", ()):
        yield from (turn["say"] for turn in dialogue["turns"])


def _cost_ms(text: str, situation: Situation) -> float:
    def once() -> float:
        began = time.process_time()
        decide(text, situation)
        return (time.process_time() - began) * 1e3

    return min(once() for _ in range(_REPETITIONS))


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[math.ceil(part * len(ordered)) - 1]
