"""The recogniser: what a message means, by rules. It decides nothing and touches nothing."""

from dataclasses import replace
from datetime import date

from mcp_tools.resume import Section

from .additions import (
    understand_addition,
    understand_form,
    understand_listing,
    understand_statement,
    understand_unknown,
)
from .amending import names_another, understand_amendment, understand_more, understand_value
from .answers import answers, understand_answer
from .canvas import Canvas
from .changes import understand_change
from .commands import CommandHit, find_command, without_command_behind
from .confidence import CERTAIN, CLEAR, LIKELY, NOTHING, tempered, without_talk
from .corrections import understand_correction
from .extending import once, understand_supplement
from .facts import tells_of_another, understand_fact
from .labelled import find_labelled
from .lookups import understand_lookup
from .message import Message, prepare
from .outline import Outline
from .perspective import in_first_person
from .profiles import understand_profile
from .recognition import Asked, Intent, Recognition
from .signals import find_signal, steps_back, without_opening
from .unlabelled import (
    understand_contact,
    understand_continuation,
    understand_promotion,
    understand_restart,
)
from .vocabulary import section_facts, vocabulary


class IntentRecognizer:
    """Recognises intents and extracts what a message says, in Chinese, English or both."""

    def recognise(
        self,
        text: str,
        *,
        today: date,
        outline: Outline | None = None,
        asked: Asked | None = None,
        section: Section | None = None,
        awaits_value: bool = False,
    ) -> Recognition:
        """Return what a message means.

        `outline` tells the names of the entries that there are, `asked` what the person was asked
        for last, `section` where something is to be added, `today` what "last year" is. With
        `awaits_value` the message may be a new value for the field in focus.
        """
        outline = outline or Outline()
        year = asked.year if asked else outline.year
        said = text if awaits_value else in_first_person(text)
        message = prepare(said, today=today, year=year)
        found = understand_value(message, outline) if awaits_value else None
        found = found or self._understood(message, outline, asked, section)
        found = once(without_talk(found, message), outline)
        return replace(
            tempered(found, outline),
            language=message.language,
            creative=vocabulary().creative.search(text) is not None,
        )

    def _understood(
        self, message: Message, outline: Outline, asked: Asked | None, section: Section | None
    ) -> Recognition:
        if signal := find_signal(message):
            return Recognition(signal=signal, confidence=CERTAIN)
        if steps := steps_back(message, outline.focus):
            return Recognition(intent=Intent.UNDO, steps=steps, confidence=CERTAIN)
        command = find_command(message)
        if asked and answers(message, command, asked, outline):
            answer = understand_answer(message, command, asked)
            if answer:
                return answer
        restarts = command is None or (command.intent is Intent.UPDATE and not command.heads)
        if restarts and (meant := understand_restart(message, outline)):
            return meant
        if corrected := _corrected(message, outline):
            return corrected
        if amended := understand_amendment(message, command, outline):
            return amended
        if profile := understand_profile(message, command, outline):
            return profile
        if supplement := understand_supplement(message, outline):
            return supplement
        if promotion := understand_promotion(message, outline):
            return promotion
        if command is None:
            return _without_command(message, outline)
        message = without_opening(message)
        match command.intent:
            case Intent.ADD if more := _more_of_entry(message, command, outline):
                return more
            case Intent.ADD:
                said = without_command_behind(message, command)
                stated = _without_command(said, outline) if said else None
                if stated and stated.confidence >= CLEAR and stated.data:
                    return stated
                return understand_addition(message, command, outline, section or _more_of(outline))
            case Intent.UPDATE:
                return _changed_or_stated(message, command, outline)
            case _:
                return understand_lookup(message, command, outline)


def _corrected(message: Message, outline: Outline) -> Recognition | None:
    """Understand "不是腾讯是阿里", "用Rust替换Go": what is replaced is an entry or in the focus."""
    found = understand_correction(message, outline)
    if found is None:
        return None
    old = found.target.names[0]
    focused = outline.focused
    if focused and focused in outline.only(focused.section).find(old):
        return replace(found, section=focused.section)
    return found if outline.is_title(old) else None


def _more_of_entry(message: Message, command: CommandHit, outline: Outline) -> Recognition | None:
    """Understand "add https://… to that entry": what the words themselves say about it."""
    back = outline.focus.mentions(message.text) if outline.focus else []
    if not (back and command.heads) or back[-1][0] < command.stop:
        return None
    blank = " " * command.stop
    return understand_more(replace(message, text=blank + message.text[command.stop :]), outline)


def _more_of(outline: Outline) -> Section | None:
    """Return the section to which "再来一个Angular" adds: one of names, if it is in focus."""
    focus = outline.focus
    return focus.section if focus and section_facts()[focus.section].listed else None


def _changed_or_stated(message: Message, command: CommandHit, outline: Outline) -> Recognition:
    """Understand a change, or a statement whose words could connect a field and its value."""
    changed = understand_change(message, command, outline)
    if not (changed.section or changed.data) and (contact := understand_contact(message, outline)):
        return contact
    says_what = command.heads or changed.data or changed.problems or changed.value is not None
    if says_what and (command.heads or changed.section or changed.target):
        return changed
    stated = understand_statement(message)
    return stated if stated and (stated.data or not changed.section) else changed


def _without_command(message: Message, outline: Outline) -> Recognition:
    """Understand a statement of fact, a field with its value, or the bare name of a section."""
    start = CommandHit(Intent.UPDATE, 0, 0, heads=False)
    if _opens_with_field(message):
        changed = understand_change(message, start, outline)
        if changed.section == "basics" and changed.data:
            return changed
    more = understand_more(message, outline)
    if more and not names_another(message, outline):
        return more
    if form := understand_form(message, outline):
        return form
    stated = understand_statement(message)
    fact = understand_fact(message, outline)
    if fact and not (stated and tells_of_another(stated, fact, message)):
        return fact
    if correction := understand_correction(message, outline):
        return correction
    if stated:
        return stated
    changed = understand_change(message, start, outline)
    if (changed.data and _is_placed(changed, outline)) or changed.problems:
        return changed
    if listed := understand_listing(message):
        return listed
    if changed.data:
        return understand_unknown(message, changed, outline) or changed
    asking = replace(start, intent=Intent.READ)
    looked = understand_lookup(without_opening(message), asking, outline)
    if looked.section and not looked.target.names:
        return replace(looked, confidence=LIKELY)
    if more := more or understand_contact(message, outline):
        return more
    if continued := understand_continuation(message, outline):
        return continued
    return Recognition(section=looked.section, confidence=NOTHING)


def _is_placed(changed: Recognition, outline: Outline) -> bool:
    """Tell whether it is plain what a change is about."""
    target, section = changed.target, changed.section
    if section == "basics":
        return True
    known = [name for name in target.names if section and outline.find(name, (section,))]
    return bool(known or (target and not target.names))


def _opens_with_field(message: Message) -> bool:
    """Tell whether a message begins like "电话：…" or "my email is …"."""
    canvas = Canvas(message)
    first = next(find_labelled(canvas, "basics"), None)
    filler = vocabulary().references.filler
    return first is not None and canvas.trimmed(0, first.begin, filler) is None
