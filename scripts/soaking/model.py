"""The scripted model: each question has one right answer, and some fail at first."""

import random
from dataclasses import dataclass

from oda.testing.script import Call, Error, Match, Script, Step, Text, ToolCalls

FLAKY = 400
"""Number of questions for which the model's server fails the first call."""
_LARGEST = 40


@dataclass(frozen=True)
class Sum:
    """A question that the assistant answers by using its tool."""

    question: str
    answer: str
    value: int


def sums(seed: int) -> list[Sum]:
    """Return the questions, those that fail at first at the end."""
    made = [_sum(a, b, "") for a in range(2, 10) for b in range(10, _LARGEST)]
    draw = random.Random(seed)
    return made + [
        _sum(draw.randrange(100), draw.randrange(100), f" ({number})") for number in range(FLAKY)
    ]


def _sum(a: int, b: int, mark: str) -> Sum:
    return Sum(f"What is {a} and {b} together{mark}?", f"Together they are {a + b}{mark}.", a + b)


def script(seed: int) -> Script:
    """Return a script that answers all sums; the applications' rules handle everything else."""
    asked = sums(seed)
    steps: list[Step] = []
    for number, one in enumerate(asked):
        flaky = number >= len(asked) - FLAKY
        first = Match(last_user=one.question, after_tool=False)
        if flaky:
            steps.append(Error(match=first, status=503 if number % 2 else 429))
        call = Call(name="calculate", args={"expression": str(one.value)})
        steps.append(ToolCalls(match=first, times=None, calls=(call,)))
        second = Match(last_user=one.question, after_tool=True)
        steps.append(Text(match=second, times=None, text=one.answer))
    return Script(steps=tuple(steps))
