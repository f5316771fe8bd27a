"""Questions about what is on record: what went wrong, what was recited, how it goes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from oda.orchestration.rules import trimmed

from ..phrases import without_lead_in
from .period import Period, period_in

About = Literal["mistakes", "recitations", "progress", "history"]

_LONGEST = 80
"""Characters of a question; longer messages are something else."""
_SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "math": ("数学", "口算", "算术", "maths", "math", "arithmetic"),
    "chinese": ("语文", "chinese"),
    "english": ("英语", "english"),
}
_SUBJECT = re.compile(
    r"(?P<lead>\b(?:in|at|with|on|my)\s+)?(?:"
    + "|".join(f"(?P<{name}>{'|'.join(words)})" for name, words in _SUBJECTS.items())
    + r")(?:作业|课|题(?=错|做错)|\s+homework)?",
    re.IGNORECASE,
)
_IN_CHINESE = re.compile(r"(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])")
_PARTICLES = re.compile(
    r"(?:[了呢吗啊呀吧哦嘛么]|好吗|可以吗|一下|给我看看?|for\ me|please|again){1,3}$"
)
_LEFT_OVER = re.compile(r"^[的里在,，]+|[的里在,，]+$")


@dataclass(frozen=True)
class Question:
    """The records that are asked for."""

    about: About
    period: Period | None = None
    """None where no days are named."""
    subject: str | None = None


def question_in(message: str, today: date) -> Question | None:
    """Return the question that a message is, or None."""
    if len(message) > _LONGEST:
        return None
    said = without_lead_in(message)
    said = said.replace("’", "'").replace("'s", "s").replace("'ve", " have")
    period, rest = period_in(said, today)
    subject, rest = _subject_in(rest)
    core = _bare(rest)
    for about, pattern in _patterns():
        if pattern.fullmatch(core) or pattern.fullmatch(_PARTICLES.sub("", core)):
            return Question(about, period, subject)
    return None


def _subject_in(message: str) -> tuple[str | None, str]:
    found = _SUBJECT.search(message)
    if found is None:
        return None, message
    subject = next(name for name in _SUBJECTS if found[name])
    lead = "my " if found["lead"] and found["lead"].lower().startswith("my") else ""
    return subject, f"{message[: found.start()]} {lead}{message[found.end() :]}"


def _bare(message: str) -> str:
    """Return a message without what taking words out of it has left."""
    said = _IN_CHINESE.sub("", " ".join(message.split()))
    return " ".join(_LEFT_OVER.sub("", trimmed(said)).split())


@cache
def _patterns() -> list[tuple[About, re.Pattern[str]]]:
    file = Path(__file__).with_name("questions.yaml")
    told: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    questions = told.pop("questions")
    return [
        (one["about"], re.compile(_filled(pattern, told), re.IGNORECASE))
        for one in questions
        for pattern in one["patterns"]
    ]


def _filled(pattern: str, words: Mapping[str, str]) -> str:
    for name, meaning in words.items():
        pattern = pattern.replace(f"{{{name}}}", meaning)
    return pattern
