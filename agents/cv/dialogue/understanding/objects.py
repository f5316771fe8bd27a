"""One command about places in several sections: "show my skills and languages", "删掉PMP和徒步"."""

from dataclasses import dataclass
from itertools import groupby

from mcp_tools.resume import Section, field_kind

from .canvas import Canvas
from .commands import CommandHit
from .labelled import find_labels
from .message import Message
from .outline import Outline
from .sections import find_nouns, mask_mentions
from .vocabulary import vocabulary


def one_section_each(message: Message, command: CommandHit, outline: Outline) -> list[str]:
    """Return a command for every section that a message shows or deletes something of."""
    text = message.raw
    objects = _objects(message, command, outline)
    if len({item.section for item in objects}) < 2:
        return [text]
    before, behind = text[: objects[0].begin], text[objects[-1].stop :]
    groups = [[*group] for _, group in groupby(objects, key=lambda item: item.section)]
    return [before + text[group[0].begin : group[-1].stop] + behind for group in groups]


@dataclass(frozen=True, slots=True)
class _Object:
    """Words at `begin:stop` that say what a command is about; `fields` of the basics alone."""

    section: Section
    begin: int
    stop: int
    fields: tuple[str, ...] = ()


def _objects(message: Message, command: CommandHit, outline: Outline) -> list[_Object]:
    """Return what a command lists, each of one section; nothing if it lists something else."""
    canvas = Canvas(message)
    if command.heads:
        canvas.take(command.begin, command.stop)
    visible = mask_mentions(canvas, outline)
    found: list[_Object] = []
    begin = command.stop if command.heads else 0
    for match in [*vocabulary().joiners.finditer(visible.text, begin), None]:
        stop = match.start() if match else len(visible.text)
        item = _object(canvas, visible, begin, stop, outline)
        if item:
            found.append(item)
        elif visible.trimmed(begin, stop):
            return []
        begin = match.end() if match else stop
    own = {item.section for item in found if not item.fields}
    shared = (field_kind(section, name) for section in own for i in found for name in i.fields)
    return [] if any(shared) else found


def _object(
    canvas: Canvas, visible: Canvas, begin: int, stop: int, outline: Outline
) -> _Object | None:
    """Return what the words between two joiners name: an entry, a section, a field of the basics.

    What follows the last name belongs to the command.
    """
    filler = vocabulary().references.filler
    trimmed = canvas.trimmed(begin, stop, filler)
    nouns = [noun for noun in find_nouns(visible) if begin <= noun.begin and noun.stop <= stop]
    mentions = [m for m in outline.mentions(canvas.text) if begin <= m.begin and m.stop <= stop]
    places = [(m.place.section, m.stop) for m in mentions] + [(n.section, n.stop) for n in nouns]
    if places:
        section = next((n.section for n in nouns), places[0][0])
        begins = [*(noun.begin for noun in nouns), *(mention.begin for mention in mentions)]
        first = min([*begins, trimmed[0]] if trimmed else begins)
        return _Object(section, first, max(end for _, end in places))
    labels = [label for label in find_labels(visible, "basics") if begin <= label.begin < stop]
    if labels:
        names = tuple(label.field for label in labels)
        return _Object("basics", labels[0].begin, labels[-1].stop, names)
    named = outline.section_of([canvas.value(*trimmed)]) if trimmed else None
    return _Object(named, *trimmed) if named and trimmed else None
