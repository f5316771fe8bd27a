"""Texts for children: the sentences of `wording.yaml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from .language import Language

Sentence = Mapping[Language, str]


class Wording(BaseModel):
    """The sentences; the keys are those of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    comments: Mapping[str, Sentence]
    last_hint: Mapping[str, Sentence]
    summary: Mapping[str, Sentence]
    topics: Mapping[str, Sentence]


@cache
def wording() -> Wording:
    """The sentences, read once."""
    file = Path(__file__).with_name("wording.yaml")
    return Wording.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def comment(key: str, language: Language) -> str:
    """Return the comment on an answer."""
    return wording().comments[key][language]


def topic_label(topic: str, language: Language) -> str:
    """Return the name of a topic."""
    return wording().topics[topic][language]
