"""The decision: from a message and the situation that it meets to what is to happen.

Pure: nothing is called and nothing is remembered here; see `Outcome`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from mcp_tools.resume import Resume, ResumeError, Section

from .adding import add
from .arrange import arrange, insert_at
from .choosing import asked_again, choose, kept_command
from .decision import Act, Ask, Decision, Defer, Outcome, Say, Step, ToolCall
from .entries import work_on
from .pending import PendingChoice, PendingEntry, PendingSection, PendingValue, raised
from .plan import after, undo_calls
from .situation import Situation
from .understanding.acts import Act as ActOfTalk
from .understanding.acts import asks, find_act, format_in, without_talk
from .understanding.arranging import find_insertion
from .understanding.commands import find_command
from .understanding.compound import split_commands
from .understanding.confidence import CERTAIN
from .understanding.focus import Focus
from .understanding.message import language_of, prepare
from .understanding.outline import Outline
from .understanding.picking import is_only_a_name
from .understanding.recognition import Intent, Recognition
from .understanding.recognizer import IntentRecognizer
from .understanding.sections import section_in
from .understanding.signals import cancelled
from .unfinished import on_signal

LONGEST_FOR_RULES = 150
"""Messages with more characters go to the model at once."""
LEAST_CONFIDENCE = 0.5
"""Below this rules do not act."""
MOST_PENDING = 5
"""Older unfinished things are forgotten."""

_SURE_QUESTIONS = ("missing", "which_entry", "bad_date", "dates_reversed", "no_such_number")
"""Questions that may be asked about the last of several commands; any other suggests that the text
is not a command.
"""
_recognizer = IntentRecognizer()


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
    if act := find_act(text):
        return _decide_act(text, act, situation)
    text = without_talk(text)
    outcome = (
        _decide_cancelled(text, situation)
        or _decide_order(text, situation)
        or _decide_compound(text, situation)
        or _decide_one(text, situation)
    )
    if _stores(outcome, situation) and asks(text):
        return _decide_act(text, "question", situation)
    return outcome


def _stores(outcome: Outcome, situation: Situation) -> bool:
    """Tell whether a message would become a part of the resume, or of what is pending."""
    writes = outcome.recognition.intent in (Intent.ADD, Intent.UPDATE, Intent.DELETE)
    return writes and (isinstance(outcome.decision, Act) or outcome.pending != situation.pending)


def _decide_act(text: str, act: ActOfTalk, situation: Situation) -> Outcome:
    """Answer what is no data and no edit; what is unfinished stays as it is."""
    decisions: Mapping[ActOfTalk, Decision] = {
        "export": Act((ToolCall(name="CVExport", params={"format": format_in(text)}),)),
        "diagnose": Act((ToolCall(name="CVDiagnose", params={}),)),
        "question": Defer("advice"),
        "wish": Defer("creative"),
        "keep": Say("kept"),
        "musing": Say("noted"),
        "chat": Say("noted"),
    }
    language = language_of(text)
    said = Recognition(
        intent=Intent.READ if act in ("export", "diagnose") else Intent.UNKNOWN,
        section=section_in(text),
        creative=act == "wish",
        confidence=CERTAIN,
        language=language,
    )
    return Outcome(decisions[act], said, situation.pending, language or situation.language)


def _decide_cancelled(text: str, situation: Situation) -> Outcome | None:
    """Decide on "never mind, show my skills": the wish, with what was unfinished given up."""
    wish = cancelled(text)
    if not wish:
        return None
    outcome = decide(wish, replace(situation, pending=situation.pending[:-1]))
    return outcome if isinstance(outcome.decision, Act | Ask) else None


def _decide_compound(text: str, situation: Situation) -> Outcome | None:
    """Decide on several commands in one message, if every part of it can be carried out.

    Each is decided on the resume as those before leave it. The last one may need an answer.
    """
    parts = split_commands(text, Outline.of(situation.resume, situation.focus))
    if len(parts) < 2:
        return None
    calls: list[ToolCall] = []
    done: list[Outcome] = []
    for number, part in enumerate(parts):
        outcome = _decide_order(part, situation) or _decide_one(part, situation)
        if _asks_section(outcome):
            behind = None if done else _section_behind(parts[number + 1 :], situation)
            section = done[-1].recognition.section if done else behind
            outcome = _decide_one(part, situation, section)
        if outcome.decision == Say("in_order"):
            continue
        if not isinstance(outcome.decision, Act) or outcome.recognition.answers:
            last = len(done) + 1 == len(parts)
            return _asking_last(outcome, done[-1], calls) if done and last else None
        calls += outcome.decision.calls
        try:
            resume = after(outcome.decision.calls, situation.resume)
        except ResumeError:
            return None
        focus = Focus.at(str(outcome.decision.calls[-1].params.get("path", "")))
        situation = replace(situation, resume=resume, pending=outcome.pending, focus=focus)
        done.append(outcome)
    return replace(done[-1], decision=Act(tuple(calls))) if done else None


def _asking_last(last: Outcome, before: Outcome, calls: Sequence[ToolCall]) -> Outcome | None:
    """Return the earlier commands' outcome, and the question about the last if it is a command.

    "…，加到技能里" is not: it only says where the preceding content belongs.
    """
    said, asked = last.recognition, last.decision
    own = said.data or said.target or said.section != before.recognition.section
    if not isinstance(asked, Ask) or asked.topic not in _SURE_QUESTIONS or not own:
        return None
    return replace(last, decision=Act(tuple(calls), then=asked))


def _section_behind(parts: Sequence[str], situation: Situation) -> Section | None:
    """Return the section of what follows: "加Redis，Go不要了" is about skills all along."""
    outcome = _decide_one(parts[0], situation) if parts else None
    acts = outcome is not None and isinstance(outcome.decision, Act)
    return outcome.recognition.section if outcome and acts else None


def _asks_section(outcome: Outcome) -> bool:
    """Tell if no section is named: "删了摄影，再加个滑雪" adds where the first command was."""
    return isinstance(outcome.decision, Ask) and outcome.decision.topic == "which_section"


def _decide_one(text: str, situation: Situation, section: Section | None = None) -> Outcome:
    situation = replace(situation, pending=raised(situation.pending, text))
    top = situation.top
    focus = Focus.at(top.path) if isinstance(top, PendingValue) else situation.focus
    outline = Outline.of(situation.resume, focus)
    outcome = _decide_choice(text, situation, outline)
    if outcome is None:
        said = _recognised(text, situation, outline, section)
        step = _decided(text, said, situation, outline)
        said = _placed(said, step.decision)
        outcome = Outcome(step.decision, said, step.pending, said.language or situation.language)
    return replace(outcome, pending=outcome.pending[-MOST_PENDING:])


def _decide_order(text: str, situation: Situation) -> Outcome | None:
    """Decide on a wish for another order, or for something new at a place."""
    outline = Outline.of(situation.resume, situation.focus)
    message = prepare(text, today=situation.today)
    language = message.language or situation.language
    if arranged := arrange(message, situation.resume, outline):
        said, step = arranged
        said = replace(said, language=message.language)
        return Outcome(step.decision, said, situation.pending, language)
    command = find_command(message)
    insertion = find_insertion(message, outline)
    if insertion is None or command is None or command.intent is not Intent.ADD:
        return None
    outcome = _decide_one(insertion.rest, situation)
    if outcome.recognition.intent is not Intent.ADD:
        return None
    return insert_at(insertion, outcome, situation.resume, outline)


def _decide_choice(text: str, situation: Situation, outline: Outline) -> Outcome | None:
    """Decide on a message that picks an entry; on another version of the resume, ask anew."""
    choice = situation.top
    if not isinstance(choice, PendingChoice):
        return None
    resume = situation.resume
    step = choose(text, choice, resume, outline, today=situation.today)
    if step is None:
        return None
    command = kept_command(choice)
    if choice.version != resume.version:
        step = work_on(command, resume, outline)
    pending = (*situation.pending[:-1], *step.pending)
    return Outcome(step.decision, command, pending, language_of(text) or situation.language)


def _recognised(
    text: str, situation: Situation, outline: Outline, section: Section | None
) -> Recognition:
    top, today = situation.top, situation.today
    asked = top.asked if isinstance(top, PendingEntry) else None
    awaits = isinstance(top, PendingValue)
    said = _recognizer.recognise(
        text,
        today=today,
        outline=outline,
        asked=asked,
        section=section,
        awaits_value=awaits,
    )
    if isinstance(top, PendingValue) and top.adds and said.intent is Intent.UPDATE and said.data:
        said = replace(said, intent=Intent.ADD, fields=tuple(said.data))
    names_section = said.section and not (said.data or said.target or said.signal)
    if isinstance(top, PendingSection) and names_section and said.intent is not Intent.DELETE:
        whole = _recognizer.recognise(
            top.message, today=today, outline=outline, section=said.section
        )
        return replace(whole, language=said.language)
    return said


def _decided(text: str, said: Recognition, situation: Situation, outline: Outline) -> Step:
    pending = situation.pending
    if said.signal:
        return on_signal(said.signal, pending)
    if said.creative:
        return Step(Defer("creative"), pending)
    if said.intent is Intent.UNDO:
        return Step(Act(undo_calls(said.steps, situation.undoable)), pending)
    if said.intent is Intent.UNKNOWN or said.confidence < LEAST_CONFIDENCE:
        if isinstance(situation.top, PendingChoice) and is_only_a_name(text):
            return Step(asked_again(situation.top), pending)
        return Step(Defer("unknown"), pending)
    if isinstance(situation.top, PendingChoice | PendingSection | PendingValue):
        pending = pending[:-1]
    if said.intent is Intent.ADD and not _adds_to_field(said):
        return add(text, said, pending)
    step = work_on(said, situation.resume, outline)
    return Step(step.decision, (*pending, *step.pending))


def _adds_to_field(said: Recognition) -> bool:
    """Tell whether a field of an entry is added to, and not an entry or to the basics."""
    return bool(said.fields) and (bool(said.data) or said.section != "basics")


def _placed(said: Recognition, decision: Decision) -> Recognition:
    """Return what was said with the section that the situation gave it."""
    if said.section or not isinstance(decision, Act) or not said.target:
        return said
    focus = Focus.at(str(decision.calls[0].params.get("path", "")))
    return replace(said, section=focus.section if focus else None)
