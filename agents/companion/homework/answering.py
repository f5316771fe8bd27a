"""What a message says to a question of homework: an answer, an aside, or what may be either.

Grammar in place of a list of sentences: around an answer stand words that say nothing of it, that
announce it, doubt it, or take back what was said before; what is left decides. An answer to a
question that code can check is a value and nothing else. Pure; the words are in `answering.yaml`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from mcp_tools.homework import OTHER_TOPIC, Item, is_value, topic_of
from oda.orchestration.guardrails import answer_in as agrees_or_refuses

from ..chat.answers import UNCLEAR, small_talk
from ..rules import rules

_LONGEST = 300
"""Characters that the patterns read; a longer message is no plain answer."""
_MOST_AROUND = 8
"""Pieces that are taken off each end of a message."""
_MARK = r"[\s,，.。!！~～…、:：;；?？\"“”'‘’]"
_CLAUSE_END = re.compile(r"[，。！!；;？?、\n…]+|,(?!\d)|\.(?=\s|$)|\s-+\s")
_OR = re.compile(r"还是|或者?是?|\bor\b", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """A message, as it is taken."""

    kind: Literal["answer", "aside", "unclear"]
    answer: str = ""
    """The answer alone; where it is unclear, what may be one."""


class Named(NamedTuple):
    """Words to an item that is named by its number: `第三题是15`."""

    number: int
    rest: str


def said_to(message: str, question: str) -> Said:
    """Return what a message says to the question that is open."""
    words, message = _words(), message.strip()
    computed = topic_of(Item(question=question)) != OTHER_TOPIC
    if len(message) > _LONGEST:
        return Said("aside") if computed else Said("unclear", message)
    if (verdict := words.verdict_in(message, question)) is not None:
        return Said("answer", verdict)
    return words.value_in(message) if computed else words.words_in(message, question)


def taken(answer: str | None, question: str) -> str | None:
    """Return what a model has taken for the answer to a question, where it may be one."""
    said = said_to(answer, question) if answer else Said("aside")
    return None if said.kind == "aside" else said.answer


def named_in(message: str) -> Sequence[Named]:
    """Return the items that a message names, with the words to each of them."""
    return _words().named_in(message.strip()) if len(message) <= _LONGEST else ()


class _Words:
    """The patterns of `answering.yaml`."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._before = _at_start(told["before"])
        self._announced = _at_start(told["announced"])
        self._after = _at_end(told["after"])
        self._taken_back = _any(told["taken_back"])
        self._items = [_any([one]) for one in told["item"]]
        self._reason = _any([told["reason"]])
        self._aside = _any(told["aside"])
        self._listed = _any([told["listed"]])
        self._tells = _any(told["tells"])
        self._doubtful = _any(told["doubtful"])
        self._wants_sentence = _any([told["wants_sentence"]])
        self._clearly_announced = _any([told["clearly_announced"]])
        self._wants_verdict = _any([told["wants_verdict"]])
        self._verdict = _any([told["verdict"]])

    def verdict_in(self, message: str, question: str) -> str | None:
        """The yes or no that a message says, where that is asked."""
        if not self._wants_verdict.search(question):
            return None
        core = self._core(message)
        said = _cut(self._announced, core).rest
        found = self._verdict.fullmatch(core) or self._verdict.fullmatch(said)
        return found["said"] if found else None

    def value_in(self, message: str) -> Said:
        """The one value that a message says, or the last one if it takes back those before it."""
        if (value := self._value(message)) is not None:
            return Said("answer", value)
        found: list[str] = []
        for clause in _CLAUSE_END.split(self._reason.split(message)[0]):
            if self._taken_back.fullmatch(clause.strip()):
                found.clear()
            elif (value := self._value(clause)) is not None and value not in found:
                found.append(value)
            elif len(alternatives := _OR.split(clause)) > 1:
                found += [value for one in alternatives if (value := self._value(one)) is not None]
        if not found:
            return Said("aside")
        return Said("answer" if len(found) == 1 else "unclear", found[-1])

    def words_in(self, message: str, question: str) -> Said:
        """The answer in words, where a message is clearly one."""
        core = self._core(message)
        if self._aside.fullmatch(core) or agrees_or_refuses(message, rules()) != "unclear":
            return Said("aside")
        cut = _cut(self._announced, core)
        if cut.off and self._clearly_announced.fullmatch(cut.off):
            return self._in_words(cut.rest)
        phrase = small_talk().find(message)
        is_talk = phrase is not None and phrase.topic != UNCLEAR
        if is_talk or self._tells.fullmatch(core):
            wanted = self._wants_sentence.search(question) is not None
            return Said("unclear", core) if wanted else Said("aside")
        return self._in_words(core)

    def _in_words(self, said: str) -> Said:
        if self._aside.fullmatch(said):
            return Said("aside")
        return Said("unclear" if self._doubtful.fullmatch(said) else "answer", said)

    def _core(self, message: str) -> str:
        """The message without the words around it that say nothing."""
        return _cut(self._after, _cut(self._before, message).rest).rest

    def named_in(self, message: str) -> Sequence[Named]:
        listed = [self._listed.fullmatch(line.strip()) for line in message.splitlines()]
        if len(listed) > 1 and all(listed):
            return [Named(int(one["number"]), one["rest"]) for one in listed if one]
        said = _cut(self._before, message).rest
        for pattern in self._items:
            if (found := pattern.match(said)) and (rest := said[found.end() :].strip()):
                return [Named(_number(found["number"]), rest)]
        return ()

    def _value(self, text: str) -> str | None:
        """The value that a text says with any words around it; None if it says something else."""
        value = None
        for _ in range(_MOST_AROUND):
            text = _stripped(text)
            value = text if is_value(text) else value
            shorter = next(
                (
                    cut.rest
                    for pattern in (self._after, self._before, self._announced)
                    if (cut := _cut(pattern, text, most=1)).off
                ),
                None,
            )
            if shorter is None:
                break
            text = shorter
        return value


