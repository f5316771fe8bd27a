"""Splits a piece of work into question and answer."""

import re
from itertools import islice

from .errors import ExpressionError, UnreadableError
from .notation import BLANK, plain, without_goal
from .understanding import MAX_QUESTION, can_understand, understand
from .units import unit_pattern
from .vocabulary import vocabulary
from .work import Item

_MARKER = re.compile(
    r"(?:^|[\s,，;；。.?？)）\]】□_]|(?<=\d))"
    r"(?:(?:我的)?答案?(?:是|[:：]|(?=\s*[-\d(（xX√一二两三四五六七八九十]))"
    r"|解[:：]|解得|\b(?:my\s+)?(?:answer|ans)\b\.?\s*(?:is\b|[:：=])?|\bA[:：])\s*(?=\S)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"^(?P<question>[^?？]+[?？])\s*(?P<answer>[^?？\s].*)$", re.DOTALL)
_GOES_ON = re.compile(
    rf"\s*(?:[-+*/×÷=＝<>＜＞)）^]|(?:{unit_pattern()})\s*(?:$|[=＝]))", re.IGNORECASE
)
_UNIT = re.compile(rf"(?<=[\d)）])\s*(?:{unit_pattern()})(?![A-Za-z])", re.IGNORECASE)
_FINAL = re.compile(
    r"\s*(?:解得|得|所以|so|then|∴|解[:：])?\s*(?P<name>[A-Za-z])\s*(?:_?\d|[₁₂₃₄])?\s*[=＝](?!.*[=＝]).*",
    re.DOTALL | re.IGNORECASE,
)
_OR = re.compile(r"\s*(?:或者?|和|\bor\b|\band\b)\s*", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"(?:[A-Za-z]\s*(?:_?\d|[₁₂₃₄])?\s*[=＝])?[^A-Za-z=＝]+")
_CONSTANT = re.compile(r"\s*[A-Za-z]\s*(?:_?\d|[₁₂₃₄])?\s*[=＝][^A-Za-z]*")
_EQUATION = re.compile(r"[=＝]")
_SO = r"(?:解得|得|所以|则|\bso\b|\bthen\b|\btherefore\b|∴)[,，:：\s]*"
_BETWEEN = re.compile(
    rf"(?:\s*(?:[,，;；、。\n]|→|⇒|[-=]>)\s*(?:{_SO})?|\s+(?:{_SO})?"
    r"(?=[A-Za-z]\s*(?:_?\d|[₁₂₃₄])?\s*[=＝]))",
    re.IGNORECASE,
)
_BEFORE_VALUE = re.compile(
    rf"\s*(?:[,，;；。]|→|⇒|[-=]>)\s*(?:{_SO})?|\s+(?:{_SO})?", re.IGNORECASE
)
_VALUE = re.compile(r"[-−±]?\s*\d+(?:\.\d+|\s*/\s*\d+|\s+\d+\s*/\s*\d+)?\s*[.。]?")
_MIXED = re.compile(r"\d\s+\d+\s*/\s*\d+\s*[.。]?\s*$")
_NAMED = re.compile(
    r"(?<![A-Za-z])([A-Za-z])\s*(?:等于|是|\bis\s+equal\s+to\b|\bequals\b|\bis\b|[:：])\s*(?=[-−]?\d)",
    re.IGNORECASE,
)
"""Matches `x is 4`, which names the value of an unknown in words."""
_UNKNOWN = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_SIGN = re.compile(r"[<>＜＞≥≤≠≈]|[=＝]")
_SAID = re.compile(r"等于|是|得|\bis\s+equal\s+to\b|\bequals\b|\bis\b|\bmakes\b", re.IGNORECASE)
MAX_SAID = 4
"""How many words that could stand for = are tried."""
_WORDS = re.compile(r"[A-Za-z]{3}|[\u4e00-\u9fff]")
_COLON = re.compile(r"\s*[:：]\s*(?!.*[:：])")


def parts_of(text: str) -> Item | None:
    """Take a piece of work apart, `None` when there is no answer in it, or it is too long."""
    if len(text) > MAX_QUESTION:
        return None
    for part in (
        _by_marker,
        _by_solution,
        _by_value,
        _by_question_mark,
        _by_sign,
        _by_word,
    ):
        if (item := part(text.strip())) and item.question and item.answer:
            return item
    return None


def by_colon(text: str) -> Item | None:
    """Take `question: answer` apart, for what is numbered and so is an item for sure."""
    question, *answer = _COLON.split(text, maxsplit=1)
    return Item(question=question, answer=answer[0]) if answer and question else None


def is_final(text: str) -> bool:
    """Tell whether a text says what an unknown is: `x=4`, 无解."""
    if _says_nothing(text):
        return True
    first, *others = _OR.split(text)
    return _FINAL.fullmatch(first) is not None and all(map(_ALTERNATIVE.fullmatch, others))


def unknown_of(text: str) -> str | None:
    """The one letter of an equation."""
    letters = set(_UNKNOWN.findall(text))
    return letters.pop() if len(letters) == 1 and _EQUATION.search(text) else None


def _says_nothing(text: str) -> bool:
    words = vocabulary()
    return text.strip(" .。!！").lower() in words.nothing | words.anything


def _by_marker(text: str) -> Item | None:
    found = _MARKER.search(text)
    if found is None or not text[: found.start()].strip():
        return None
    kept = text[: found.start() + (text[found.start()] in "?？)）]】□_")]
    return Item(question=kept.strip(" ,，;；"), answer=text[found.end() :])


def _by_solution(text: str) -> Item | None:
    """Find the first of the closing pieces that only say what the unknowns are."""
    if BLANK in plain(text):
        return None
    text = _NAMED.sub(r"\1=", text)
    for gap in _BETWEEN.finditer(text):
        head, tail = text[: gap.start()].strip(), text[gap.end() :]
        equations = _pieces(head)
        if not equations or _CONSTANT.fullmatch(equations[0]):
            return None
        if all(map(is_final, _pieces(tail))) and all(
            _EQUATION.search(each) and _UNKNOWN.search(each) for each in equations
        ):
            return Item(question=head, answer=tail)
    return None


def _by_value(text: str) -> Item | None:
    """Find a number that follows an equation in one unknown and gives the unknown's value."""
    if BLANK in plain(text) or _MIXED.search(text):
        return None
    for gap in _BEFORE_VALUE.finditer(text):
        head, tail = text[: gap.start()].strip(), text[gap.end() :].strip()
        if _VALUE.fullmatch(tail):
            is_equation = unknown_of(plain(head)) is not None and not _CONSTANT.fullmatch(head)
            return Item(question=head, answer=tail) if is_equation and _is_readable(head) else None
    return None


def _pieces(text: str) -> list[str]:
    return [piece for piece in _BETWEEN.split(text) if piece.strip()]


def _by_question_mark(text: str) -> Item | None:
    found = _ASKED.match(text)
    if found is None or _GOES_ON.match(found["answer"]):
        return None
    return Item(question=found["question"], answer=found["answer"])


def _by_sign(text: str) -> Item | None:
    found = _SIGN.search(text)
    if found is None or BLANK in plain(text):
        return None
    left, right = text[: found.start()].strip(), text[found.end() :].strip()
    if not left or not right or not _is_readable(left) or _goal(text) == "judge":
        return None
    if _UNKNOWN.search(_UNIT.sub("", plain(text))) and not _is_rewritten(left):
        return None
    if _EQUATION.fullmatch(found[0]):
        return Item(question=left, answer=right)
    if found[0] == "≈":
        return Item(question=left, answer=f"≈{right}")
    return Item(question=f"{left} ○ {right}", answer=found[0]) if _is_readable(right) else None


def _by_word(text: str) -> Item | None:
    for found in islice(_SAID.finditer(text), MAX_SAID):
        left, right = text[: found.start()].strip(), text[found.end() :].strip()
        answered = any(map(str.isalnum, plain(right))) and not right.startswith(("多少", "几"))
        if answered and BLANK not in plain(text) and can_understand(left):
            return Item(question=left, answer=right)
    return None


def _is_rewritten(left: str) -> bool:
    """Tell an expression to be rewritten from the left side of an equation."""
    return _goal(left) in {"simplify", "expand", "factorise"}


def _goal(text: str) -> str | None:
    return without_goal(plain(text))[1]


def _is_readable(text: str) -> bool:
    """Tell mathematics from prose, also where it is too much for code to check."""
    try:
        understand(text)
    except UnreadableError:
        return _WORDS.search(without_goal(text)[0]) is None and any(map(str.isdigit, text))
    except ExpressionError:
        return True
    return True
