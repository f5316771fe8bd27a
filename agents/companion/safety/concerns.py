"""What a message is about that needs a grown-up: found by words, the same in every scene.

A file for each language (`concerns.<language>.yaml`) holds the words, the phrases that only look
alike, and the patterns of each category. Messages of children mix languages, so all files count.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from opencc import OpenCC

from oda.message.language import Language

from ..learning.records import SEVERITIES, Concern

_HERE = Path(__file__).parent
LANGUAGES: Sequence[Language] = ("zh", "en")
_NAME = re.compile(r"<([a-z_]+)>")
_GAP: Mapping[Language, str] = {"zh": r"[^。!?]{0,6}?", "en": r"(?: [\w'-]+){0,4}?"}
_LONGEST = 4_000
"""Characters; the patterns of both languages take up to 0.1 s for them."""
CUT = " 。. "
"""Takes the place of a harmless phrase: no pattern goes across it."""

_STOPS = re.compile(r"[\n\r。!?;…]+")
# Each run of marks is looked at once: from its beginning, and without going back.
_IN_CHINESE = re.compile(
    r"(?<=[\u3400-\u9fff])[\s*·•_^#|/\\.-]++(?=[\w])"
    r"|(?<![\s*·•_^#|])[\s*·•_^#|]++(?=[\u3400-\u9fff])"
)
_REPEATED = re.compile(r"([a-z\u3400-\u9fff])\1{2,}")
_OTHER_MARKS = re.compile(r"[^\w\s.!?@+()-]")


class Phrases:
    """The patterns of a file, with its words filled in.

    Args:
        language: Decides what a gap in a pattern is, and how a message is written for the search.
    """

    def __init__(self, language: Language, words: Mapping[str, str]) -> None:
        self._words = words
        self._gap = _GAP[language]
        self.written: Callable[[str], str] = _WRITTEN[language]
        self._whole_words = language == "en"

    def any_of(self, patterns: Iterable[str]) -> re.Pattern[str]:
        """One pattern for several."""
        joined = "|".join(f"(?:{self._expanded(one)})" for one in patterns)
        return re.compile(rf"(?<!\w)(?:{joined})(?!\w)" if self._whole_words else joined)

    def _expanded(self, pattern: str) -> str:
        while _NAME.search(pattern):
            pattern = _NAME.sub(lambda found: f"(?:{self._words[found[1]]})", pattern)
        return pattern.replace("~", self._gap)


class _Rules:
    def __init__(self, language: Language) -> None:
        told = read_rules(f"concerns.{language}.yaml")
        phrases = Phrases(language, told["words"])
        self._written = phrases.written
        self._harmless = phrases.any_of(told["harmless"])
        self._concerns = [
            (
                Concern(category=one["category"], severity=one["severity"]),
                phrases.any_of(one["patterns"]),
            )
            for one in told["concerns"]
        ]

    def find(self, message: str) -> Concern | None:
        said = self._written(message)
        # frustration is known by the very phrases that are harmless otherwise
        heard = self._harmless.sub(CUT, said)
        for concern, pattern in self._concerns:
            if pattern.search(said if concern.severity == "none" else heard):
                return concern
        return None


def read_rules(name: str) -> dict[str, Any]:
    """The content of a file of rules."""
    rules: dict[str, Any] = yaml.safe_load((_HERE / name).read_text(encoding="utf-8"))
    return rules


def concern_in(message: str) -> Concern | None:
    """Return the most severe concern of a message, or None.

    Of a message that is longer than what children write, only the beginning and the end are read.
    """
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]}{CUT}{message[-_LONGEST // 2 :]}"
    found = [concern for rules in _rules() if (concern := rules.find(message)) is not None]
    return min(found, key=lambda one: SEVERITIES.index(one.severity), default=None)


@cache
def _rules() -> Sequence[_Rules]:
    return [_Rules(language) for language in LANGUAGES]


@cache
def _simplified() -> OpenCC:
    return OpenCC("t2s")


def _chinese(message: str) -> str:
    """Simplified, without spaces and marks that are put between characters."""
    said = unicodedata.normalize("NFKC", _simplified().convert(message)).casefold()
    return _IN_CHINESE.sub("", _REPEATED.sub(r"\1\1", _STOPS.sub("。", said)))


def _english(message: str) -> str:
    """Small letters, without apostrophes and commas, one space between words."""
    said = unicodedata.normalize("NFKC", message).casefold()
    said = re.sub(r"['’‘`´]", "", said)
    said = re.sub(
        r"(?<=\w)([.!?]+)(?=\s|$)", r" \1", _STOPS.sub(" . ", _OTHER_MARKS.sub(" ", said))
    )
    return " ".join(_REPEATED.sub(r"\1\1", said).split())


_WRITTEN: Mapping[Language, Callable[[str], str]] = {"zh": _chinese, "en": _english}