class _Cut(NamedTuple):
    """A text without pieces at one of its ends."""

    rest: str
    off: str = ""


def _at_start(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"{_MARK}*(?:{_joined(patterns)}){_MARK}*", re.IGNORECASE)


def _at_end(patterns: Sequence[str]) -> re.Pattern[str]:
    """English words at the end of a text begin where a word begins."""
    return re.compile(rf"(?<![A-Za-z'’])(?:{_joined(patterns)}){_MARK}{{0,10}}$", re.IGNORECASE)


def _any(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(_joined(patterns), re.IGNORECASE | re.DOTALL)


def _joined(patterns: Sequence[str]) -> str:
    return "|".join(f"(?:{one})" for one in patterns)


def _cut(pattern: re.Pattern[str], text: str, *, most: int = _MOST_AROUND) -> _Cut:
    """Take pieces of a pattern off the end or the beginning of a text; some of it is left."""
    off, find = "", pattern.search if pattern.pattern.endswith("$") else pattern.match
    text = _stripped(text)
    for _ in range(most):
        found = find(text)
        rest = _stripped(text[: found.start()] + text[found.end() :]) if found else ""
        if found is None or not found[0] or not rest:
            break
        text, off = rest, off + found[0]
    return _Cut(text, off)


def _stripped(text: str) -> str:
    return text.strip(" \t\r\n\u3000,，.。!！~～…、:：;；?？\"“”'‘’")


def _number(said: str) -> int:
    if said.isdecimal():
        return int(said)
    tens, ten, ones = said.rpartition("十")
    digits = "零一二三四五六七八九"
    if not ten:
        return digits.find(said)
    return 10 * (digits.find(tens) if tens else 1) + (digits.find(ones) if ones else 0)


@cache
def _words() -> _Words:
    file = Path(__file__).with_name("answering.yaml")
    return _Words(yaml.safe_load(file.read_text(encoding="utf-8")))
