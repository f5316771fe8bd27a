"""Whether what came of a message is what must come of it, by its effect and not by its words."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic import JsonValue

from agents.cv.dialogue.decision import Act, Ask, Defer, Say
from agents.cv.dialogue.pending import PendingEntry

from .documents import edited, fits, ordered, places, same_document, within
from .notation import Expectation, Message
from .talk import Seen

QUESTIONS: Mapping[str, str] = MappingProxyType(
    {
        "which_entry": "which",
        "bad_date": "date",
        "dates_reversed": "date",
        "not_found": "missing_entry",
        "no_such_number": "missing_entry",
        "empty_section": "missing_entry",
    }
)
"""The kind of question of a topic; every other topic asks "what"."""
REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "entry_not_found": "missing_entry",
        "nothing_there": "missing_entry",
        "invalid_date": "date",
    }
)
"""What a friendly error of a tool says as much as a question does."""
PERIOD = ("startDate", "endDate")
"""Both together answer a question of duration, for which an entry is expected."""


def is_right(message: Message, seen: Seen) -> bool:
    """Tell whether one of a message's expectations has come true."""
    return any(_fulfils(wanted, seen) for wanted in message.alternatives)


def _fulfils(wanted: Expectation, seen: Seen) -> bool:
    return all(check(wanted, seen) for check in _CHECKS)


def _understood(wanted: Expectation, seen: Seen) -> bool:
    """Setting a field may be called adding it; what a model shall do is not recognised."""
    if wanted.model:
        return True
    said = seen.outcome.recognition
    setting = {"ADD", "UPDATE"} if wanted.sets else set()
    intents = {*wanted.intent} | (setting if setting & {*wanted.intent} else set())
    sections = () if wanted.undoes else wanted.section
    return (not intents or said.intent in intents) and (not sections or said.section in sections)


def _changed(wanted: Expectation, seen: Seen) -> bool:
    if wanted.undoes:
        return bool(seen.calls) and all(call.name == "CVUndo" for call in seen.calls)
    try:
        document = ordered(edited(seen.before, wanted.sets, wanted.removes), wanted.order)
    except LookupError:
        return False
    return same_document(document, wanted.adds, seen.after)


def _shown(wanted: Expectation, seen: Seen) -> bool:
    """More than what is asked for may be shown, but not all of the resume."""
    if not wanted.reads:
        return True
    related = all(
        any(within(path, shown) or within(shown, path) for path in wanted.reads)
        for shown in seen.shown
    )
    modest = "" not in seen.shown or "" in wanted.reads
    return related and modest and all(_covers(seen, path) for path in wanted.reads)


def _covers(seen: Seen, path: str) -> bool:
    if any(within(path, shown) for shown in seen.shown):
        return True
    if {f"{path}.{name}" for name in PERIOD} <= {*seen.shown}:
        return True
    wanted = places(seen.before, path)
    return bool(wanted) and wanted <= {
        place for shown in seen.shown for place in places(seen.before, shown)
    }


def _asked(wanted: Expectation, seen: Seen) -> bool:
    decision = seen.outcome.decision
    asked = decision.then if isinstance(decision, Act) else decision
    if wanted.asks is None:
        return not isinstance(asked, Ask)
    if isinstance(wanted.asks, str):
        if isinstance(asked, Ask):
            return QUESTIONS.get(asked.topic, "what") == wanted.asks
        return REFUSALS.get(seen.refused or "") == wanted.asks
    entry = seen.outcome.pending[-1] if seen.outcome.pending else None
    if not isinstance(asked, Ask) or not isinstance(entry, PendingEntry):
        return False
    kept: JsonValue = {k: v for k, v in entry.data.items() if v is not None}
    keeps: JsonValue = kept if wanted.keeps is None else wanted.keeps
    return {*entry.missing_fields} == {*wanted.asks} and fits(keeps, kept)


def _answered(wanted: Expectation, seen: Seen) -> bool:
    outcome = seen.outcome
    if wanted.drops and seen.waiting and len(outcome.pending) >= seen.waiting:
        return False
    said = isinstance(outcome.decision, Say)
    deferred = isinstance(outcome.decision, Defer)
    return said == (wanted.says or wanted.drops) and deferred == wanted.model


def _arranged(wanted: Expectation, seen: Seen) -> bool:
    """Sections are in the order that is shown; that of the others does not matter."""
    shown = [section for section in seen.order if section in wanted.sections]
    return shown == [*wanted.sections] and (not wanted.batch or seen.undone == seen.before)


def _tasked(wanted: Expectation, seen: Seen) -> bool:
    made = [" ".join([call.name, *map(str, call.params.values())]) for call in seen.calls]
    tools = {"export": "CVExport", "diagnose": "CVDiagnose"}
    name, _, argument = wanted.task.partition(" ")
    return not wanted.task or made == [f"{tools[name]} {argument}".strip()]


_CHECKS: tuple[Callable[[Expectation, Seen], bool], ...] = (
    _understood,
    _changed,
    _shown,
    _asked,
    _answered,
    _arranged,
    _tasked,
)
