"""Which of two numbers is larger, and whether a statement is true."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from mcp_tools.homework.answers import bare, fraction
from mcp_tools.homework.display import show
from mcp_tools.homework.errors import UnreadableError
from mcp_tools.homework.expression import Expression
from mcp_tools.homework.language import Language
from mcp_tools.homework.relations import Relation, sign_between
from mcp_tools.homework.vocabulary import vocabulary

from .calculation import Calculation
from .problem import Judged

_SIGN = re.compile(r"[<>=≥≤]")
_TRUTHS: Mapping[Language, Mapping[bool, str]] = {
    "zh": {True: "对", False: "错"},
    "en": {True: "true", False: "false"},
}


@dataclass(frozen=True)
class Comparison:
    """`3/4 ○ 2/3`: the sign between is asked for.

    `sides` is how both are written, where they are measures in different units.
    """

    left: Expression
    right: Expression
    sides: tuple[str, str] | None = None

    @property
    def topic(self) -> str:
        return "comparison"

    def judge(self, answer: str, language: Language) -> Judged:
        signs = _SIGN.findall(bare(answer))
        if len(signs) != 1:
            raise UnreadableError
        right = signs[0] == self.solution(language)
        return Judged(right, "correct" if right else "wrong_comparison")

    def solution(self, language: Language) -> str:
        return sign_between(*self._values())

    def _values(self) -> tuple[Fraction, Fraction]:
        left, right = fraction(self.left), fraction(self.right)
        if left is None or right is None:
            raise UnreadableError
        return left, right

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        a, b = self.sides or (show(self.left), show(self.right))
        return {"a": a, "b": b}

    def working(self, language: Language) -> Sequence[str]:
        left, right = self._values()
        bottom = lcm(left.denominator, right.denominator)
        sign = sign_between(left, right)
        if bottom == 1:
            return [f"{left}{sign}{right}"]
        over = [f"{number * bottom}/{bottom}" for number in (left, right)]
        return [
            f"{show(self.left)}={over[0]}",
            f"{show(self.right)}={over[1]}",
            f"{over[0]}{sign}{over[1]}",
        ]


@dataclass(frozen=True)
class Statement:
    """`3+4=8`: whether it is true is asked for."""

    relation: Relation

    @property
    def topic(self) -> str:
        if self.relation.sign == "=":
            return Calculation(self.relation.left).topic
        return "comparison"

    def judge(self, answer: str, language: Language) -> Judged:
        said = answer.strip(" .。!！()（）").lower()
        words = vocabulary().verdicts
        if said not in words["right"] | words["wrong"]:
            return self._judge_value(answer, language)
        right = (said in words["right"]) == self.relation.holds()
        return Judged(right, "correct" if right else "wrong_statement")

    def _judge_value(self, answer: str, language: Language) -> Judged:
        """Judge a number as what the left side gives."""
        if self.relation.sign != "=":
            raise UnreadableError
        calculation = Calculation(self.relation.left)
        judged = calculation.judge(answer, language)
        return Judged(
            judged.correct, judged.comment, judged.expected or calculation.solution(language)
        )

    def solution(self, language: Language) -> str:
        return _TRUTHS[language][self.relation.holds()]

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        return Calculation(self.relation.left).pieces()

    def working(self, language: Language) -> Sequence[str]:
        lines = Calculation(self.relation.left).working(language)
        left, right = fraction(self.relation.left), fraction(self.relation.right)
        if left is None or right is None:
            raise UnreadableError
        return [*lines, f"{left}{sign_between(left, right)}{right}"]
