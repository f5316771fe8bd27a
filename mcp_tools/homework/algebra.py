"""Algebra by SymPy, given only polynomials that we have built ourselves, within bounds.

SymPy never sees a text: its own parser runs what it reads. It is imported when it is first needed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from .arithmetic import MAX_BITS, value
from .errors import SolverMissingError, TooComplexError, UndefinedError, UnreadableError
from .expression import Expression, Name, Negative, Number, Operation, Root, names
from .notation import BLANK

MAX_DEGREE = 8
"""Largest total degree of a polynomial on the way; all work on such ones takes milliseconds."""
MAX_SOLVED_DEGREE = 4
MAX_SURD_TERMS = 16

Polynomial = Any
Exact = Any
"""A number of SymPy: a fraction, or a sum of roots of fractions."""


@dataclass(frozen=True)
class Ratio:
    """A polynomial over another, with rational coefficients; not reduced."""

    numerator: Polynomial
    denominator: Polynomial


@dataclass(frozen=True)
class Solutions:
    """The real solutions of an equation; `None` when any number solves it."""

    roots: tuple[Exact, ...] | None


@cache
def _sympy() -> ModuleType:
    try:
        return import_module("sympy")
    except ModuleNotFoundError as error:
        raise SolverMissingError from error


def warm_up() -> None:
    """Import SymPy, so that the first equation need not wait for it.

    Raises:
        SolverMissingError: it is not installed.
    """
    solve(Operation("*", Name("x"), Name("x")), Number(Fraction(1)), "x")


def ratio(expression: Expression, unknowns: Sequence[str]) -> Ratio:
    """Write an expression as one polynomial over another.

    Raises:
        UnreadableError: there is an unknown in an exponent or under a root.
        TooComplexError: the degree goes over `MAX_DEGREE`, or a coefficient has too many bits.
        UndefinedError: it divides by zero.
    """
    if not names(expression):
        return _constant(value(expression), unknowns)
    match expression:
        case Name(name):
            return Ratio(_poly(_symbol(name), unknowns), _poly(1, unknowns))
        case Negative(operand):
            inner = ratio(operand, unknowns)
            return Ratio(-inner.numerator, inner.denominator)
        case Operation("^", base, exponent):
            return _power(ratio(base, unknowns), value(exponent), unknowns)
        case Operation(sign, left, right):
            return _combine(sign, ratio(left, unknowns), ratio(right, unknowns))
        case _:
            raise UnreadableError


def equal(left: Ratio, right: Ratio) -> bool:
    """Tell whether both have the same value wherever they have one."""
    return bool(left.numerator * right.denominator == right.numerator * left.denominator)


def solve(left: Expression, right: Expression, unknown: str) -> Solutions:
    """Solve one equation in one unknown over the real numbers.

    Raises:
        TooComplexError: the degree is over `MAX_SOLVED_DEGREE`, or a root has no simple form.
    """
    difference = _combine("-", ratio(left, [unknown]), ratio(right, [unknown]))
    numerator = difference.numerator
    if numerator.is_zero:
        return Solutions(None)
    if numerator.degree() > MAX_SOLVED_DEGREE:
        raise TooComplexError
    roots = [
        root
        for factor, _ in numerator.factor_list()[1]
        for root in _roots(factor)
        if difference.denominator.eval(root).expand() != 0
    ]
    return Solutions(tuple(sorted(roots, key=float)))


def solve_linear(
    equations: Sequence[tuple[Expression, Expression]], unknowns: Sequence[str]
) -> dict[str, Exact] | None:
    """Solve a system of linear equations; `None` when it has no solution.

    Raises:
        TooComplexError: it is not linear, or has infinitely many solutions.
    """
    lines = []
    for left, right in equations:
        difference = _combine("-", ratio(left, unknowns), ratio(right, unknowns))
        if difference.numerator.total_degree() > 1 or difference.denominator.total_degree() > 0:
            raise TooComplexError
        lines.append(difference.numerator.as_expr())
    found = list(_sympy().linsolve(lines, *map(_symbol, unknowns)))
    if not found:
        return None
    if any(solution.free_symbols for solution in found[0]):
        raise TooComplexError
    return dict(zip(unknowns, found[0], strict=True))


def exact(expression: Expression) -> Exact:
    """The value of an expression without unknowns, in which there may be square roots.

    Raises:
        UnreadableError: there are unknowns in it, or a root below a root.
        TooComplexError: the value has too many terms or bits.
        UndefinedError: it divides by zero or has a root of a negative number.
    """
    sympy = _sympy()
    match expression:
        case Number(number):
            return _rational(number)
        case Negative(operand):
            return -exact(operand)
        case Root(radicand):
            inside = value(radicand)
            if inside < 0:
                raise UndefinedError
            return sympy.sqrt(_rational(inside))
        case Operation("^", base, exponent):
            power = value(exponent)
            if power.denominator != 1 or not 0 <= power <= MAX_DEGREE:
                raise TooComplexError
            result = sympy.Integer(1)
            for _ in range(int(power)):
                result = _bounded_surd(sympy.expand(result * exact(base)))
            return result
        case Operation(sign, left, right):
            return _bounded_surd(_surd(sign, exact(left), exact(right)))
        case _:
            raise UnreadableError


def factorised(polynomial: Polynomial) -> str:
    """Write a polynomial as a product."""
    return tidy(_sympy().factor(polynomial.as_expr()))


def reduced(whole: Ratio) -> Exact:
    """Write a ratio in lowest terms, multiplied out."""
    scale, numerator, denominator = whole.numerator.cancel(whole.denominator)
    return _sympy().expand(scale * numerator.as_expr()) / denominator.as_expr()


def tidy(number: Exact) -> str:
    """Write a number or an expression of SymPy as it is written at school."""
    text = str(number).replace("**", "^").replace("*", "").replace(" ", "")
    return _without_call(text)


def fraction_of(number: Exact) -> Fraction | None:
    """The number as a fraction, if it is one."""
    return Fraction(int(number.p), int(number.q)) if number.is_Rational else None


def _without_call(text: str) -> str:
    while "sqrt(" in text:
        before, _, after = text.partition("sqrt(")
        inside, _, rest = after.partition(")")
        text = f"{before}√{inside if inside.isdigit() else f'({inside})'}{rest}"
    return text


def _symbol(name: str) -> Any:
    return _sympy().Symbol("blank" if name == BLANK else name)


def _rational(number: Fraction) -> Exact:
    return _sympy().Rational(number.numerator, number.denominator)


def _poly(content: Any, unknowns: Sequence[str]) -> Polynomial:
    return _sympy().Poly(content, *map(_symbol, unknowns), domain="QQ")


def _constant(number: Fraction, unknowns: Sequence[str]) -> Ratio:
    return Ratio(_poly(_rational(number), unknowns), _poly(1, unknowns))


def _combine(sign: str, left: Ratio, right: Ratio) -> Ratio:
    match sign:
        case "+" | "-":
            one = _times(left.numerator, right.denominator)
            other = _times(right.numerator, left.denominator)
            total = one + other if sign == "+" else one - other
            return Ratio(_bounded(total), _times(left.denominator, right.denominator))
        case "*":
            return Ratio(
                _times(left.numerator, right.numerator),
                _times(left.denominator, right.denominator),
            )
    if right.numerator.is_zero:
        raise UndefinedError
    return Ratio(
        _times(left.numerator, right.denominator), _times(left.denominator, right.numerator)
    )


def _power(base: Ratio, exponent: Fraction, unknowns: Sequence[str]) -> Ratio:
    if exponent.denominator != 1 or abs(exponent) > MAX_DEGREE:
        raise TooComplexError
    if exponent < 0:
        if base.numerator.is_zero:
            raise UndefinedError
        base = Ratio(base.denominator, base.numerator)
    result = _constant(Fraction(1), unknowns)
    for _ in range(abs(int(exponent))):
        result = _combine("*", result, base)
    return result


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    if _degree(left) + _degree(right) > MAX_DEGREE:
        raise TooComplexError
    return _bounded(left * right)


def _degree(polynomial: Polynomial) -> int:
    return 0 if polynomial.is_zero else int(polynomial.total_degree())


def _bounded(polynomial: Polynomial) -> Polynomial:
    _check_bits(polynomial.coeffs())
    return polynomial


def _bounded_surd(number: Exact) -> Exact:
    if len(number.args) > MAX_SURD_TERMS:
        raise TooComplexError
    _check_bits(number.atoms(_sympy().Rational))
    return number


def _check_bits(numbers: Iterable[Exact]) -> None:
    if any(max(abs(int(n.p)).bit_length(), int(n.q).bit_length()) > MAX_BITS for n in numbers):
        raise TooComplexError


def _surd(sign: str, left: Exact, right: Exact) -> Exact:
    sympy = _sympy()
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return sympy.expand(left * right)
    if right == 0:
        raise UndefinedError
    if right.is_Add and len(right.args) > 2:
        raise TooComplexError
    return sympy.expand(sympy.radsimp(left / right))


def _roots(factor: Polynomial) -> list[Exact]:
    sympy = _sympy()
    match factor.degree(), factor.all_coeffs():
        case 1, [a, b]:
            return [-b / a]
        case 2, [a, b, c]:
            discriminant = b * b - 4 * a * c
            if discriminant < 0:
                return []
            root = sympy.sqrt(discriminant)
            return [sympy.expand((-b + sign * root) / (2 * a)) for sign in (-1, 1)]
    raise TooComplexError
