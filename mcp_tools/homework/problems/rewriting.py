"""An expression with unknowns that is to be simplified, expanded or factorised."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_tools.homework.algebra import Ratio, equal, factorised, ratio, reduced, tidy
from mcp_tools.homework.answers import bare
from mcp_tools.homework.display import show
from mcp_tools.homework.errors import UnreadableError
from mcp_tools.homework.expression import (
    Expression,
    Name,
    Negative,
    Number,
    Operation,
    names,
    parse,
    walk,
)
from mcp_tools.homework.language import Language

from .problem import Judged

Aim = Literal["simplify", "expand", "factorise"]


@dataclass(frozen=True)
class Rewriting:
    expression: Expression
    aim: Aim

    @property
    def topic(self) -> str:
        return {
            "simplify": "simplifying",
            "expand": "expanding",
            "factorise": "factorising",
        }[self.aim]

    def judge(self, answer: str, language: Language) -> Judged:
        *_, text = bare(answer).split("=")
        given = parse(text)
        unknowns = self._unknowns()
        if not set(names(given)) <= set(unknowns):
            return Judged(False, "other_letters")
        if not equal(ratio(given, unknowns), self._ratio()):
            return Judged(False, "not_equivalent")
        return Judged(*self._form(given))

    def _form(self, given: Expression) -> tuple[bool, str]:
        match self.aim:
            case "factorise":
                return (True, "correct") if self._is_factorised(given) else (False, "factorise_on")
            case "expand":
                if any(_holds_product_of_sums(part) for part in walk(given)):
                    return False, "still_brackets"
                return (True, "correct") if _is_collected(given) else (True, "collect_terms")
            case "simplify":
                simple = _is_collected(given) or self._is_factorised(given)
                return (True, "correct") if simple else (False, "simplify_on")

    def _is_factorised(self, given: Expression) -> bool:
        """Tell whether all factors are irreducible, with no number left inside."""
        unknowns = self._unknowns()
        for part in _factors(given):
            own = ratio(part, unknowns)
            if own.denominator.total_degree() > 0:
                return False
            if own.numerator.is_ground:
                continue
            powers = [power for _, power in own.numerator.factor_list()[1]]
            if powers != [1] or (_is_sum(part) and own.numerator.content() > 1):
                return False
        return True

    def _unknowns(self) -> list[str]:
        return names(self.expression)

    def _ratio(self) -> Ratio:
        return ratio(self.expression, self._unknowns())

    def solution(self, language: Language) -> str:
        whole = self._ratio()
        if self.aim == "factorise":
            if whole.denominator.total_degree() > 0:
                raise UnreadableError
            return factorised(whole.numerator.quo_ground(whole.denominator.LC()))
        return tidy(reduced(whole))

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        return {"expression": show(self.expression)}

    def working(self, language: Language) -> Sequence[str]:
        return [f"{show(self.expression)}={self.solution(language)}"]


def _factors(expression: Expression) -> Iterator[Expression]:
    match expression:
        case Operation("*", left, right):
            yield from _factors(left)
            yield from _factors(right)
        case Operation("÷" | "/", left, right) if not names(right):
            yield from _factors(left)
        case Operation("^", base, _):
            yield from _factors(base)
        case Negative(operand):
            yield from _factors(operand)
        case _:
            yield expression


def _terms(expression: Expression) -> Iterator[Expression]:
    match expression:
        case Operation("+" | "-", left, right):
            yield from _terms(left)
            yield from _terms(right)
        case Negative(operand):
            yield from _terms(operand)
        case _:
            yield expression


def _is_sum(expression: Expression) -> bool:
    return isinstance(expression, Operation) and expression.sign in "+-"


def _holds_product_of_sums(expression: Expression) -> bool:
    match expression:
        case Operation("*" | "^", left, right):
            return _is_sum(left) or _is_sum(right)
        case Negative(operand):
            return _is_sum(operand)
    return False


def _is_collected(expression: Expression) -> bool:
    """Tell whether no two terms can be put together, nor the factors of a term."""
    if isinstance(expression, Operation) and expression.sign in "÷/" and names(expression.right):
        return _is_lowest(expression)
    kinds = []
    for term in _terms(expression):
        if not _is_monomial(term):
            return False
        unknowns = names(expression)
        kinds.append(ratio(term, unknowns).numerator.monoms()[0] if unknowns else ())
    return len(kinds) == len(set(kinds))


def _is_lowest(expression: Operation) -> bool:
    unknowns = names(expression)
    whole = ratio(expression, unknowns)
    common = whole.numerator.gcd(whole.denominator)
    return bool(common.is_ground)


def _is_monomial(term: Expression) -> bool:
    """Tell whether a term has at most one number and each letter once."""
    numbers = 0
    letters: list[str] = []
    for factor in _monomial_factors(term):
        match factor:
            case Number():
                numbers += 1
            case Name(name) | Operation("^", Name(name), Number()):
                letters.append(name)
            case _:
                return False
    return numbers <= 1 and len(letters) == len(set(letters))


def _monomial_factors(term: Expression) -> Iterator[Expression]:
    match term:
        case Operation("*", left, right):
            yield from _monomial_factors(left)
            yield from _monomial_factors(right)
        case Operation("÷" | "/", left, right) if not names(right):
            yield from _monomial_factors(left)
        case _:
            yield term
