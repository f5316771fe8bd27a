"""How sure the rules are of what they have understood: one scale for all of them.

What is above 0.8 is acted on, from 0.5 on only if the resume leaves no doubt; see the labelled
sets in the tests, against which these are measured.
"""

from collections.abc import Iterator
from dataclasses import replace

from mcp_tools.resume import SECTIONS

from .acts import is_remark, is_talk
from .message import Message
from .outline import Outline
from .recognition import Intent, Recognition
from .vocabulary import section_facts, vocabulary

CERTAIN = 0.95
"""A command says what to do and where."""
CLEAR = 0.85
"""No words say where, or no command does, but the content does."""
LIKELY = 0.7
"""Something is left over that has not been understood, or a word was guessed."""
GUESS = 0.55
"""It is said what to do, but not where."""
NOTHING = 0.2
"""No rule fits."""


_NAMING = ("name", "position", "label", "issuer", "awarder", "publisher", "studyType")
"""Fields of the basics and of entries whose values are names."""


def tempered(found: Recognition, outline: Outline) -> Recognition:
    """Return what has been understood, less sure of it where it does not look right.

    A value that begins or ends with a word that belongs to the sentence around it has been cut
    out wrongly, and a name that no entry has may be no name at all.
    """
    doubtful = any(map(_is_cut_wrongly, _values(found))) or _names_nothing(found, outline)
    if not doubtful or found.confidence <= LIKELY:
        return found
    return replace(found, confidence=LIKELY)


def without_talk(found: Recognition, message: Message) -> Recognition:
    """Return what has been understood, or nothing where a value is no value but talk.

    "It was a great time" is nobody's employer. What stands in quotation marks is meant,
    and so is an address or a number.
    """
    if found.intent not in (Intent.ADD, Intent.UPDATE) or found.section is None:
        return found
    facts = section_facts()[found.section]
    quoted = {token.text for token in message.tokens}
    for data in (found.data, *found.others):
        for name, value in data.items():
            if not isinstance(value, str) or value in quoted:
                continue
            unmarked = name in found.unmarked and data is found.data
            if name == facts.prose:
                alone = unmarked and found.answers and len(found.data) == 1
                works = vocabulary().acts.works.match(value)
                talks = alone and not (works and not is_remark(value, message.raw))
            else:
                talks = name in (*facts.order, *_NAMING) and is_talk(value)
                talks = talks or (unmarked and is_remark(value, message.raw))
            if talks:
                return Recognition(confidence=NOTHING)
    return found


def _values(found: Recognition) -> Iterator[str]:
    """Yield the short values; prose may begin and end with any word."""
    prose = section_facts()[found.section].prose if found.section else None
    for data in (found.data, *found.others):
        for name, value in data.items():
            if isinstance(value, str) and name != prose:
                yield value


def _is_cut_wrongly(value: str) -> bool:
    return vocabulary().grammar.cut_wrongly.search(value) is not None


def _names_nothing(found: Recognition, outline: Outline) -> bool:
    """Tell whether an entry is named that there is not."""
    sections = (found.section,) if found.section else SECTIONS
    if found.section == "basics" or found.intent not in (Intent.UPDATE, Intent.DELETE, Intent.READ):
        return False
    return any(not outline.find(name, sections) for name in found.target.names)
