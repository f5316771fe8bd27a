"""Several changes under one verb: "Python改成熟练，Go改成了解", "A和B分别改成X和Y"."""

from .canvas import Canvas
from .changes import find_connector
from .commands import CommandHit
from .message import Message
from .outline import Outline
from .recognition import Intent
from .sections import labels_by_section, mask_mentions
from .vocabulary import vocabulary
from .wording import Filler
from .words import TAKEN

_Span = tuple[int, int]


def one_change_each(message: Message, command: CommandHit | None, outline: Outline) -> list[str]:
    """Return a command for every change in a message, if the changes can be separated."""
    if command and command.intent is not Intent.UPDATE:
        return [message.raw]
    command = command or CommandHit(Intent.UPDATE, 0, 0, heads=False)
    canvas = Canvas(message)
    if command.heads:
        canvas.take(command.begin, command.stop)
    return (
        _respectively(canvas, command, outline)
        or _fact_first(canvas, command, outline)
        or _by_entry(canvas, command, outline)
    )


def _respectively(canvas: Canvas, command: CommandHit, outline: Outline) -> list[str]:
    """Give each of some subjects its value; nothing unless a word says that they have their own.

    A field that stands with the last subject is one of all: "Python和Go的水平".
    """
    message = canvas.message
    marker = vocabulary().grammar.respectively.search(canvas.text)
    connector = find_connector(canvas, command) if marker else None
    if marker is None or connector is None:
        return []
    canvas.take(*marker.span())
    verb = command.stop if command.heads else 0
    visible = mask_mentions(canvas, outline)
    pointing = vocabulary().references.filler
    subjects = _items(canvas, visible.text, (verb, connector.begin), pointing)
    values = _items(canvas, canvas.text, (connector.stop, len(canvas.text)), vocabulary().filler)
    if len(subjects) != len(values) or len(subjects) < 2:
        return []
    field = _field_behind_name(visible, subjects[-1])
    to = message.raw[connector.begin : connector.stop].strip()
    named = [_field_behind_name(visible, subject) for subject in subjects[:-1]]
    endings = ["" if own else field for own in named] + [""]
    return [
        f"{message.raw[:verb]} {message.raw[slice(*subject)]}{ending} {to} "
        f"{message.raw[slice(*value)]}"
        for subject, ending, value in zip(subjects, endings, values, strict=True)
    ]


def _fact_first(canvas: Canvas, command: CommandHit, outline: Outline) -> list[str]:
    """Split where a change of a field follows a fact: "PMP是2020年考的，机构改成PMI"."""
    message = canvas.message
    connector = vocabulary().connectors.becomes.search(canvas.text)
    if connector is None or command.heads:
        return []
    labels = [label for found in labels_by_section(canvas).values() for label in found]
    begins = (label.begin for label in labels if label.begin < connector.start())
    start = max((_clause_begin(canvas, 0, begin) for begin in begins), default=0)
    mentions = outline.mentions(canvas.text)
    named = [mention for mention in mentions if mention.begin < connector.start()]
    about_one = bool(named) and all(mention.stop <= start for mention in named)
    if not about_one or not _says_new(canvas, 0, start):
        return []
    return [message.raw[:start], message.raw[start:]]


def _by_entry(canvas: Canvas, command: CommandHit, outline: Outline) -> list[str]:
    """Split where, behind a change, the name of another entry begins the next one."""
    message = canvas.message
    verb = message.raw[: command.stop] if command.heads else ""
    begin = command.stop if command.heads else 0
    parts: list[str] = []
    for mention in sorted(outline.mentions(canvas.text), key=lambda mention: mention.begin):
        start = _clause_begin(canvas, begin, mention.begin)
        behind = (mention.stop, len(canvas.text))
        if start and _says_new(canvas, begin, start) and _says_new(canvas, *behind):
            parts.append(f"{verb} {message.raw[begin:start]}".strip())
            begin = mention.begin
    return [*parts, f"{verb} {message.raw[begin:]}".strip()] if parts else [message.raw]


def _items(canvas: Canvas, text: str, span: _Span, filler: Filler) -> list[_Span]:
    """Return the words between the joiners in a part of a text, without filler."""
    begin, stop = span
    found: list[_Span] = []
    for match in [*vocabulary().joiners.finditer(text, begin, stop), None]:
        end = match.start() if match else stop
        if trimmed := canvas.trimmed(begin, end, filler):
            found.append(trimmed)
        begin = match.end() if match else stop
    return found


def _field_behind_name(visible: Canvas, subject: _Span) -> str:
    """Return what follows the name of an entry if it names a field: "的水平"."""
    labels = [label for found in labels_by_section(visible).values() for label in found]
    own = [label for label in labels if subject[0] <= label.begin and label.stop <= subject[1]]
    name_end = visible.text.rfind(TAKEN, *subject) + 1
    return visible.message.raw[name_end : subject[1]] if own and name_end else ""


def _clause_begin(canvas: Canvas, begin: int, name: int) -> int:
    """Return where the joiner stands right behind which a name follows; 0 if there is none."""
    joiners = list(vocabulary().joiners.finditer(canvas.text, begin, name))
    if not joiners or canvas.trimmed(joiners[-1].end(), name, vocabulary().references.filler):
        return 0
    return joiners[-1].start()


def _says_new(canvas: Canvas, begin: int, stop: int) -> bool:
    """Tell whether a part says what something becomes."""
    connectors = vocabulary().connectors
    forms = (connectors.becomes, connectors.is_, *connectors.to)
    return any(form.search(canvas.text, begin, stop) for form in forms)
