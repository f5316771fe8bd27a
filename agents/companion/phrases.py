"""Phrases that are understood by words alone: a YAML list of `{topic, pattern}`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from oda.orchestration.rules import trimmed

_LEAD_IN = re.compile(
    r"(?:(?:嗯+|呃+|额+|啊|哎呀?|那个|老师|小伴|um+|uh+|er+|well|hey|please|teacher)[，,。.…！!\s]+"
    r"|老师|小伴(?=.))+",
    re.IGNORECASE,
)
"""Fillers and forms of address at the beginning of a message."""


@dataclass(frozen=True)
class Phrase:
    """The meaning of a message, and the names in it."""

    topic: str
    slots: Mapping[str, str]


class Phrases:
    """The phrases of a file.

    A pattern matches a whole message, without the marks at its ends and in either case; the first
    one that matches counts.
    """

    def __init__(self, file: Path) -> None:
        self._patterns = [
            (one["topic"], re.compile(one["pattern"], re.IGNORECASE))
            for one in yaml.safe_load(file.read_text(encoding="utf-8"))
        ]

    def find(self, message: str) -> Phrase | None:
        """The phrase that a message is."""
        said = without_lead_in(message)
        for topic, pattern in self._patterns:
            if found := pattern.fullmatch(said):
                slots = {name: value for name, value in found.groupdict().items() if value}
                return Phrase(topic, slots)
        return None


def without_lead_in(message: str) -> str:
    """Return a message without fillers at its beginning and marks at its ends."""
    said = trimmed(message)
    if lead_in := _LEAD_IN.match(said):
        return trimmed(said[lead_in.end() :]) or said
    return said
