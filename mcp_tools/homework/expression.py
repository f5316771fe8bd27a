"""Expressions of school mathematics: a parser of our own, because no text of a child is ever run.

    sum     = term {("+" | "-") term}
    term    = factor {("*" | "÷" | ":" | "/") factor | factor}
    factor  = {"-" | "+"} power
    power   = atom ["^" exponent] {"%"}
    atom    = number | fraction | mixed number | name | "□" | "√" atom | "(" sum ")"

A fraction such as `2/3` binds tighter than `÷`, and so does a monomial such as `2x`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from .errors import AmbiguousError, TooComplexError, UndefinedError, UnreadableError
from .notation import BLANK

MAX_CHARACTERS = 200
MAX_DEPTH = 20
MAX_DIGITS = 20
MAX_NAMES = 3

Sign = Literal["+", "-", "*", "÷", "/", "^"]
Form = Literal["whole", "decimal", "fraction", "mixed", "percent"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number and how it was written; `reduced` is false of 2/4."""

    value: Fraction
    form: Form = "whole"
    reduced: bool = True


@dataclass(frozen=True, slots=True)
class Name:
    """An unknown: a letter, or a blank to be filled in."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Root:
    """A square root."""

    radicand: "Expression"


@dataclass(frozen=True, slots=True)
class Operation:
    sign: Sign
    left: "Expression"
    right: "Expression"


Expression = Number | Name | Negative | Root | Operation


class _Token(NamedTuple):
    kind: Literal["number", "name", "sign"]
    text: str
    spaced: bool


_TOKEN = re.compile(
    rf"(?P<number>\d{{1,3}}(?:,\d{{3}})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    rf"|(?P<name>[A-Za-z]|{BLANK})|(?P<sign>[-+*÷/:^%()√])"
)
_SPACE = re.compile(r"\s*")
_LETTERS = re.compile(r"[A-Za-z]{3,}")
_PRODUCTS = frozenset({"abc", "xyz"})
"""The only runs of three letters that are read as products, so that no word is."""


def parse(text: str) -> Expression:
    """Parse one expression in plain signs.

    Raises:
        UnreadableError: it is no expression.
        AmbiguousError: it has two readings.
        TooComplexError: it is longer, deeper or has more digits or unknowns than homework has.
        UndefinedError: a fraction in it has the denominator 0.
    """
    return _Parser(_tokens(text)).parsed()


def walk(expression: Expression) -> Iterator[Expression]:
    """All parts of an expression, itself first."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Negative(operand):
                waiting.append(operand)
            case Root(radicand):
                waiting.append(radicand)
            case Operation(_, left, right):
                waiting += [right, left]
            case _:
                pass


def names(*expressions: Expression) -> list[str]:
    """The unknowns, in alphabetical order."""
    found = {
        part.name
        for expression in expressions
        for part in walk(expression)
        if isinstance(part, Name)
    }
    return sorted(found)


