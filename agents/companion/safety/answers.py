"""The check of what a model wants to say to a child, before the child reads it."""

from collections.abc import Sequence
from functools import cache

from oda.message.language import Language, language_of
from oda.telemetry import get_logger

from .concerns import CUT, LANGUAGES, Phrases, read_rules
from .looking_after import say

log = get_logger(__name__)


class _Unsafe:
    def __init__(self, language: Language) -> None:
        told = read_rules(f"answers.{language}.yaml")
        self._phrases = Phrases(language, told["words"])
        self._harmless = self._phrases.any_of(told["harmless"])
        self._unsafe = {
            one["kind"]: self._phrases.any_of(one["patterns"]) for one in told["answers"]
        }

    def kind_of(self, answer: str) -> str | None:
        said = self._phrases.written(answer)
        heard = self._harmless.sub(CUT, said)
        return next((kind for kind, found in self._unsafe.items() if found.search(heard)), None)


def unsafe_kind(answer: str) -> str | None:
    """Return why an answer is not for children; None if it may be read."""
    kinds = (rules.kind_of(answer) for rules in _unsafe())
    return next((kind for kind in kinds if kind is not None), None)


def for_a_child(answer: str, language: Language | None = None) -> str:
    """Return the answer, or a fixed text in its place; the log has the reason, not the words.

    Args:
        language: Of the fixed text; by default that of the answer.
    """
    kind = unsafe_kind(answer)
    if kind is None:
        return answer
    log.warning("companion_answer_withheld", kind=kind)
    return say()("withheld", language or language_of(answer, "zh"))


@cache
def _unsafe() -> Sequence[_Unsafe]:
    return [_Unsafe(language) for language in LANGUAGES]
