"""Understanding "再加一条：…": one more for a list of an entry, without naming the list."""

from mcp_tools.resume import Section, field_kind

from .canvas import Canvas
from .commands import CommandHit, verb_span
from .confidence import CLEAR
from .message import Message
from .outline import Outline
from .pointing import other_names, take_mentions
from .recognition import Intent, Recognition, Target
from .sections import find_nouns, mask_mentions
from .vocabulary import vocabulary

_SENTENCES = "highlights"
"""The list that takes sentences about an entry."""


def understand_one_more(
    message: Message, command: CommandHit, outline: Outline
) -> Recognition | None:
    """Understand a sentence for the entry that is named, or one more for the list in focus."""
    begin, stop = verb_span(message, command)
    canvas = Canvas(message)
    pointed = canvas.until(begin)
    named = [m.place.section for m in outline.mentions(canvas.text) if m.stop <= begin]
    focused = outline.focused.section if outline.focused else None
    section = named[0] if named else focused
    nouns = find_nouns(mask_mentions(pointed, outline))
    if section is None or any(noun.section != section for noun in nouns):
        return None
    name = _list_for(section, canvas.text[begin:stop], None if named else outline)
    place = canvas.trimmed(stop, len(canvas.text))
    names = take_mentions(pointed, outline.only(section))
    for noun in nouns:
        pointed.take(noun.begin, noun.stop)
    if name is None or place is None or other_names(pointed):
        return None
    return Recognition(
        intent=Intent.ADD,
        section=section,
        data={name: [canvas.value(*place)]},
        fields=(name,),
        target=Target(names=names),
        confidence=CLEAR,
    )


def _list_for(section: Section, verb: str, focused: Outline | None) -> str | None:
    """Return the list that a verb adds to: "补一句" for sentences, "再加一条" for that in focus."""
    grammar = vocabulary().grammar
    if grammar.sentence.search(verb) and field_kind(section, _SENTENCES) == "list":
        return _SENTENCES
    name = focused.focus.field if focused and focused.focus else None
    in_focus = name is not None and field_kind(section, name) == "list"
    return name if in_focus and grammar.again.match(verb) else None