def _tokens(text: str) -> list[_Token]:
    if len(text) > MAX_CHARACTERS:
        raise TooComplexError if re.fullmatch(r"[-\d+*÷/:^%()√.,\s]*", text) else UnreadableError
    if not _PRODUCTS.issuperset(_LETTERS.findall(text)):
        raise UnreadableError
    tokens = []
    position = 0
    text = text.strip()
    while position < len(text):
        start = _SPACE.match(text, position)
        begin = start.end() if start else position
        found = _TOKEN.match(text, begin)
        if found is None:
            raise UnreadableError
        kind: Literal["number", "name", "sign"] = (
            "number" if found["number"] else "name" if found["name"] else "sign"
        )
        if kind == "number" and len(found[0]) > MAX_DIGITS:
            raise TooComplexError
        tokens.append(_Token(kind, found[0].replace(",", ""), spaced=begin > position))
        position = found.end()
    if len({token.text for token in tokens if token.kind == "name"}) > MAX_NAMES:
        raise UnreadableError
    return tokens


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def parsed(self) -> Expression:
        expression = self._sum()
        if self._at < len(self._tokens):
            raise UnreadableError
        return expression

    def _peek(self, ahead: int = 0) -> _Token | None:
        position = self._at + ahead
        return self._tokens[position] if position < len(self._tokens) else None

    def _sees(self, signs: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token is not None and token.kind == "sign" and token.text in signs

    def _sees_whole_number(self, ahead: int) -> bool:
        token = self._peek(ahead)
        return token is not None and token.kind == "number" and token.text.isdigit()

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise UnreadableError
        self._at += 1
        return token

    def _sum(self) -> Expression:
        left = self._term()
        while self._sees("+-"):
            sign = self._take().text
            left = Operation("+" if sign == "+" else "-", left, self._term())
        return left

    def _term(self) -> Expression:
        left = self._factor()
        while True:
            if self._sees("*/"):
                sign: Sign = "*" if self._take().text == "*" else "/"
                left = Operation(sign, left, self._factor())
            elif self._sees("÷:"):
                self._take()
                left = Operation("÷", left, self._monomial())
            elif self._starts_factor():
                left = Operation("*", left, self._power())
            else:
                return left

    def _monomial(self) -> Expression:
        """Parse the divisor after `÷`: a factor with the letters that follow it immediately."""
        left = self._factor()
        while (token := self._peek()) and token.kind == "name":
            left = Operation("*", left, self._power())
        if self._starts_factor():
            raise AmbiguousError
        return left

    def _starts_factor(self) -> bool:
        token = self._peek()
        if token is None or token.text == BLANK:
            return False
        previous = self._peek(-1)
        if previous is not None and previous.text == BLANK and token.kind != "sign":
            return False
        return token.kind == "name" or self._sees("(√")

    def _factor(self) -> Expression:
        negative = False
        signs = 0
        while self._sees("+-"):
            negative ^= self._take().text == "-"
            signs += 1
            if signs > MAX_DEPTH:
                raise TooComplexError
        operand = self._power()
        return Negative(operand) if negative else operand

    def _power(self) -> Expression:
        base = self._atom()
        if self._sees("^"):
            self._take()
            base = Operation("^", base, self._exponent())
            if self._sees("^"):
                raise AmbiguousError
        while self._sees("%"):
            self._take()
            base = _percent(base)
        return base

    def _exponent(self) -> Expression:
        if self._sees("-"):
            self._take()
            return Negative(self._exponent_atom())
        return self._exponent_atom()

    def _exponent_atom(self) -> Expression:
        if self._sees("("):
            return self._atom()
        token = self._take()
        if token.kind != "number":
            raise UnreadableError
        return Number(Fraction(token.text))

    def _atom(self) -> Expression:
        token = self._take()
        match token.kind, token.text:
            case "number", text:
                return self._number(text)
            case "name", text:
                return Name(text)
            case "sign", "√":
                return Root(self._deeper(self._atom))
            case "sign", "(":
                inner = self._deeper(self._sum)
                if not self._sees(")"):
                    raise UnreadableError
                self._take()
                return inner
        raise UnreadableError

    def _deeper(self, inner: Callable[[], Expression]) -> Expression:
        if self._depth == MAX_DEPTH:
            raise TooComplexError
        self._depth += 1
        expression = inner()
        self._depth -= 1
        return expression

    def _number(self, text: str) -> Number:
        value = Fraction(text)
        if not text.isdigit():
            return Number(value, "decimal")
        if self._sees_fraction(0):
            return self._fraction(Fraction(0), int(text))
        following = self._peek()
        if following and following.spaced and self._sees_fraction(1):
            numerator = int(self._take().text)
            return self._fraction(value, numerator)
        return Number(value)

    def _sees_fraction(self, ahead: int) -> bool:
        """Return whether a numerator that ends before `ahead` is followed by a denominator."""
        if ahead and not self._sees_whole_number(0):
            return False
        return (
            self._sees("/", ahead)
            and self._sees_whole_number(ahead + 1)
            and not self._sees("^%", ahead + 2)
        )

    def _fraction(self, whole: Fraction, numerator: int) -> Number:
        self._take()
        denominator = int(self._take().text)
        if denominator == 0:
            raise UndefinedError
        part = Fraction(numerator, denominator)
        reduced = part.denominator == denominator and (not whole or part < 1)
        return Number(whole + part, "mixed" if whole else "fraction", reduced)


def _percent(expression: Expression) -> Expression:
    if isinstance(expression, Number):
        return Number(expression.value / 100, "percent")
    return Operation("/", expression, Number(Fraction(100)))
