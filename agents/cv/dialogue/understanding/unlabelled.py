"""Values recognized without a label: "13800138000", "jane@x.org is my new mail", "also Rust"."""

from dataclasses import replace

from mcp_tools.resume import JsonObject

from .additions import missing_fields, understand_addition
from .canvas import Canvas
from .commands import CommandHit
from .confidence import CLEAR, LIKELY
from .fields import Fields, put_when
from .lookups import understand_lookup
from .message import Message
from .outline import Outline
from .pointing import take_ordinals
from .profiles import FIELD, account_at
from .recognition import Intent, Recognition, Target
from .sections import find_nouns
from .tokens import TokenKind
from .vocabulary import vocabulary

_ADDRESSES: tuple[TokenKind, ...] = ("email", "phone", "url")
_LONGEST_LIST = 60


def understand_contact(message: Message, outline: Outline) -> Recognition | None:
    """Understand an e-mail address or a phone number that is not said to be anybody else's.

    A web address may belong to anything, so it must stand alone.
    """
    canvas = Canvas(message)
    found: JsonObject = {}
    for token in message.tokens:
        if token.kind in _ADDRESSES:
            found.setdefault(token.kind, token.text)
            canvas.take(token.begin, token.stop)
    others = any(noun.section != "basics" for noun in find_nouns(canvas))
    filler = vocabulary().references.filler
    alone = not any(canvas.trimmed(*segment, filler) for segment in canvas.segments())
    if not found or others or outline.mentions(message.text) or not (alone or _is_personal(found)):
        return None
    account = account_at(str(found.get("url", "")))
    if account:
        found = {name: value for name, value in found.items() if name != "url"}
        found[FIELD] = [account]
    return Recognition(
        intent=Intent.UPDATE,
        section="basics",
        data=found,
        fields=(FIELD,) if account else (),
        target=Target(names=(str(account["network"]),)) if account else Target(),
        confidence=CLEAR if alone else LIKELY,
    )


def understand_continuation(message: Message, outline: Outline) -> Recognition | None:
    """Understand "also Rust" or "还有PMP" as one more of what was added or deleted."""
    focus = outline.focus
    grammar = vocabulary().grammar
    more = grammar.more.search(message.raw)
    if focus is None or focus.section == "basics" or more is None:
        return None
    text = message.text
    begin, stop = more.span()
    rest = replace(message, text=text[:begin] + " " * (stop - begin) + text[stop:])
    if len(rest.text.strip()) > _LONGEST_LIST or find_nouns(Canvas(rest)):
        return None
    if focus.taken:
        return None if focus.undone else _deleted(rest, outline)
    if take_ordinals(Canvas(rest)) or outline.mentions(rest.text):
        return None
    start = CommandHit(Intent.ADD, 0, 0, heads=False)
    added = understand_addition(rest, start, outline.without_focus(), focus.section)
    return replace(added, unmarked=tuple(added.data), confidence=LIKELY) if added.data else None


def understand_restart(message: Message, outline: Outline) -> Recognition | None:
    """Understand "I meant Docker" once a deletion has been taken back: as what to delete."""
    focus = outline.focus
    if focus is None or not (focus.taken and focus.undone):
        return None
    text = message.text
    correction = vocabulary().connectors.correction.match(text)
    begin = correction.end() if correction else 0
    return _deleted(replace(message, text=" " * begin + text[begin:]), outline)


def _deleted(message: Message, outline: Outline) -> Recognition | None:
    assert outline.focus is not None
    section = outline.focus.section
    found = understand_lookup(message, CommandHit(Intent.DELETE, 0, 0, heads=False), outline)
    known = all(outline.find(name, (section,)) for name in found.target.names)
    if not (found.target and known and found.section in (None, section)):
        return None
    return replace(found, section=section)


def understand_promotion(message: Message, outline: Outline) -> Recognition | None:
    """Understand "升职了，现在是总监" as a new position in the latest job or the one named.

    With a date it is a position of its own at the same employer, which begins then.
    """
    grammar = vocabulary().grammar
    dates = [token.when for token in message.tokens if token.when]
    forms = (*grammar.promoted, *(grammar.risen if dates else ()))
    match = next(filter(None, (form.search(message.text) for form in forms)), None)
    if match is None:
        return None
    canvas = Canvas(message)
    mentions = outline.only("work").mentions(canvas.text)
    names = tuple(canvas.value(m.begin, m.stop) for m in mentions)
    position = canvas.value(*(canvas.trimmed(*match.span("position")) or match.span("position")))
    if dates and mentions:
        place = mentions[0].place
        fields = Fields("work", data={"name": outline.entries["work"][place.index][0]})
        fields.put("position", position)
        for when in dates:
            put_when(fields, when, message.text)
        return Recognition(
            intent=Intent.ADD,
            section="work",
            data=fields.data,
            missing_fields=missing_fields("work", fields.data),
            problems=tuple(fields.problems),
            confidence=CLEAR,
        )
    if dates:
        return None
    return Recognition(
        intent=Intent.UPDATE,
        section="work",
        data={"position": position},
        target=Target(names=names, newest=not names),
        confidence=CLEAR,
    )


def _is_personal(found: JsonObject) -> bool:
    return bool(found.keys() & {"email", "phone"})
