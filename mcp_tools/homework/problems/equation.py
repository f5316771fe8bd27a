"""An equation in one unknown, up to degree 4."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_tools.homework.algebra import (
    Exact,
    Solutions,
    exact,
    factorised,
    fraction_of,
    ratio,
    solve,
    tidy,
)
from mcp_tools.homework.answers import bare, number
from mcp_tools.homework.arithmetic import form_of, written
from mcp_tools.homework.display import show
from mcp_tools.homework.errors import ExpressionError, UnreadableError
from mcp_tools.homework.expression import Expression, Number, Operation
from mcp_tools.homework.language import Language
from mcp_tools.homework.vocabulary import vocabulary

from .linear import linear_step, undoing
from .problem import Judged

OR: Mapping[Language, str] = {"zh": "或", "en": " or "}
NO_SOLUTION: Mapping[Language, str] = {"zh": "无解", "en": "no solution"}
ANY_NUMBER: Mapping[Language, str] = {"zh": "任意数", "en": "any number"}

_BETWEEN = re.compile(r"[,;、\n]|或者?|和|\bor\b|\band\b", re.IGNORECASE)
MAX_ANSWERS = 8


@dataclass(frozen=True)
class Equation:
    left: Expression
    right: Expression
    unknown: str

    @property
    def topic(self) -> str:
        return "quadratic_equations" if self._degree() > 1 else "equations"

    def _degree(self) -> int:
        difference = ratio(self._difference(), [self.unknown]).numerator
        return 0 if difference.is_zero else int(difference.degree())

    def _difference(self) -> Expression:
        return Operation("-", self.left, self.right)

    def judge(self, answer: str, language: Language) -> Judged:
        roots = self._solutions().roots
        said = answer.strip(" .。!！").lower()
        if said in vocabulary().nothing:
            return _judged(roots == (), "wrong_no_solution")
        if said in vocabulary().anything:
            return _judged(roots is None, "wrong")
        given = self._values(answer)
        if roots is None or not roots:
            return Judged(False, "wrong_solution")
        if given == set(roots):
            return self._judge_form(answer)
        if given < set(roots):
            return Judged(False, "solution_missing")
        return Judged(False, "solution_too_many" if given > set(roots) else "wrong_solution")

    def _judge_form(self, answer: str) -> Judged:
        last = [number(part) for part in self._parts(answer)][-1]
        unreduced = isinstance(last, Number) and not last.reduced
        return Judged(True, "reduce_fraction" if unreduced else "correct")

    def _values(self, answer: str) -> set[Exact]:
        return {exact(number(part)) for part in self._parts(answer)}

    def _parts(self, answer: str) -> list[str]:
        """The values that are given: those of the unknown, else all that there are."""
        text = bare(answer)
        parts = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
        own = re.compile(rf"{self.unknown}(?:_?\d)?\s*=", re.IGNORECASE)
        named = [index for index, part in enumerate(parts) if own.match(part)]
        final = parts[named[0] :] if named else parts
        values = [
            own.sub("", part).strip().replace("±", sign)
            for part in final
            for sign in (("+", "-") if "±" in part else ("",))
        ]
        if not values or len(values) > MAX_ANSWERS:
            raise UnreadableError
        return values

    def _solutions(self) -> Solutions:
        return solve(self.left, self.right, self.unknown)

    def solution(self, language: Language) -> str:
        roots = self._solutions().roots
        if roots is None:
            return ANY_NUMBER[language]
        if not roots:
            return NO_SOLUTION[language]
        return OR[language].join(f"{self.unknown}={self._written(root)}" for root in roots)

    def _written(self, root: Exact) -> str:
        number = fraction_of(root)
        return tidy(root) if number is None else written(number, form_of(self.left, self.right))

    def spellings(self) -> Sequence[str]:
        numbers = [fraction_of(root) for root in self._solutions().roots or ()]
        return [
            written(number, form)
            for number in numbers
            if number is not None
            for form in ("decimal", "fraction", "mixed")
        ]

    def pieces(self) -> Mapping[str, str]:
        found = {"unknown": self.unknown, "equation": f"{show(self.left)}={show(self.right)}"}
        step = linear_step(self.left, self.right)
        if step:
            found["step"] = f"{show(step[0])} = {show(step[1])}"
        return found

    def working(self, language: Language) -> Sequence[str]:
        if self._degree() > 1:
            lines = [f"{factorised(ratio(self._difference(), [self.unknown]).numerator)}=0"]
        else:
            lines = [f"{show(left)}={show(right)}" for left, right in self._undone()]
        solution = self.solution(language)
        return lines if lines and lines[-1] == solution else [*lines, solution]

    def _undone(self) -> list[tuple[Expression, Expression]]:
        try:
            return list(undoing(self.left, self.right))
        except ExpressionError:
            return []


def _judged(right: bool, otherwise: str) -> Judged:
    return Judged(right, "correct" if right else otherwise)
