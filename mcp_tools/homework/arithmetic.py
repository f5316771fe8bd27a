"""The exact value of an expression without unknowns, within bounds."""

from fractions import Fraction
from math import isqrt

from .errors import TooComplexError, UndefinedError, UnreadableError
from .expression import Expression, Form, Name, Negative, Number, Operation, Root, walk

MAX_EXPONENT = 64
MAX_BITS = 512


class IrrationalError(UnreadableError):
    """Raised when the value is no fraction, such as the root of 2."""


def value(expression: Expression) -> Fraction:
    """Calculate exactly.

    Raises:
        IrrationalError: the value is no fraction.
        UndefinedError: there is a division by zero or a root of a negative number.
        TooComplexError: an exponent is over 64, or a number has more than 512 bits.
        UnreadableError: there are unknowns in it.
    """
    match expression:
        case Number(number):
            return number
        case Name():
            raise UnreadableError
        case Negative(operand):
            return -value(operand)
        case Root(radicand):
            return _root(value(radicand))
        case Operation(sign, left, right):
            return _bounded(_apply(sign, value(left), value(right)))


def _apply(sign: str, left: Fraction, right: Fraction) -> Fraction:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "^":
            return _power(left, right)
    if right == 0:
        raise UndefinedError
    return left / right


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise UnreadableError
    if abs(exponent) > MAX_EXPONENT:
        raise TooComplexError
    if base == 0 and exponent <= 0:
        raise UndefinedError
    return Fraction(base ** int(exponent))


def _root(radicand: Fraction) -> Fraction:
    if radicand < 0:
        raise UndefinedError
    root = Fraction(isqrt(radicand.numerator), isqrt(radicand.denominator))
    if root * root != radicand:
        raise IrrationalError
    return root


def _bounded(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise TooComplexError
    return number


def decimal_places(number: Fraction) -> int | None:
    """How many decimals a number has, `None` when they never end."""
    rest = number.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest //= 2
        twos += 1
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    return max(twos, fives) if rest == 1 else None


def rounded(number: Fraction, places: int) -> Fraction:
    """Round half away from zero, as schools do."""
    scaled = abs(number) * 10**places + Fraction(1, 2)
    size = Fraction(scaled.numerator // scaled.denominator, 10**places)
    return -size if number < 0 else size


def written(number: Fraction, form: Form = "whole") -> str:
    """Write a number: as a whole number if it is one, else in the form if it can be."""
    if form == "percent":
        return f"{written(number * 100, 'decimal')}%"
    if number.denominator == 1:
        return str(number.numerator)
    places = decimal_places(number)
    if form == "decimal" and places is not None:
        return f"{'-' if number < 0 else ''}{_decimal(abs(number), places)}"
    if form == "mixed" and abs(number) > 1:
        whole, part = divmod(abs(number), 1)
        return f"{'-' if number < 0 else ''}{whole} {part}"
    return str(number)


def form_of(*expressions: Expression) -> Form:
    """The form in which a result is to be written: that of the operands."""
    forms = {
        part.form
        for expression in expressions
        for part in walk(expression)
        if isinstance(part, Number)
    }
    for form in ("fraction", "mixed", "decimal", "percent"):
        if form in forms:
            if form == "fraction" and "mixed" in forms:
                return "mixed"
            return "decimal" if form == "percent" else form
    return "whole"


def _decimal(number: Fraction, places: int) -> str:
    digits = str(int(number * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"
