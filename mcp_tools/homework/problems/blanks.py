"""A text with blanks to fill in: numbers, digits, or signs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_tools.homework.algebra import fraction_of, solve, tidy
from mcp_tools.homework.answers import bare, number, without_measure, without_unknown
from mcp_tools.homework.arithmetic import form_of, written
from mcp_tools.homework.display import show
from mcp_tools.homework.errors import ExpressionError, UnreadableError
from mcp_tools.homework.expression import names
from mcp_tools.homework.language import Language
from mcp_tools.homework.notation import BLANK
from mcp_tools.homework.relations import Relation, relation

from .linear import linear_step
from .problem import Judged

MAX_BLANKS = 4

_DIGIT_BLANK = re.compile(rf"\d\s*{BLANK}|{BLANK}\s*\d")
_SIGN = re.compile(r"[-+*÷/<>=≥≤≠]")
_CANDIDATES = ("0123456789", "+-*÷", "<>=")
_SHOWN = {"*": "×"}


@dataclass(frozen=True)
class Blanks:
    """`text` holds each blank as `□`; what fills them makes it a true relation."""

    text: str

    @property
    def topic(self) -> str:
        return "missing_numbers"

    def judge(self, answer: str, language: Language) -> Judged:
        right = self._filled(self._fillings(answer)).holds()
        return Judged(right, "correct" if right else "wrong_blank")

    def _fillings(self, answer: str) -> list[str]:
        text = bare(answer)
        if whole := self._read_off(text):
            return whole
        if _SIGN.fullmatch(text):
            return [text]
        count = self.text.count(BLANK)
        parts = [text] if count == 1 else re.split(r"[,;、\s]+|\band\b|和", text)
        if len(parts) != count:
            raise UnreadableError
        return [without_measure(without_unknown(part)).strip() for part in parts]

    def _read_off(self, text: str) -> list[str] | None:
        """Read the fillings off when the answer repeats the question."""
        pieces = [re.escape(piece) for piece in re.sub(r"\s", "", self.text).split(BLANK)]
        found = re.fullmatch("([^=]+?)".join(pieces), re.sub(r"\s", "", text))
        return list(found.groups()) if found else None

    def _filled(self, fillings: Sequence[str]) -> Relation:
        text = self.text
        for filling in fillings:
            text = text.replace(BLANK, self._fitted(filling), 1)
        return relation(text)

    def _fitted(self, filling: str) -> str:
        if _SIGN.fullmatch(filling) or _DIGIT_BLANK.search(self.text):
            return filling
        number(filling)
        return f"({filling})"

    def solution(self, language: Language) -> str | None:
        if self.text.count(BLANK) != 1:
            return None
        try:
            return self._solved()
        except ExpressionError:
            return self._tried()

    def _solved(self) -> str | None:
        if _DIGIT_BLANK.search(self.text):
            raise UnreadableError
        equation = relation(self.text)
        if equation.sign != "=" or not names(equation.left, equation.right):
            raise UnreadableError
        roots = solve(equation.left, equation.right, BLANK).roots
        if roots is None or len(roots) != 1:
            return None
        root = fraction_of(roots[0])
        return tidy(roots[0]) if root is None else written(root, form_of(equation.left))

    def _tried(self) -> str | None:
        for candidates in _CANDIDATES:
            fitting = [sign for sign in candidates if self._fits(sign)]
            if len(fitting) == 1:
                return _SHOWN.get(fitting[0], fitting[0])
        return None

    def _fits(self, filling: str) -> bool:
        try:
            return self._filled([filling]).holds()
        except ExpressionError:
            return False

    def spellings(self) -> Sequence[str]:
        return []

    def pieces(self) -> Mapping[str, str]:
        found = {"question": self.text.replace("*", "×")}
        if step := self._step():
            found["step"] = step
        return found

    def _step(self) -> str | None:
        try:
            equation = relation(self.text)
            step = linear_step(equation.left, equation.right)
        except ExpressionError:
            return None
        return step and f"{show(step[0])} = {show(step[1])}"

    def working(self, language: Language) -> Sequence[str]:
        solution = self.solution(language)
        step = self._step()
        filled = self.text.replace(BLANK, solution).replace("*", "×") if solution else None
        return [line for line in (step, filled) if line]


def blanks(text: str) -> Blanks:
    """A problem with blanks.

    Raises:
        UnreadableError: it has too many blanks, or no relation could be true of it.
    """
    if text.count(BLANK) > MAX_BLANKS or not any(_readable(text)):
        raise UnreadableError
    return Blanks(text)


def _readable(text: str) -> Iterator[bool]:
    for filling in ("1", "+", "="):
        try:
            relation(text.replace(BLANK, filling))
        except ExpressionError as error:
            if not isinstance(error, UnreadableError):
                raise
        else:
            yield True
