"""Adding an entry, perhaps over several messages, until all that it needs is known."""

from mcp_tools.resume import JsonObject

from .decision import Act, Ask, Step
from .pending import Pending, PendingEntry, PendingSection, PendingValue, is_other_entry, merged
from .plan import addition, basics_calls
from .understanding.additions import missing_fields
from .understanding.recognition import Recognition

_PERIOD = ("startDate", "endDate")


def add(text: str, said: Recognition, pending: tuple[Pending, ...]) -> Step:
    """Add what a message says, or keep it and ask for what is missing."""
    if said.section is None:
        return Step(Ask("which_section"), (*pending, PendingSection(message=text)))
    if said.section == "basics":
        return _on_basics(said, pending)
    entry, waiting = _joined(said, pending)
    if said.problems:
        return Step(Ask("bad_date", {"text": said.problems[0]}), (*waiting, entry))
    if _is_reversed(entry.data):
        return Step(Ask("dates_reversed", dict(entry.data)), (*waiting, _undated(entry, said)))
    if entry.missing_fields:
        return Step(Ask("missing"), (*waiting, entry))
    return Step(Act(addition(entry.section, [entry.data, *said.others], at=entry.at)), waiting)


def _on_basics(said: Recognition, pending: tuple[Pending, ...]) -> Step:
    if said.data:
        return Step(Act(basics_calls(said)), pending)
    if len(said.fields) == 1:
        return Step(Ask("new_value"), (*pending, PendingValue(path=f"basics.{said.fields[0]}")))
    return Step(Ask("which_basics"), pending)


def _joined(
    said: Recognition, pending: tuple[Pending, ...]
) -> tuple[PendingEntry, tuple[Pending, ...]]:
    """Return the entry that a message is about, and what waits behind it."""
    assert said.section is not None
    missing = missing_fields(said.section, said.data)
    top = pending[-1] if pending else None
    if isinstance(top, PendingEntry) and top.section == said.section:
        other = is_other_entry(top, said) and not said.corrects
        if not other or (said.answers and missing):
            return merged(top, said), pending[:-1]
    new = PendingEntry(
        section=said.section, data=said.data, missing_fields=missing, latest=tuple(said.data)
    )
    return new, pending


def _is_reversed(data: JsonObject) -> bool:
    start, end = data.get("startDate"), data.get("endDate")
    if not isinstance(start, str) or not isinstance(end, str):
        return False
    length = min(len(start), len(end))
    return end[:length] < start[:length]


def _undated(entry: PendingEntry, said: Recognition) -> PendingEntry:
    """Return an entry without the dates that were said last and contradict what was known."""
    asked = tuple(name for name in _PERIOD if name in said.data)
    return PendingEntry(
        section=entry.section,
        data={name: value for name, value in entry.data.items() if name not in asked},
        missing_fields=(*asked, *entry.missing_fields),
        latest=asked,
        doubted={name: entry.data[name] for name in _PERIOD},
        at=entry.at,
    )
