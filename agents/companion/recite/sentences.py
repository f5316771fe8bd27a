"""Sentences of the scene `recite`, and the phrases that it recognizes."""

from functools import cache
from pathlib import Path

from oda.orchestration.wording import Wording

from ..phrases import Phrases
from ..wording import wording

_HERE = Path(__file__).parent


@cache
def say() -> Wording:
    """The sentences of the scene."""
    return wording(_HERE)


@cache
def controls() -> Phrases:
    """Return the phrases that control the scene."""
    return Phrases(_HERE / "controls.yaml")
