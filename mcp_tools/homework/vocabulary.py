"""The words of `notation.yaml`, ready to be looked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from .language import Language

Goal = Literal[
    "solve",
    "calculate",
    "simplify",
    "reduce",
    "expand",
    "factorise",
    "compare",
    "fill",
    "judge",
    "convert",
]


class Vocabulary(BaseModel):
    """Words about homework and their meaning; the keys are those of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    signs: Mapping[Language, Mapping[str, str]]
    goals: Mapping[Goal, Sequence[str]]
    noise: Sequence[str]
    subjects: frozenset[str]
    verdicts: Mapping[Literal["right", "wrong"], frozenset[str]]
    nothing: frozenset[str]
    anything: frozenset[str]
    counters: Sequence[str]
    uncounted: frozenset[str]

    @cached_property
    def sign_of(self) -> Mapping[str, str]:
        return {word: sign for words in self.signs.values() for word, sign in words.items()}

    @cached_property
    def sign_words(self) -> re.Pattern[str]:
        return any_of(self.sign_of)

    @cached_property
    def goal_of(self) -> Mapping[str, Goal]:
        return {word: goal for goal, words in self.goals.items() for word in words}

    @cached_property
    def goal_words(self) -> re.Pattern[str]:
        return any_of(self.goal_of)

    @cached_property
    def noise_words(self) -> re.Pattern[str]:
        return any_of(self.noise)


@cache
def vocabulary() -> Vocabulary:
    """The words, read once."""
    file = Path(__file__).with_name("notation.yaml")
    return Vocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern of whole words, the longest first; Chinese words have no edges."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(_whole, longest_first)), re.IGNORECASE)


def _whole(word: str) -> str:
    edge = r"\b" if word.isascii() else ""
    return edge + re.escape(word).replace(r"\ ", r"\s+") + edge
