"""Texts of the kernel in the user's language; applications may replace them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from oda.message.language import Language

Texts = Mapping[Language, Mapping[str, str]]


class Wording:
    """Texts by name and language.

    Args:
        own: Texts of the application that replace the defaults, by language and name.
    """

    def __init__(self, own: Texts) -> None:
        self._own = own

    def __call__(self, name: str, language: Language, **values: str) -> str:
        """A text with its blanks filled in.

        Raises:
            KeyError: there is no text of that name.
        """
        text = self._own.get(language, {}).get(name) or _texts()[language][name]
        return text.format(**values)

    def choices(self, name: str, language: Language) -> tuple[str, ...]:
        """Several short texts that stand in one, between bars."""
        return tuple(self(name, language).split("|"))


@cache
def _texts() -> Texts:
    file = Path(__file__).with_name("wording.yaml")
    texts: Texts = yaml.safe_load(file.read_text(encoding="utf-8"))
    return texts
