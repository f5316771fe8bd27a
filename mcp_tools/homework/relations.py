"""Two expressions and the sign between them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne

from .answers import fraction
from .errors import UnreadableError
from .expression import Expression, parse
from .notation import RELATIONS

_HOLDS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "=": eq,
    "<": lt,
    ">": gt,
    "≤": le,
    "≥": ge,
    "≠": ne,
}
_SIGN = re.compile(f"[{RELATIONS}]")


@dataclass(frozen=True)
class Relation:
    """Such as `3/4>2/3`."""

    left: Expression
    sign: str
    right: Expression

    def holds(self) -> bool:
        """Tell whether it is true.

        Raises:
            UnreadableError: there are unknowns or irrational numbers in it.
        """
        left, right = fraction(self.left), fraction(self.right)
        if left is None or right is None:
            raise UnreadableError
        return _HOLDS[self.sign](left, right)


def relation(text: str) -> Relation:
    """Read a text with one relation sign in it.

    Raises:
        ExpressionError: it is no such text.
    """
    signs = _SIGN.findall(text)
    if len(signs) != 1:
        raise UnreadableError
    left, right = text.split(signs[0])
    return Relation(parse(left), signs[0], parse(right))


def sign_between(left: Fraction, right: Fraction) -> str:
    """The sign that says how two numbers compare."""
    return "=" if left == right else "<" if left < right else ">"
