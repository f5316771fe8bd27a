"""Translatable texts found in a document."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypedDict


class Found(TypedDict):
    """One segment."""

    id: str
    text: str
    context: str
    """Location, such as `heading` or `Sheet1!A1`."""


class Document(Protocol):
    """An opened document, of any kind."""

    def segments(self) -> list[Found]:
        """All that can be translated, in reading order."""
        ...

    def apply(self, translations: Mapping[str, str]) -> list[str]:
        """Replace texts by their ids; returns remarks for who gets the result."""
        ...

    def save(self, path: Path) -> None:
        """Write what `apply` has made of it."""
        ...
