"""The decision: from a message and the situation that it meets to what is to happen.

Pure: nothing is called and nothing is remembered here; see `Outcome`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from mcp_tools.resume import Resume, ResumeError, Section

from .adding import add
from .choosing import choose, kept_command
from .decision import Act, Ask, Decision, Defer, Outcome, Step, ToolCall
from .entries import work_on
from .pending import PendingChoice, PendingEntry, PendingSection, PendingValue, raised
from .plan import after, undo_calls
from .situation import Situation
from .understanding.compound import split_commands
from .understanding.focus import Focus
from .understanding.message import language_of
from .understanding.outline import Outline
from .understanding.recognition import Intent, Recognition
from .understanding.recognizer import IntentRecognizer
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
    return (
        _decide_cancelled(text, situation)
        or _decide_compound(text, situation)
        or _decide_one(text, situation)
    )


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
    for part in parts:
        outcome = _decide_one(part, situation)
        if done and _asks_section(outcome):
            outcome = _decide_one(part, situation, done[-1].recognition.section)
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
    return replace(done[-1], decision=Act(tuple(calls)))


def _asking_last(last: Outcome, before: Outcome, calls: Sequence[ToolCall]) -> Outcome | None:
    """Return the earlier commands' outcome, and the question about the last if it is a command.

    "…，加到技能里" is not: it only says where the preceding content belongs.
    """
    said, asked = last.recognition, last.decision
    own = said.data or said.target or said.section != before.recognition.section
    if not isinstance(asked, Ask) or asked.topic not in _SURE_QUESTIONS or not own:
        return None
    return replace(last, decision=Act(tuple(calls), then=asked))


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
