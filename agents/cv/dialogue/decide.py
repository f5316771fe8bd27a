"""The decision: from a message and the state of the conversation to what is to happen.

Pure: it reads the message, the resume and the pending data, and returns an `Outcome`.
"""

from dataclasses import dataclass, replace
from datetime import date

from mcp_tools.resume import JsonObject, Language, Resume, ResumeError

from .choosing import as_choice, chosen
from .decision import Act, Ask, Decision, Defer, Outcome, Say, ToolCall
from .pending import (
    Pending,
    PendingChoice,
    PendingEntry,
    PendingSection,
    is_other_entry,
    merged,
)
from .plan import addition, after, basics_calls, edit_call, entry_calls, read_call, undo_call
from .resolve import Found, Missing, Several, resolve
from .understanding.additions import missing_fields
from .understanding.compound import split_commands
from .understanding.message import language_of
from .understanding.outline import Outline, Place
from .understanding.recognition import Asked, Intent, Recognition
from .understanding.recognizer import IntentRecognizer

LONGEST_FOR_RULES = 150
"""Messages with more characters go to the model at once."""
LEAST_CONFIDENCE = 0.5
"""Below this rules do not act."""
MOST_PENDING = 5
"""Older unfinished things are forgotten."""

_recognizer = IntentRecognizer()


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision depends on besides the message; `language` counts if the message has none."""

    resume: Resume
    pending: tuple[Pending, ...]
    language: Language
    today: date


def warm_up() -> None:
    """Read and compile now what the first messages would have to wait for."""
    nothing = Situation(Resume(), (), "en", date(2000, 1, 1))
    for text in ("add skill X (expert), 2001", "change x to y", "delete my X", "show X", "X"):
        decide(text, nothing)


def decide(text: str, situation: Situation) -> Outcome:
    """Decide what a message leads to."""
    if len(text) > LONGEST_FOR_RULES:
        said = Recognition(language=language_of(text))
        return Outcome(Defer("long"), said, situation.pending, said.language or situation.language)
    return _decide_compound(text, situation) or _decide_one(text, situation)


def _decide_compound(text: str, situation: Situation) -> Outcome | None:
    """Decide on several commands in one message, if every part of it can be carried out."""
    parts = split_commands(text)
    if len(parts) < 2:
        return None
    calls: list[ToolCall] = []
    outcomes: list[Outcome] = []
    for part in parts:
        outcome = _decide_one(part, situation)
        if not isinstance(outcome.decision, Act) or outcome.recognition.answers:
            return None
        try:
            resume = after(outcome.decision.calls, situation.resume)
        except ResumeError:
            return None
        situation = replace(situation, resume=resume, pending=outcome.pending)
        calls += outcome.decision.calls
        outcomes.append(outcome)
    return replace(outcomes[-1], decision=Act(tuple(calls)))


def _decide_one(text: str, situation: Situation) -> Outcome:
    pending = situation.pending
    top = pending[-1] if pending else None
    outline = Outline.of(situation.resume)
    said = _recognised(text, top, outline, situation.today)
    language = said.language or situation.language
    if isinstance(top, PendingChoice) and said.signal is None:
        pending = pending[:-1]
        if choice := chosen(text, top, outline, today=situation.today):
            command, places = choice
            act = Act(entry_calls(command, places, situation.resume))
            return Outcome(act, command, pending, language)
    if isinstance(top, PendingSection) and said.signal is None:
        pending = pending[:-1]
    decision, left = _decided(text, said, pending, situation.resume, outline)
    return Outcome(decision, said, left[-MOST_PENDING:], language)


def _recognised(text: str, top: Pending | None, outline: Outline, today: date) -> Recognition:
    asked = Asked(top.section, top.missing_fields) if isinstance(top, PendingEntry) else None
    said = _recognizer.recognise(text, today=today, outline=outline, asked=asked)
    names_section = said.section and not (said.data or said.target or said.signal)
    if isinstance(top, PendingSection) and names_section and said.intent is not Intent.DELETE:
        whole = _recognizer.recognise(
            top.message, today=today, outline=outline, section=said.section
        )
        return replace(whole, language=said.language)
    return said


def _decided(
    text: str,
    said: Recognition,
    pending: tuple[Pending, ...],
    resume: Resume,
    outline: Outline,
) -> tuple[Decision, tuple[Pending, ...]]:
    if said.signal == "cancel":
        return (Say("dropped"), pending[:-1]) if pending else (Say("nothing_pending"), pending)
    if said.signal:
        return Say(said.signal), pending
    if said.creative:
        return Defer("creative"), pending
    if said.intent is Intent.UNDO:
        return Act((undo_call(),)), pending
    if said.intent is Intent.UNKNOWN or said.confidence < LEAST_CONFIDENCE:
        return Defer("unknown"), pending
    if said.intent is Intent.ADD and not said.fields:
        return _decide_addition(text, said, pending)
    decision, waiting = _decide_on_entries(said, resume, outline)
    return decision, pending + waiting


def _decide_addition(
    text: str, said: Recognition, pending: tuple[Pending, ...]
) -> tuple[Decision, tuple[Pending, ...]]:
    if said.section is None:
        return Ask("which_section"), (*pending, PendingSection(message=text))
    if said.section == "basics":
        return (Act(basics_calls(said)) if said.data else Ask("which_basics")), pending
    top = pending[-1] if pending else None
    entry = PendingEntry(
        section=said.section, data=said.data, missing_fields=missing_fields(said.section, said.data)
    )
    if isinstance(top, PendingEntry) and top.section == said.section:
        other = is_other_entry(top, said) and not said.corrects
        if not other or (said.answers and entry.missing_fields):
            entry, pending = merged(top, said), pending[:-1]
    if said.problems:
        return Ask("bad_date", {"text": said.problems[0]}), (*pending, entry)
    if entry.missing_fields:
        return Ask("missing"), (*pending, entry)
    if _is_reversed(entry.data):
        undated = {k: v for k, v in entry.data.items() if k not in ("startDate", "endDate")}
        asked = ("startDate", "endDate")
        waiting = PendingEntry(section=entry.section, data=undated, missing_fields=asked)
        return Ask("dates_reversed", dict(entry.data)), (*pending, waiting)
    return Act(addition(said.section, [entry.data, *said.others])), pending


def _decide_on_entries(
    said: Recognition, resume: Resume, outline: Outline
) -> tuple[Decision, tuple[Pending, ...]]:
    if said.problems:
        return Ask("bad_date", {"text": said.problems[0]}), ()
    if said.intent is Intent.UPDATE and not said.data and said.value is None:
        return Ask("what_change"), ()
    if said.section == "basics":
        calls = basics_calls(said)
        return (Act(calls) if calls else Ask("which_basics")), ()
    if said.intent is Intent.READ and said.section and _means_all(said):
        return Act((read_call(said.section),)), ()
    if said.intent is Intent.READ and not said.target and (not said.fields or not said.section):
        return Act((read_call(said.section or ""),)), ()
    if said.section is None and not said.target:
        return Ask("which_part"), ()
    if said.intent is Intent.DELETE and said.section and _means_all(said):
        if not resume.entries(said.section):
            return Ask("empty_section"), ()
        return Act((edit_call(said.section, "delete"),)), ()
    match resolve(resume, outline, said.section, said.target):
        case Found(places):
            return Act(entry_calls(said, places, resume)), ()
        case Several(places) if said.intent is Intent.READ and not said.target and said.section:
            return Act((read_call(said.section),)), ()
        case Several(places):
            return _ask_which(said, places)
        case Missing(name=str(name)):
            return Ask("not_found", {"name": name}), ()
        case Missing(number=int(number)):
            return Ask("no_such_number", {"number": number}), ()
        case Missing():
            return Ask("empty_section"), ()


def _means_all(said: Recognition) -> bool:
    return said.target.every and not (said.target.names or said.target.ordinals)


def _ask_which(
    said: Recognition, places: tuple[Place, ...]
) -> tuple[Decision, tuple[Pending, ...]]:
    choice = as_choice(said, places)
    return Ask("which_entry", {"options": choice.options}), (choice,)


def _is_reversed(data: JsonObject) -> bool:
    start, end = data.get("startDate"), data.get("endDate")
    if not isinstance(start, str) or not isinstance(end, str):
        return False
    length = min(len(start), len(end))
    return end[:length] < start[:length]
