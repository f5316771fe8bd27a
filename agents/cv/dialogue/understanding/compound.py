"""Several commands in one message: "把名字改成张三，再删除第二段工作", "add Go, undo"."""

import re
from datetime import date
from functools import cache
from itertools import pairwise

from .canvas import Canvas
from .commands import find_command
from .message import prepare
from .recognition import Intent
from .sections import find_nouns
from .spelling import corrected
from .vocabulary import vocabulary

_COMMANDS = (Intent.ADD, Intent.UPDATE, Intent.DELETE, Intent.READ)


def split_commands(text: str) -> list[str]:
    """Return the parts of a message that begin like commands of their own, in order.

    Whether they are commands must be seen from each part; the words may as well be content.
    """
    text = corrected(text)
    starts = [match.end() for match in _joints().finditer(text)]
    ends = [match.start() for match in _joints().finditer(text)]
    parts = [text[begin:end] for begin, end in zip([0, *starts], [*ends, len(text)], strict=True)]
    if len(parts) > 1 and vocabulary().grammar.place.fullmatch(parts[0].strip()):
        parts[:2] = [text[: ends[1]] if len(ends) > 1 else text]
    return [single for part in parts if part.strip() for single in _one_section_each(part.strip())]


def _one_section_each(text: str) -> list[str]:
    """Split "show my skills and languages" into a command for every section."""
    if vocabulary().joiners.search(text) is None:
        return [text]
    message = prepare(text, today=date.min)
    command = find_command(message)
    if command is None or command.intent not in (Intent.READ, Intent.DELETE):
        return [text]
    nouns = find_nouns(Canvas(message))
    pairs = list(pairwise(nouns))
    joined = [_joins(message.text[one.stop : other.begin]) for one, other in pairs]
    sections = {noun.section for noun in nouns}
    if not pairs or not all(joined) or len(sections) < len(nouns):
        return [text]
    before, behind = text[: nouns[0].begin], text[nouns[-1].stop :]
    return [before + text[noun.begin : noun.stop] + behind for noun in nouns]


def _joins(between: str) -> bool:
    return bool(between.strip()) and _join().fullmatch(between) is not None


@cache
def _join() -> re.Pattern[str]:
    """Match what stands between the names of two sections."""
    joiner = vocabulary().joiners.pattern
    filler = vocabulary().references.filler.leading.pattern
    return re.compile(rf"\s*(?:{joiner})?\s*(?:{filler})*\s*", re.IGNORECASE)


@cache
def _joints() -> re.Pattern[str]:
    """Match what stands between two commands."""
    grammar = vocabulary().grammar
    verbs = "|".join(vocabulary().commands[intent].head.pattern for intent in _COMMANDS)
    command = f"{verbs}|{grammar.object_first.pattern}"
    back = rf"(?:{command})\s*(?:{grammar.refers_back.pattern})"
    return re.compile(rf"(?:{grammar.joint.pattern})(?!{back})(?={command})", re.IGNORECASE)
