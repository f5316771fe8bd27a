"""Which intent the words of a message command, and where."""

import re
from dataclasses import dataclass, replace
from functools import cache

from .canvas import Canvas
from .message import Message
from .recognition import Intent
from .sections import find_nouns
from .vocabulary import vocabulary

_HEADS = (Intent.ADD, Intent.UPDATE, Intent.DELETE, Intent.READ)
_INSIDE = (Intent.DELETE, Intent.ADD, Intent.UPDATE, Intent.READ)
_EDGES = " \t\n,.;:!?。、，！？；：~…"


@dataclass(frozen=True, slots=True)
class CommandHit:
    """A command at `begin:stop`; `heads` tells whether it opens the message.

    `verb` is the place of a verb inside it that could be taken for a name, as in "Docker can go".
    """

    intent: Intent
    begin: int
    stop: int
    heads: bool
    verb: tuple[int, int] | None = None


def find_command(message: Message) -> CommandHit | None:
    """Return the command of a message: the one that opens it, else one inside it."""
    text = message.text
    heads = [hit for intent in _HEADS if (hit := _head(text, intent))]
    first = min(heads, key=lambda hit: (hit.begin, hit.begin - hit.stop), default=None)
    if first and not text[: first.begin].strip(_EDGES):
        return first
    becomes = vocabulary().connectors.becomes.search(text)
    if becomes and not _adds_text(text, becomes.start()):
        return CommandHit(Intent.UPDATE, becomes.start(), becomes.start(), heads=False)
    heads_behind = first.intent if first else Intent.READ
    for intent in _INSIDE[: None if heads_behind is Intent.READ else -1]:
        if intent is heads_behind is Intent.UPDATE:
            continue
        if match := vocabulary().commands[intent].inside.search(text):
            verb = match.span("verb") if match.lastgroup == "verb" else None
            return CommandHit(intent, match.start(), match.end(), heads=False, verb=verb)
    return first


def _head(text: str, intent: Intent) -> CommandHit | None:
    match = _head_pattern(intent).search(text)
    return CommandHit(intent, match.start("verb"), match.end(), heads=True) if match else None


def _adds_text(text: str, stop: int) -> bool:
    """Tell whether a text that is to be added begins before a place: "加一个亮点：提升到…"."""
    colon = text.find(":", 0, stop)
    return (
        colon >= 0 and vocabulary().commands[Intent.ADD].inside.search(text, 0, colon) is not None
    )


@cache
def _head_pattern(intent: Intent) -> re.Pattern[str]:
    return re.compile(
        rf"(?:^|(?<=[,;。!?\n—–])|(?<=\s-))\s*(?P<verb>{vocabulary().commands[intent].head.pattern})",
        re.IGNORECASE,
    )


def verb_span(message: Message, command: CommandHit) -> tuple[int, int]:
    """Return the place of a command's verb, which may be a part of what matched."""
    if command.heads:
        return command.begin, command.stop
    head = vocabulary().commands[command.intent].head
    found = list(head.finditer(message.text, command.begin, command.stop))
    whole = head.match(message.text, found[-1].start()) if found else None
    return whole.span() if whole else (command.begin, command.begin)


def without_command_behind(message: Message, command: CommandHit) -> Message | None:
    """Return a message without the command that ends it if that points back and names no
    section: "…, add it".
    """
    text = message.text
    back = vocabulary().grammar.refers_back.fullmatch(text[command.stop :].strip(_EDGES))
    placed = any(noun.begin >= command.begin for noun in find_nouns(Canvas(message)))
    before = text[: verb_span(message, command)[0]].rstrip(" ")
    inside = "\u4e00" <= before[-1:] <= "\u9fff"
    if back is None or placed or inside or not text[: command.begin].strip(_EDGES):
        return None
    return replace(message, text=text[: command.begin] + " " * (len(text) - command.begin))
