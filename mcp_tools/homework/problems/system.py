"""A few linear equations in as many unknowns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_tools.homework.algebra import exact, fraction_of, solve_linear, tidy
from mcp_tools.homework.answers import bare, number
from mcp_tools.homework.arithmetic import written
from mcp_tools.homework.display import show
from mcp_tools.homework.errors import UnreadableError
from mcp_tools.homework.expression import Expression
from mcp_tools.homework.language import Language
from mcp_tools.homework.vocabulary import vocabulary

from .equation import NO_SOLUTION
from .problem import Judged

_BETWEEN = re.compile(r"[,;、\n]|和|\band\b", re.IGNORECASE)
_NAMED = re.compile(r"\s*([A-Za-z])\s*=(.*)", re.DOTALL)


@dataclass(frozen=True)
class System:
    """`unknowns` are in alphabetical order."""

    equations: tuple[tuple[Expression, Expression], ...]
    unknowns: tuple[str, ...]

    @property
    def topic(self) -> str:
        return "systems"

    def judge(self, answer: str, language: Language) -> Judged:
        solution = solve_linear(self.equations, self.unknowns)
        if answer.strip(" .。").lower() in vocabulary().nothing:
            right = solution is None
            return Judged(right, "correct" if right else "wrong_no_solution")
        given = {name: exact(number(text)) for name, text in self._parts(answer).items()}
        if solution is not None and given == solution:
            return Judged(True, "correct")
        missing = solution is not None and given.items() < solution.items()
        return Judged(False, "solution_missing" if missing else "wrong_solution")

    def _parts(self, answer: str) -> dict[str, str]:
        parts = [part for part in _BETWEEN.split(bare(answer).strip("() ")) if part.strip()]
        named = [_NAMED.fullmatch(part) for part in parts]
        if all(named):
            return {found[1]: found[2] for found in named if found}
        if len(parts) != len(self.unknowns) or any(named):
            raise UnreadableError
        return dict(zip(self.unknowns, parts, strict=True))

    def solution(self, language: Language) -> str:
        solution = solve_linear(self.equations, self.unknowns)
        if solution is None:
            return NO_SOLUTION[language]
        comma = "，" if language == "zh" else ", "
        return comma.join(f"{name}={_written(value)}" for name, value in solution.items())

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        first, *_ = self.equations
        return {
            "unknown": self.unknowns[0],
            "other": self.unknowns[-1],
            "equation": f"{show(first[0])}={show(first[1])}",
        }

    def working(self, language: Language) -> Sequence[str]:
        return [
            *(f"{show(left)}={show(right)}" for left, right in self.equations),
            self.solution(language),
        ]


def _written(value: object) -> str:
    number = fraction_of(value)
    return tidy(value) if number is None else written(number, "fraction")
