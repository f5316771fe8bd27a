"""Data about the effects of speech and its transcription on words."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from .language import Language


class Remarks(BaseModel):
    """Regular expressions, on normalised text, that tell questions and remarks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    whole: Sequence[str]
    """One of them is all that was said."""
    part: Sequence[str]
    """One of them occurs in what was said."""


class Spoken(BaseModel):
    """The content of `spoken.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fillers: frozenset[str]
    spellings: Mapping[str, str]
    """The canonical spelling by each spelling of a word."""
    homophones: Mapping[str, str]
    """The representative of a group of homophones by each English word in it."""
    remarks: Mapping[Language, Remarks]


@cache
def spoken() -> Spoken:
    """The data, read once."""
    file = Path(__file__).with_name("spoken.yaml")
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    data["spellings"] = {
        other: standard
        for standard, others in data["spellings"].items()
        for other in others.split()
    }
    data["homophones"] = {
        word: group.split()[0] for group in data["homophones"] for word in group.split()
    }
    return Spoken.model_validate(data)
