"""An expression without unknowns whose value is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

from mcp_tools.homework.algebra import exact, tidy
from mcp_tools.homework.answers import (
    bare,
    fraction,
    number,
    same,
    without_approximate,
    without_unknown,
)
from mcp_tools.homework.arithmetic import decimal_places, form_of, rounded, written
from mcp_tools.homework.display import first_step, show, steps
from mcp_tools.homework.errors import UnreadableError
from mcp_tools.homework.expression import Expression, Number, Operation, parse
from mcp_tools.homework.language import Language
from mcp_tools.homework.mistakes import mistake
from mcp_tools.homework.notation import REMAINDER

from .problem import Judged
from .topics import calculation_topic

REMAINDERS: Mapping[Language, str] = {"zh": "……", "en": " r "}


@dataclass(frozen=True)
class Calculation:
    """`places` is how many decimals the result shall have; `lowest` asks for lowest terms."""

    expression: Expression
    places: int | None = None
    lowest: bool = False

    @property
    def topic(self) -> str:
        return calculation_topic(self.expression)

    def judge(self, answer: str, language: Language) -> Judged:
        text, approximate = without_approximate(bare(answer))
        if REMAINDER in text:
            return self._judge_remainder(text, language)
        *before, last = (number(part) for part in without_unknown(text).split("="))
        judged = self._judge_value(last, approximate, language)
        if judged.correct and not all(same(step, last) for step in before):
            return Judged(False, "wrong_step")
        return judged

    def _judge_value(self, answer: Expression, approximate: bool, language: Language) -> Judged:
        result, given = fraction(self.expression), fraction(answer)
        if result is None or given is None:
            right = same(self.expression, answer)
            return Judged(right, "correct" if right else "wrong")
        if self.places is not None:
            return self._judge_rounded(given, result, self.places)
        if given == result:
            return self._judge_form(answer)
        if given == rounded(result, decimal_places(given) or 0) and _is_decimal(answer):
            if approximate:
                return Judged(True, "correct_rounded", written(given, "decimal"))
            if decimal_places(result) is None:
                return Judged(None, "rounded_unasked", written(result))
        return self._wrong(answer, given, result, language)

    def _judge_form(self, answer: Expression) -> Judged:
        if isinstance(answer, Number) and answer.reduced:
            broken = _is_broken(answer) and fraction(answer)
            return Judged(True, "correct", written(broken, answer.form) if broken else None)
        if isinstance(answer, Number):
            return Judged(not self.lowest, "not_lowest" if self.lowest else "reduce_fraction")
        if show(answer) == show(self.expression):
            return Judged(False, "not_calculated")
        if self.lowest and not _is_lowest_ratio(answer):
            return Judged(False, "not_lowest")
        return Judged(True, "correct")

    def _judge_rounded(self, given: Fraction, result: Fraction, places: int) -> Judged:
        expected = self._rounded(result, places)
        if given == rounded(result, places):
            return Judged(True, "correct", expected)
        return Judged(False, "not_rounded" if given == result else "wrong", expected)

    def _wrong(
        self, answer: Expression, given: Fraction, result: Fraction, language: Language
    ) -> Judged:
        if (division := self._division()) and division[2] and not _is_broken(answer):
            only_quotient = given == division[0]
            comment = "remainder_missing" if only_quotient else mistake(self.expression, given)
            return Judged(False, comment, self.solution(language))
        form = form_of(self.expression)
        if form == "whole" and isinstance(answer, Number):
            form = answer.form
        return Judged(False, mistake(self.expression, given), written(result, form))

    def _judge_remainder(self, text: str, language: Language) -> Judged:
        division = self._division()
        if division is None:
            raise UnreadableError
        quotient, divisor, remainder = division
        parts = [fraction(parse(part)) for part in without_unknown(text).split(REMAINDER)]
        expected = f"{quotient}{REMAINDERS[language]}{remainder}"
        if parts == [quotient, remainder]:
            return Judged(True, "correct", expected)
        if len(parts) == 2 and parts[1] is not None and parts[1] >= divisor:
            return Judged(False, "remainder_too_large", expected)
        return Judged(False, "wrong", expected)

    def _division(self) -> tuple[int, int, int] | None:
        """Quotient, divisor and remainder, if a whole number is divided by another."""
        match self.expression:
            case Operation("÷" | "/", Number(dividend), Number(divisor)) if (
                dividend.denominator == divisor.denominator == 1 and dividend >= 0 < divisor
            ):
                quotient, remainder = divmod(int(dividend), int(divisor))
                return quotient, int(divisor), remainder
        return None

    def solution(self, language: Language) -> str:
        result = fraction(self.expression)
        if result is None:
            return tidy(exact(self.expression))
        if self.places is not None:
            return self._rounded(result, self.places)
        if self.lowest and isinstance(self.expression, Operation):
            return f"{result.numerator}:{result.denominator}"
        if (division := self._division()) and division[0] and division[2]:
            quotient, _, remainder = division
            return f"{quotient}{REMAINDERS[language]}{remainder}"
        return written(result, form_of(self.expression))

    def _rounded(self, result: Fraction, places: int) -> str:
        text = written(rounded(result, places), "decimal")
        whole, _, decimals = text.partition(".")
        return f"{whole}.{decimals.ljust(places, '0')}" if places else text

    def spellings(self) -> Sequence[str]:
        result = fraction(self.expression)
        if result is None:
            return []
        return [
            written(result, form) for form in ("whole", "fraction", "mixed", "decimal", "percent")
        ]

    def pieces(self) -> Mapping[str, str]:
        first = first_step(self.expression)
        found = {} if first is None else {"first": show(first)}
        match self.expression:
            case Operation(sign, Number(left) as a, Number(right) as b):
                found |= {"a": show(a), "b": show(b)}
                if left.denominator == right.denominator == 1:
                    found |= _columns(int(left), int(right), sign)
                elif sign in "+-":
                    found["common"] = str(lcm(left.denominator, right.denominator))
            case Number(number, reduced=False):
                found["whole"] = str(number)
        return found

    def working(self, language: Language) -> Sequence[str]:
        if (division := self._division()) and division[2] and division[0]:
            quotient, divisor, remainder = division
            product = quotient * divisor
            dividend = product + remainder
            return [f"{divisor}×{quotient}={product}", f"{dividend}-{product}={remainder}"]
        if fraction(self.expression) is None:
            return [f"{show(self.expression)}={self.solution(language)}"]
        shown = [
            show(self.expression),
            *self._with_common_denominator(),
            *map(show, steps(self.expression)),
        ]
        return [f"{before}={after}" for before, after in pairwise(shown)]

    def _with_common_denominator(self) -> list[str]:
        match self.expression:
            case Operation("+" | "-" as sign, Number(left, "fraction"), Number(right, "fraction")):
                bottom = lcm(left.denominator, right.denominator)
                if left.denominator != right.denominator:
                    return [f"{left * bottom}/{bottom}{sign}{right * bottom}/{bottom}"]
        return []


def _columns(left: int, right: int, sign: str) -> dict[str, str]:
    shown = {"+": "+", "-": "-", "*": "×"}.get(sign)
    if shown is None or min(left, right) < 10:
        return {}
    return {"ones": f"{left % 10}{shown}{right % 10}", "tens": f"{right - right % 10}"}


def _is_decimal(answer: Expression) -> bool:
    return isinstance(answer, Number) and answer.form in {"decimal", "whole"}


def _is_broken(answer: Expression) -> bool:
    return isinstance(answer, Number) and answer.form != "whole"


def _is_lowest_ratio(answer: Expression) -> bool:
    match answer:
        case Operation("÷", Number(left), Number(right)):
            return Fraction(left, right).denominator == right
    return False
