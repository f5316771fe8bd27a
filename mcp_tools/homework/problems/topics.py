"""Classification of expressions without unknowns by the skill they practise."""

from mcp_tools.homework.expression import Expression, Negative, Number, Operation, Root, walk

MAX_TIMES_TABLE = 10


def calculation_topic(expression: Expression) -> str:
    """The topic of a calculation, the most special that fits."""
    parts = list(walk(expression))
    signs = {part.sign for part in parts if isinstance(part, Operation)}
    forms = {part.form for part in parts if isinstance(part, Number)}
    if "^" in signs or any(isinstance(part, Root) for part in parts):
        return "powers"
    for form, topic in (
        ("percent", "percentages"),
        ("mixed", "fractions"),
        ("fraction", "fractions"),
        ("decimal", "decimals"),
    ):
        if form in forms:
            return topic
    if any(isinstance(part, Negative) for part in parts):
        return "negatives"
    match expression:
        case Operation(sign, Number(left), Number(right)):
            return _operation_topic(sign, int(left), int(right))
    return "mixed_operations"


def _operation_topic(sign: str, left: int, right: int) -> str:
    match sign:
        case "+":
            return "carrying" if _carries(left, right) else "addition"
        case "-" if left < right:
            return "negatives"
        case "-":
            return "borrowing" if _carries(left - right, right) else "subtraction"
        case "*":
            small = max(left, right) <= MAX_TIMES_TABLE
            return "times_table" if small else "multiplication"
    return "remainders" if 0 < right < left and left % right else "division"


def _carries(left: int, right: int) -> bool:
    """Return whether a column of an addition exceeds nine."""
    while left and right:
        if left % 10 + right % 10 > 9:
            return True
        left //= 10
        right //= 10
    return False
