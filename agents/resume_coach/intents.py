"""Recognition by rules of a person's intent, in Chinese and English."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import yaml

from oda.orchestration.rules import trimmed

_LONGEST = 200
"""Characters; a longer message tells something, and is no command."""


class Intent(StrEnum):
    """The intent of a message."""

    CONTINUE = "CONTINUE"
    """It tells something."""
    CONFIRM = "CONFIRM"
    REJECT = "REJECT"
    SKIP = "SKIP"
    BACKTRACK = "BACKTRACK"
    PAUSE = "PAUSE"


@dataclass(frozen=True)
class Understood:
    """A message as the guide takes it."""

    intent: Intent
    said: str = ""
    """The rest of the message, without the words of the intent."""
    target: str | None = None
    """Target of a `BACKTRACK`: a section, a task or its number in the person's words; "" for the
    last.
    """


def understand(message: str) -> Understood:
    """Tell what a message is."""
    said = trimmed(message)
    if len(said) <= _LONGEST:
        for intent, patterns in _patterns().items():
            for pattern in patterns:
                if found := pattern.fullmatch(said):
                    named = found.groupdict()
                    rest = (named.get("rest") or "").strip()
                    return Understood(intent, rest, named.get("target"))
    return Understood(Intent.CONTINUE, message.strip())


@cache
def _patterns() -> Mapping[Intent, Sequence[re.Pattern[str]]]:
    words = yaml.safe_load(Path(__file__).with_name("intents.yaml").read_text(encoding="utf-8"))
    return {
        Intent(name): [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
        for name, patterns in words.items()
    }
