"""Expressions as they are written at school, and their calculation step by step."""

from collections.abc import Iterator

from .arithmetic import form_of, value, written
from .expression import Expression, Name, Negative, Number, Operation, Root

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "÷": 2, "/": 2, "^": 4}
_SHOWN = {"*": "×", "÷": "÷", "/": "÷"}
_UNARY = 3
_ATOM = 5


def show(expression: Expression) -> str:
    """Write an expression, with brackets where they are needed."""
    match expression:
        case Number(number, form):
            return written(number, "fraction" if form == "whole" else form)
        case Name(name):
            return name
        case Negative(operand):
            return f"-{_inside(operand, _UNARY)}"
        case Root(radicand):
            return f"√{_inside(radicand, _ATOM)}"
        case Operation("*", left, Name(name)) if isinstance(left, Number):
            return f"{show(left)}{name}"
        case Operation("*", left, right) if _bracketed(right) and _precedes_bracket(left):
            return f"{_inside(left, _ATOM)}({show(right)})"
        case Operation("^", base, exponent):
            return f"{_inside(base, _ATOM)}^{_inside(exponent, _ATOM)}"
        case Operation(sign, left, right):
            level = _PRECEDENCE[sign]
            shown = _SHOWN.get(sign, sign)
            return f"{_inside(left, level)}{shown}{_inside(right, level + 1)}"


def steps(expression: Expression) -> Iterator[Expression]:
    """Calculate one operation after the other, in order, down to the value."""
    while isinstance(expression, Operation | Negative | Root):
        expression, _ = _step(expression)
        yield expression


def first_step(expression: Expression) -> Operation | None:
    """The operation that has to be done first."""
    match expression:
        case Operation(_, left, right):
            return first_step(left) or first_step(right) or expression
        case Negative(operand) | Root(operand):
            return first_step(operand)
    return None


def _step(expression: Expression) -> tuple[Expression, bool]:
    match expression:
        case Operation(sign, left, right):
            before, done = _step(left)
            if done:
                return Operation(sign, before, right), True
            behind, done = _step(right)
            if done:
                return Operation(sign, left, behind), True
            return _number(expression), True
        case Negative(Number(number, form)):
            return Number(-number, form), False
        case Negative(operand):
            inner, done = _step(operand)
            return Negative(inner), done
        case Root(radicand):
            inner, done = _step(radicand)
            return (Root(inner), True) if done else (_number(expression), True)
    return expression, False


def _number(expression: Expression) -> Number:
    form = form_of(expression)
    return Number(value(expression), "fraction" if form == "whole" else form)


def _inside(expression: Expression, level: int) -> str:
    text = show(expression)
    return f"({text})" if _level(expression) < level else text


def _level(expression: Expression) -> int:
    match expression:
        case Operation(sign):
            return _PRECEDENCE[sign]
        case Negative():
            return 1
        case Number(number) if number < 0:
            return 1
        case Number(number, form) if form != "decimal" and number.denominator != 1:
            return _UNARY
    return _ATOM


def _precedes_bracket(expression: Expression) -> bool:
    return isinstance(expression, Number | Name) or _bracketed(expression)


def _bracketed(expression: Expression) -> bool:
    return isinstance(expression, Operation) and expression.sign in "+-"
