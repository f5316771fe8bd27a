"""Removal of values from an entry, with a reason: "remove B2 from French, it was too low"."""

from .canvas import Canvas
from .commands import CommandHit
from .confidence import CERTAIN
from .listed import grade_of
from .outline import Mention, Outline
from .recognition import Intent, Recognition, Target
from .sections import find_nouns, mask_mentions
from .vocabulary import section_facts, vocabulary


def understand_taking(canvas: Canvas, command: CommandHit, outline: Outline) -> Recognition | None:
    """Understand a message that takes a value from an entry; `None` if it takes something else."""
    begin = command.stop if command.heads else 0
    if command.intent is not Intent.DELETE:
        return None
    for mention in outline.mentions(canvas.text):
        between = vocabulary().grammar.taken_from.search(canvas.text, begin, mention.begin)
        said = between and canvas.trimmed(begin, between.start(), vocabulary().references.filler)
        if between is None or not said or not _ends_with(canvas, mention):
            continue
        value = canvas.value(*said)
        if _is_value_of(value, mention, outline):
            return Recognition(
                intent=Intent.DELETE,
                section=mention.place.section,
                target=Target(names=(canvas.value(mention.begin, mention.stop),)),
                value=value,
                confidence=CERTAIN,
            )
    return None


def take_remarks(canvas: Canvas, outline: Outline) -> None:
    """Take the sentences that only say why something shall go: they name no entry."""
    visible = mask_mentions(canvas, outline)
    for match in list(vocabulary().grammar.remarks.finditer(visible.text)):
        if not any(match.start() <= noun.begin < match.end() for noun in find_nouns(visible)):
            canvas.take(*match.span())


def _ends_with(canvas: Canvas, mention: Mention) -> bool:
    """Tell whether a message says nothing behind an entry but the name of its section."""
    rest = canvas.copy()
    for noun in find_nouns(canvas):
        rest.take(noun.begin, noun.stop)
    return rest.trimmed(mention.stop, len(rest.text), vocabulary().references.filler) is None


def _is_value_of(value: str, mention: Mention, outline: Outline) -> bool:
    section, index = mention.place.section, mention.place.index
    texts = [text.casefold() for text in outline.entries[section][index][1:]]
    graded = section_facts()[section].grade is not None and grade_of(value) is not None
    return value.casefold() in texts or graded
