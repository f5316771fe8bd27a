"""Common mistakes of children, recognized by the wrong result alone."""

from collections.abc import Callable
from fractions import Fraction

from .arithmetic import value
from .display import show
from .errors import ExpressionError
from .expression import Expression, Number, Operation, Sign, walk

_POWERS_OF_TEN = [Fraction(10) ** exponent for exponent in (-3, -2, -1, 1, 2, 3)]


def mistake(expression: Expression, given: Fraction) -> str:
    """The key of the comment for a wrong result; `wrong` when no known mistake gives it."""
    for key, is_it in _MISTAKES:
        if is_it(expression, given):
            return key
    return "wrong"


def _other_operation(expression: Expression, given: Fraction) -> bool:
    match expression:
        case Operation(sign, Number(left), Number(right)) if sign != "^":
            others = {"+": left + right, "-": left - right, "*": left * right}
            others.pop(sign, None)
            if sign in "+-*" and right:
                others["÷"] = left / right
            return given in others.values()
    return False


def _no_carry(expression: Expression, given: Fraction) -> bool:
    match _whole_operands(expression):
        case "+", left, right:
            return _by_columns(left, right, lambda a, b: (a + b) % 10) == given
    return False


def _no_borrow(expression: Expression, given: Fraction) -> bool:
    match _whole_operands(expression):
        case "-", left, right if left >= right:
            return _by_columns(left, right, lambda a, b: abs(a - b)) == given
    return False


def _added_across(expression: Expression, given: Fraction) -> bool:
    match expression:
        case Operation("+" | "-" as sign, Number(left, "fraction"), Number(right, "fraction")):
            step = 1 if sign == "+" else -1
            bottom = left.denominator + step * right.denominator
            return bottom != 0 and given == Fraction(
                left.numerator + step * right.numerator, bottom
            )
    return False


def _wrong_sign(expression: Expression, given: Fraction) -> bool:
    return given == -value(expression)


def _point_moved(expression: Expression, given: Fraction) -> bool:
    return given in {value(expression) * power for power in _POWERS_OF_TEN}


def _left_to_right(expression: Expression, given: Fraction) -> bool:
    """Tell whether the operations were done as they stand, whatever binds tighter."""
    if "(" in show(expression):
        return False
    operands, signs = _flat(expression)
    if len(signs) < 2:
        return False
    result = operands[0]
    for sign, operand in zip(signs, operands[1:], strict=True):
        result = Operation(sign, result, operand)
    try:
        return value(result) == given
    except ExpressionError:
        return False


def _close(expression: Expression, given: Fraction) -> bool:
    whole = all(p.form == "whole" for p in walk(expression) if isinstance(p, Number))
    return whole and abs(given - value(expression)) == 1


_MISTAKES: list[tuple[str, Callable[[Expression, Fraction], bool]]] = [
    ("no_carry", _no_carry),
    ("no_borrow", _no_borrow),
    ("added_across", _added_across),
    ("left_to_right", _left_to_right),
    ("wrong_sign", _wrong_sign),
    ("point_moved", _point_moved),
    ("other_operation", _other_operation),
    ("close", _close),
]


def _whole_operands(expression: Expression) -> tuple[str, int, int] | None:
    match expression:
        case Operation(sign, Number(left, "whole"), Number(right, "whole")):
            return sign, int(left), int(right)
    return None


def _by_columns(left: int, right: int, combine: Callable[[int, int], int]) -> int:
    result, unit = 0, 1
    while left or right:
        result += unit * combine(left % 10, right % 10)
        left, right, unit = left // 10, right // 10, unit * 10
    return result


def _flat(expression: Expression) -> tuple[list[Expression], list[Sign]]:
    """Operands and signs as they stand."""
    match expression:
        case Operation("+" | "-" | "*" | "÷" as sign, left, right):
            operands, signs = _flat(left)
            more_operands, more_signs = _flat(right)
            return [*operands, *more_operands], [*signs, sign, *more_signs]
    return [expression], []
