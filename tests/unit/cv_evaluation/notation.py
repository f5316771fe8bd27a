"""The notation of the labelled sets, as they stand in YAML files.

A value may be `{any: [a, b]}` where words may fairly differ, and a whole expectation too. Indices
in paths are those before the message.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from mcp_tools.resume import SECTIONS, JsonObject, Language

Half = Literal["learned", "unseen"]
Question = Literal["which", "what", "date", "missing_entry"]


def _several(value: object) -> object:
    """Read one of something, a list, or `{any: [...]}`."""
    if isinstance(value, Mapping):
        value = value["any"]
    return (value,) if isinstance(value, str) else value


Several = Annotated[tuple[str, ...], BeforeValidator(_several)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(_Part):
    """What must come of a message; nothing else of the resume may change.

    `intent` and `section` are alternatives, and none means any. `asks` names the fields that an
    entry lacks, or the kind of question; `keeps` is the entry so far. `order` says for lists where
    their items were before, `sections` which come in this order, `task` the tool that is called and
    its argument; with `batch` one undo leads back to the resume before.
    """

    intent: Several = ()
    section: Several = ()
    adds: dict[str, list[JsonValue]] = {}
    sets: dict[str, JsonValue] = {}
    removes: Several = ()
    reads: Several = ()
    undoes: bool = False
    asks: Question | tuple[str, ...] | None = None
    keeps: JsonObject | None = None
    drops: bool = False
    says: bool = False
    model: bool = False
    order: dict[str, tuple[int, ...]] = {}
    sections: tuple[str, ...] = ()
    task: str = ""
    batch: bool = False

    @model_validator(mode="after")
    def _adds_to_sections(self) -> "Expectation":
        if unknown := set(self.adds) - {*SECTIONS} | self.adds.keys() & {"basics"}:
            raise ValueError(f"entries cannot be added to {sorted(unknown)}")
        return self

    @property
    def is_open(self) -> bool:
        """Whether nothing is expected yet but an intent and a section."""
        return not self.model_fields_set - {"intent", "section", "say", "any"}


class Message(Expectation):
    """What a person says, and what must come of it: this, or one of `any`."""

    say: str
    any: tuple[Expectation, ...] = ()

    @model_validator(mode="after")
    def _expects_something(self) -> "Message":
        if self.is_open != bool(self.any):
            raise ValueError(f"{self.say!r} expects nothing, or both something and alternatives")
        return self

    @property
    def alternatives(self) -> tuple[Expectation, ...]:
        """Every expectation that would be right, each with its intent and section."""
        common = {"intent": self.intent, "section": self.section}
        return tuple(
            other.model_copy(update={k: v for k, v in common.items() if not getattr(other, k)})
            for other in self.any or (self,)
        )


class Dialogue(_Part):
    """Messages of one conversation."""

    name: str
    language: Language
    turns: tuple[Message, ...] = Field(min_length=1)


class LabelledSet(_Part):
    """One file; utterances and dialogues all start from the same resume."""

    half: Half
    language: Language | None = None
    resume: JsonObject
    today: date
    utterances: tuple[Message, ...] = ()
    dialogues: tuple[Dialogue, ...] = ()

    @model_validator(mode="after")
    def _utterances_have_a_language(self) -> "LabelledSet":
        if self.utterances and self.language is None:
            raise ValueError("a set of utterances needs a language")
        return self


def load_set(path: Path) -> LabelledSet:
    """Read a file.

    Raises:
        pydantic.ValidationError: it does not follow the notation.
    """
    return LabelledSet.model_validate(_worded(yaml.safe_load(path.read_text(encoding="utf-8"))))


def _worded(value: object) -> object:
    """Return YAML with its numbers and dates as the words that somebody wrote."""
    if isinstance(value, Mapping):
        return {key: _worded(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_worded(inner) for inner in value]
    is_word = isinstance(value, int | float | date) and not isinstance(value, bool)
    return str(value) if is_word else value
