"""Understanding more about an entry that there is: "add to project X: …" never makes a second X."""

from dataclasses import replace

from mcp_tools.resume import JsonObject, Section, field_kind, title_field

from .canvas import Canvas
from .confidence import CLEAR
from .labelled import find_labelled
from .message import Message
from .outline import Mention, Outline
from .recognition import Intent, Recognition, Target
from .vocabulary import section_facts, vocabulary

_SENTENCES = "highlights"
_ONCE: tuple[Section, ...] = ("projects", "skills", "languages", "interests", "references")
"""Sections in which nobody has two entries of one name."""
NAMED = "\x02"
"""Stands in a pattern for the name of an entry."""


def understand_supplement(message: Message, outline: Outline) -> Recognition | None:
    """Understand a sentence that is to be added to the entry that is named."""
    for mention in outline.mentions(message.text):
        text = _marked(message.text, mention)
        found = (form.search(text) for form in vocabulary().acts.supplement)
        match = next(filter(None, found), None)
        section = mention.place.section
        if match is None or field_kind(section, _SENTENCES) != "list":
            continue
        begin, stop = match.span("text")
        if _has_a_field(message, section, begin):
            continue
        return Recognition(
            intent=Intent.ADD,
            section=section,
            data={_SENTENCES: [message.value(begin, stop)]},
            fields=(_SENTENCES,),
            target=Target(names=(message.raw[mention.begin : mention.stop],)),
            confidence=CLEAR,
        )
    return None


def once(found: Recognition, outline: Outline) -> Recognition:
    """Return an addition without entries that there are; of those it says more instead."""
    section = found.section
    title = title_field(section) if section else None
    if found.intent is not Intent.ADD or section not in _ONCE or found.fields or not title:
        return found
    entries: list[JsonObject] = [found.data, *found.others]
    new = [entry for entry in entries if not _is_there(entry.get(title), section, outline)]
    if new and len(new) < len(entries):
        return replace(found, data=new[0], others=tuple(new[1:]))
    if new or not entries[0].get(title):
        return found
    known = [entry for entry in entries if entry.keys() > {title}] or entries[:1]
    return _more_about(replace(found, others=()), known[0], title)


def _more_about(found: Recognition, entry: JsonObject, title: str) -> Recognition:
    assert found.section is not None
    facts = section_facts()[found.section]
    data = {name: value for name, value in entry.items() if name != title}
    target = Target(names=(str(entry[title]),))
    if data.keys() == {facts.prose} and field_kind(found.section, _SENTENCES) == "list":
        sentence: JsonObject = {_SENTENCES: [data[facts.prose or ""]]}
        return replace(found, data=sentence, fields=(_SENTENCES,), target=target, answers=False)
    return Recognition(
        intent=Intent.UPDATE,
        section=found.section,
        data=data,
        target=target,
        confidence=found.confidence,
        problems=found.problems,
    )


def _is_there(name: object, section: Section, outline: Outline) -> bool:
    if not isinstance(name, str):
        return False
    texts = outline.entries.get(section, ())
    return any(entry[0].casefold() == name.casefold() for entry in texts)


def _marked(text: str, mention: Mention) -> str:
    name = NAMED * (mention.stop - mention.begin)
    return text[: mention.begin] + name + text[mention.stop :]


def _has_a_field(message: Message, section: Section, begin: int) -> bool:
    """Tell whether a text gives a field or a date rather than a sentence."""
    canvas = Canvas(message)
    canvas.take(0, begin)
    labelled = any(
        canvas.trimmed(begin, found.begin) is None for found in find_labelled(canvas, section)
    )
    for token in message.tokens:
        canvas.take(token.begin, token.stop)
    return labelled or canvas.trimmed(begin, len(canvas.text)) is None
