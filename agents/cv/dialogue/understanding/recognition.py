"""The result of understanding a message: values only, no decision."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from mcp_tools.resume import JsonObject, Language, Section

Signal = Literal["cancel", "swap", "later", "go_on", "none", "unsure", "greeting", "thanks", "help"]
Beside = Literal["before", "after", "other"]
ALL_STEPS = 1000
"""More edits than can be taken back."""


class Intent(StrEnum):
    """The action requested on the resume."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    READ = "READ"
    UNDO = "UNDO"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Target:
    """Which entries are meant.

    `ordinals` count from 0, or from the end with -1 for the last; `names` are words of the entries;
    `newest` is the current or most recent one, `oldest` the earliest; `beside` is one next to that
    in focus, or the only other one; with `rest` all the others are meant.
    """

    ordinals: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    newest: bool = False
    oldest: bool = False
    every: bool = False
    rest: bool = False
    beside: Beside | None = None

    def __bool__(self) -> bool:
        by_place = self.ordinals or self.newest or self.oldest or self.beside
        return bool(by_place or self.names or self.every)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """The intent of a message and what it says.

    `data` holds the fields of the first entry, `others` further entries of a list ("Python, Go");
    an `endDate` of `None` means "until now". `fields` are the fields that a READ or DELETE asks
    for, or the list field that an ADD extends. `value` is a new value whose field is not named, in
    place of `target.names`, or in a DELETE one that an entry loses. `problems` are dates that
    cannot be read. `answers` says that the message fills in what was asked, `corrects` that it
    replaces what was said before. `unmarked` are fields of `data` whose words nothing
    marks as theirs. `steps` are the edits to take back. `language` is `None` when
    the message could be either.
    """

    intent: Intent = Intent.UNKNOWN
    section: Section | None = None
    data: JsonObject = field(default_factory=dict)
    others: tuple[JsonObject, ...] = ()
    target: Target = Target()
    fields: tuple[str, ...] = ()
    value: str | None = None
    missing_fields: tuple[str, ...] = ()
    confidence: float = 0.0
    problems: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    answers: bool = False
    corrects: bool = False
    creative: bool = False
    signal: Signal | None = None
    steps: int = 1
    language: Language | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The question to the person: the missing fields of an incomplete entry.

    `known` is the entry so far, and `latest` are the fields that were given last.
    """

    section: Section
    fields: tuple[str, ...]
    known: JsonObject = field(default_factory=dict)
    latest: tuple[str, ...] = ()

    @property
    def year(self) -> str | None:
        """The year in which the entry starts, if it is known."""
        start = self.known.get("startDate")
        return start[:4] if isinstance(start, str) else None
