"""From the text of a question to the problem that code can check."""

import re
from functools import cache

from .errors import AmbiguousError, ExpressionError, UnreadableError
from .expression import Number, names, parse
from .notation import BLANK, RELATIONS, in_signs, plain, without_goal, without_rounding
from .problems import (
    Calculation,
    Comparison,
    Equation,
    Problem,
    Rewriting,
    Statement,
    System,
)
from .problems.blanks import blanks
from .problems.conversion import conversion
from .relations import Relation, relation
from .units import Measure, dimension_of, measure, size, unit_pattern
from .vocabulary import Goal

MAX_QUESTION = 400
"""Characters that code tries to understand; longer ones are word problems."""

_RELATION = re.compile(f"[{RELATIONS}]")
_OPEN_END = re.compile(rf"=\s*{BLANK}?\s*$")
_ASKED_UNKNOWN = re.compile(rf"[,;]\s*(?:求\s*)?[A-Za-z]\s*=?\s*{BLANK}?\s*$")
_BETWEEN = re.compile(r"[,;、\n]|\band\b|和", re.IGNORECASE)
_AND = re.compile(r"和|与|\band\b", re.IGNORECASE)
_DOUBTFUL_TIMES = re.compile(r"[\d)]\s*[xX]\s*\(")
"""`8x(3+2)`: the letter may be a sign."""
_GIVEN = re.compile(
    r"^\s*(?:当|若|如果|已知|when|if|given|given\s+that)\s*([A-Za-z])\s*=\s*(-?[\d./]+)\s*"
    r"(?:时|,|，|then|\s)+(?:求|find|what\s+is)?",
    re.IGNORECASE,
)
MAX_EQUATIONS = 3


def understand(question: str) -> Problem:
    """Find out what is asked.

    Raises:
        UnreadableError: it is nothing that code can check, such as a word problem.
        ExpressionError: it is ambiguous, too complex or without a value.
    """
    if len(question) > MAX_QUESTION:
        raise UnreadableError
    text, places = without_rounding(_as_conversion(plain(question)))
    text, goal = without_goal(_substituted(text))
    text = _ASKED_UNKNOWN.sub("", in_signs(text)) if goal != "calculate" else in_signs(text)
    if (measured := _measured(text)) is not None:
        return measured
    if text.count(BLANK) == 1:
        text = _OPEN_END.sub("", text)
    text = text.rstrip("= ")
    if goal == "compare" and not _RELATION.search(text):
        text = _AND.sub(BLANK, text, count=1)
    if BLANK in text:
        return _with_blanks(text)
    if _RELATION.search(text):
        return _with_relations(text)
    return _expression(text, goal, places)


def _expression(text: str, goal: Goal | None, places: int | None) -> Problem:
    expression = parse(text)
    if goal is None and (":" in text or _DOUBTFUL_TIMES.search(text)):
        raise AmbiguousError
    if not names(expression):
        return Calculation(expression, places, lowest=goal in {"reduce", "simplify"})
    match goal:
        case "expand" | "factorise":
            return Rewriting(expression, goal)
        case None | "simplify" | "calculate" | "reduce":
            return Rewriting(expression, "simplify")
    raise UnreadableError


def _with_blanks(text: str) -> Problem:
    if _RELATION.search(text) or text.count(BLANK) != 1:
        return blanks(text)
    left, right = text.split(BLANK)
    return Comparison(parse(left), parse(right))


def _with_relations(text: str) -> Problem:
    relations = [relation(part) for part in _statements(text)]
    unknowns = tuple(names(*(side for each in relations for side in (each.left, each.right))))
    if not unknowns and len(relations) == 1:
        return Statement(relations[0])
    if any(each.sign != "=" for each in relations):
        raise UnreadableError
    if len(relations) == len(unknowns) == 1:
        return Equation(relations[0].left, relations[0].right, unknowns[0])
    if 1 < len(relations) == len(unknowns):
        return System(tuple((each.left, each.right) for each in relations), unknowns)
    raise UnreadableError


def _statements(text: str) -> list[str]:
    """The relations of a system; commas within numbers separate nothing."""
    parts = [part for part in _BETWEEN.split(text.strip("() ")) if part.strip()]
    if len(parts) == 1 or not all(_RELATION.search(part) for part in parts):
        return [text]
    if len(parts) > MAX_EQUATIONS:
        raise UnreadableError
    return parts


def _measured(text: str) -> Problem | None:
    """Return the problem of a text with measures; None if the text contains no measure."""
    sides = _RELATION.split(text)
    read = [measure(side) for side in sides if side.strip()]
    if not read or None in read or len(read) > 2:
        return _compared(text)
    known = [each for each in read if each and each.is_known]
    blank = [each for each in read if each and each.is_blank]
    if len(known) == 1 and len(blank) == len(read) - 1 and _only_equal(text):
        return conversion(known[0], blank[0] if blank else None)
    if len(known) == 2:
        left, right = _amounts(*known)
        return Statement(Relation(left, _RELATION.findall(text)[0], right))
    raise UnreadableError


def _compared(text: str) -> Problem | None:
    if text.count(BLANK) != 1 or _RELATION.search(text):
        return None
    first, second = (side.strip() for side in text.split(BLANK))
    left, right = measure(first), measure(second)
    if left is None or right is None:
        return None
    return Comparison(*_amounts(left, right), sides=(first, second))


def _amounts(left: Measure, right: Measure) -> tuple[Number, Number]:
    """Return both amounts in the smallest unit that occurs in them."""
    units = [*left.units, *right.units]
    dimension = dimension_of(units)
    if dimension is None:
        raise UnreadableError
    smallest = min(size(unit, dimension) for unit in units)
    return Number(left.amount(dimension) / smallest), Number(right.amount(dimension) / smallest)


def _only_equal(text: str) -> bool:
    return set(_RELATION.findall(text)) <= {"="}


def _substituted(text: str) -> str:
    """Put the given value of a letter into what is asked: `当x=3时，2x+1`."""
    found = _GIVEN.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    return re.sub(rf"(?<![A-Za-z]){found[1]}(?![A-Za-z])", f"({found[2]})", rest)


def _as_conversion(text: str) -> str:
    for pattern in _conversions():
        if found := pattern.search(text):
            return f"{found['source']}={BLANK}{found['target']}"
    return text


@cache
def _conversions() -> list[re.Pattern[str]]:
    unit = unit_pattern()
    return [
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"how\s+many\s+(?P<target>{unit})\s+(?:are\s+|is\s+)?(?:there\s+)?in\s+(?P<source>.+?)\??$",
            rf"^(?:convert\s+|把|将)?(?P<source>.*\d\s*(?:{unit}))\s*"
            rf"(?:换算成|换算为|化成|化为|转换成|改写成|to|into|in)\s*(?P<target>{unit})\.?$",
        )
    ]


def can_understand(question: str) -> bool:
    """Tell whether code can check answers to a question."""
    try:
        understand(question)
    except ExpressionError:
        return False
    return True
