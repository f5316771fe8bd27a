"""The unfinished business of a conversation: incomplete entries, open choices.

The last one is the one that is asked for; the others wait behind it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from mcp_tools.resume import JsonObject, Section

from .understanding.additions import missing_fields
from .understanding.focus import Focus
from .understanding.recognition import Asked, Recognition
from .understanding.vocabulary import section_facts


class _Pending(BaseModel):
    model_config = ConfigDict(frozen=True)


class PendingEntry(_Pending):
    """An entry to be added that lacks fields; an `endDate` of `None` means "until now".

    `latest` are the fields that were given last, `doubted` dates that were given but cannot be
    right, because the end is before the start. `at` is the index where it goes; `None` is the end.
    """

    kind: Literal["entry"] = "entry"
    intent: Literal["ADD"] = "ADD"
    section: Section
    data: JsonObject
    missing_fields: tuple[str, ...]
    latest: tuple[str, ...] = ()
    doubted: JsonObject = {}
    at: int | None = None

    @property
    def asked(self) -> Asked:
        """The question to the person."""
        return Asked(self.section, self.missing_fields, self.data, self.latest)

    @property
    def told(self) -> JsonObject:
        """The description for clients."""
        return self.model_dump(mode="json", include={"section", "intent", "data", "missing_fields"})


class PendingSection(_Pending):
    """A message that says what to add but not where."""

    kind: Literal["section"] = "section"
    message: str


class PendingChoice(_Pending):
    """A command that fits several entries; `options` are their paths in that `version`."""

    kind: Literal["choice"] = "choice"
    intent: Literal["ADD", "UPDATE", "DELETE", "READ"]
    data: JsonObject = {}
    fields: tuple[str, ...] = ()
    value: str | None = None
    names: tuple[str, ...] = ()
    options: tuple[str, ...]
    version: int = 0


class PendingValue(_Pending):
    """A field or an entry that shall change, while its new value is not known yet.

    With `adds` the value is one more for a list.
    """

    kind: Literal["value"] = "value"
    path: str
    adds: bool = False

    @property
    def field(self) -> str | None:
        """The field; `None` for an entry."""
        focus = Focus.at(self.path)
        return focus.field if focus else None


Pending = Annotated[
    PendingEntry | PendingSection | PendingChoice | PendingValue, Field(discriminator="kind")
]
_PENDINGS: TypeAdapter[tuple[Pending, ...]] = TypeAdapter(tuple[Pending, ...])


def load_pending(stored: object) -> tuple[Pending, ...]:
    """Read pending data from the session state; nothing stored is nothing pending."""
    return _PENDINGS.validate_python(stored or ())


def dump_pending(pending: tuple[Pending, ...]) -> list[dict[str, JsonValue]]:
    """Return pending data as JSON for the session state."""
    dumped: list[dict[str, JsonValue]] = _PENDINGS.dump_python(pending, mode="json")
    return dumped


def merged(pending: PendingEntry, said: Recognition) -> PendingEntry:
    """Return a pending entry with what has been said about it.

    New values fill what is missing; they replace what is there when the person corrects it. Dates
    in doubt hold where nothing else is said.
    """
    new = {name: value for name, value in said.data.items() if value != ""}
    data = {**pending.data, **new} if said.corrects else {**new, **pending.data}
    if new.keys() & pending.doubted.keys():
        data = {**pending.doubted, **pending.data, **new}
    return PendingEntry(
        section=pending.section,
        data=data,
        missing_fields=missing_fields(pending.section, data),
        latest=tuple(new),
        doubted={k: v for k, v in pending.doubted.items() if k not in data},
        at=pending.at,
    )


def is_other_entry(pending: PendingEntry, said: Recognition) -> bool:
    """Tell whether something said is about another entry than the pending one."""
    if said.section != pending.section:
        return True
    title = section_facts()[pending.section].order[:1]
    return any(
        name in said.data and name in pending.data and said.data[name] != pending.data[name]
        for name in title
    )


def raised(pending: tuple[Pending, ...], text: str) -> tuple[Pending, ...]:
    """Put the entry on top that a message names."""
    folded = text.casefold()
    named = [item for item in pending if _title(item) and _title(item).casefold() in folded]
    if len(named) != 1:
        return pending
    return (*(item for item in pending if item is not named[0]), named[0])


def _title(pending: Pending) -> str:
    if not isinstance(pending, PendingEntry):
        return ""
    title = pending.data.get(section_facts()[pending.section].order[0])
    return title if isinstance(title, str) else ""
