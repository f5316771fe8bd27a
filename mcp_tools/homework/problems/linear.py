"""How to take an equation apart: undo what is done to the unknown, one operation at a time."""

from collections.abc import Iterator

from mcp_tools.homework.display import steps
from mcp_tools.homework.expression import Expression, Name, Negative, Operation, names

Sides = tuple[Expression, Expression]


def linear_step(left: Expression, right: Expression) -> Sides | None:
    """Undo the outermost operation; None if the unknown occurs in more than one place."""
    if names(left) and names(right):
        return None
    if names(right):
        left, right = right, left
    match left:
        case Operation("+", a, b) if not names(b):
            return a, Operation("-", right, b)
        case Operation("+", a, b) if not names(a):
            return b, Operation("-", right, a)
        case Operation("-", a, b) if not names(b):
            return a, Operation("+", right, b)
        case Operation("-", a, b) if not names(a):
            return b, Operation("-", a, right)
        case Operation("*", a, b) if not names(b):
            return a, Operation("÷", right, b)
        case Operation("*", a, b) if not names(a):
            return b, Operation("÷", right, a)
        case Operation("÷" | "/", a, b) if not names(b):
            return a, Operation("*", right, b)
        case Operation("÷" | "/", a, b) if not names(a):
            return b, Operation("÷", a, right)
        case Negative(a):
            return a, Negative(right)
    return None


def undoing(left: Expression, right: Expression) -> Iterator[Sides]:
    """Undo one operation after the other, and calculate in between, down to the unknown."""
    while (step := linear_step(left, right)) is not None:
        yield step
        left, right = step
        for value in steps(step[1]):
            right = value
        if right != step[1]:
            yield left, right
        if isinstance(left, Name):
            return
