"""Arithmetic on expressions that a model has written: numbers and operators, nothing else."""

import ast
import operator
from collections.abc import Callable

Number = int | float

_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}

_MAX_LENGTH = 200
_MAX_EXPONENT = 64
_MAX_BITS = 4096


def evaluate(expression: str) -> Number:
    """The value of an expression such as `(3 + 4) * 2 ** 5`; `^`, `×` and `÷` are understood.

    Raises:
        ValueError: it is too long or too large, or has anything but numbers and operators.
        ZeroDivisionError: it divides by zero.
    """
    text = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/")
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"the expression has more than {_MAX_LENGTH} characters")
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is not an arithmetic expression") from error
    return _value(tree.body)


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _apply(symbol, _value(left), _value(right))
    raise ValueError(f"{ast.unparse(node)!r} is not a number or an arithmetic operation")


def _apply(symbol: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(symbol, ast.Pow) and abs(right) > _MAX_EXPONENT:
        raise ValueError(f"an exponent may be {_MAX_EXPONENT} at most")
    result = _OPERATORS[type(symbol)](left, right)
    if isinstance(result, complex):
        raise ValueError("the result is not a real number")
    if isinstance(result, int) and result.bit_length() > _MAX_BITS:
        raise ValueError("the result is too large")
    return result
