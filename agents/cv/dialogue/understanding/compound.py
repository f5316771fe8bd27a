"""Several commands in one message: "把名字改成张三，再删除第二段工作", "add Go, undo"."""

import re
from datetime import date
from functools import cache

from .commands import find_command
from .message import prepare
from .objects import one_section_each
from .outline import Outline
from .pairs import one_change_each
from .recognition import Intent
from .spelling import corrected
from .vocabulary import vocabulary

_COMMANDS = (Intent.ADD, Intent.UPDATE, Intent.DELETE, Intent.READ)


def split_commands(text: str, outline: Outline) -> list[str]:
    """Return the parts of a message that begin like commands of their own, in order.

    Whether they are commands must be seen from each part; the words may as well be content.
    """
    text = corrected(text)
    starts = [match.end() for match in _joints().finditer(text)]
    ends = [match.start() for match in _joints().finditer(text)]
    parts = [text[begin:end] for begin, end in zip([0, *starts], [*ends, len(text)], strict=True)]
    if len(parts) > 1 and vocabulary().grammar.place.fullmatch(parts[0].strip()):
        parts[:2] = [text[: ends[1]] if len(ends) > 1 else text]
    return [single for part in parts if part.strip() for single in _singles(part.strip(), outline)]


def _singles(text: str, outline: Outline) -> list[str]:
    """Split one command that is about several places, or that makes several changes."""
    if vocabulary().joiners.search(text) is None:
        return [text]
    message = prepare(text, today=date.min)
    command = find_command(message)
    if command and command.intent in (Intent.READ, Intent.DELETE):
        return one_section_each(message, command, outline)
    return one_change_each(message, command, outline)


@cache
def _joints() -> re.Pattern[str]:
    """Match what stands between two commands."""
    grammar = vocabulary().grammar
    verbs = "|".join(vocabulary().commands[intent].head.pattern for intent in _COMMANDS)
    command = f"{verbs}|{grammar.object_first.pattern}"
    back = rf"(?:{command})\s*(?:{grammar.refers_back.pattern})"
    return re.compile(rf"(?:{grammar.joint.pattern})(?!{back})(?={command})", re.IGNORECASE)
