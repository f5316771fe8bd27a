"""Parsing of a child's answers in loose notation."""

import re
from fractions import Fraction

from .algebra import exact
from .arithmetic import IrrationalError, value
from .errors import UnreadableError
from .expression import Expression, parse
from .notation import in_signs, plain

_LEAD = re.compile(
    r"^\s*(?:解?答案?|解|the\s+answer\s+is|answer|ans|so|therefore|it\s+is|it's|i\s+think|i\s+got"
    r"|我觉得|我认为|我算出来|所以|应该|一共有?|[∴∵])(?![A-Za-z])[\s:,.，是]*",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"^\s*[$¥￥€£]\s*(?=\d)")
_MEASURE = re.compile(
    r"(?<=[\d)%])\s*(?:[\u4e00-\u9fff]{1,4}|[A-Za-z]{1,12}|[$¥￥€£])(?:\^[23])?\s*$"
)
_APPROXIMATE = re.compile(
    r"^\s*(?:=\s*)?(?:≈|~|大?约|about|approx(?:imately|\.)?)\s*", re.IGNORECASE
)
_UNKNOWN = re.compile(r"^\s*[A-Za-z]_?\d?\s*=(?!=)")


def bare(answer: str) -> str:
    """The answer in plain signs, without what announces it."""
    text = plain(answer).rstrip("! ")
    for _ in range(3):
        text = _LEAD.sub("", text)
    return in_signs(text)


def without_measure(text: str) -> str:
    """Take out a unit, a counter or a currency: `5元`, `5 apples`, `$5`."""
    return _MEASURE.sub("", _CURRENCY.sub("", text))


def without_unknown(text: str) -> str:
    """Take out what says which unknown this is: `x = 5`."""
    return _UNKNOWN.sub("", text).lstrip("= ")


def without_approximate(text: str) -> tuple[str, bool]:
    """Take out a sign that the value is not exact, and tell whether there was one."""
    rest = _APPROXIMATE.sub("", text)
    return rest, rest != text


def number(text: str) -> Expression:
    """Read one number or an expression that gives one.

    Raises:
        ExpressionError: the text is not a number.
    """
    try:
        return parse(without_unknown(text))
    except UnreadableError:
        return parse(without_measure(without_unknown(text)))


def same(left: Expression, right: Expression) -> bool:
    """Tell whether two expressions without unknowns have the same value.

    Raises:
        ExpressionError: one of them has no value.
    """
    first, second = fraction(left), fraction(right)
    if first is not None and second is not None:
        return first == second
    return bool(exact(left) == exact(right))


def fraction(expression: Expression) -> Fraction | None:
    """The value as a fraction, `None` if it is irrational."""
    try:
        return value(expression)
    except IrrationalError:
        return None
