"""Several commands in one message: "把名字改成张三，再删除第二段工作", "add Go, undo"."""

import re
from functools import cache

from .recognition import Intent
from .vocabulary import vocabulary

_COMMANDS = (Intent.ADD, Intent.UPDATE, Intent.DELETE, Intent.READ)


def split_commands(text: str) -> list[str]:
    """Return the parts of a message that begin like commands of their own, in order.

    Whether they are commands must be seen from each part; the words may as well be content.
    """
    starts = [match.end() for match in _joints().finditer(text)]
    ends = [match.start() for match in _joints().finditer(text)]
    parts = [text[begin:end] for begin, end in zip([0, *starts], [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip()]


@cache
def _joints() -> re.Pattern[str]:
    """Match what stands between two commands."""
    grammar = vocabulary().grammar
    verbs = "|".join(vocabulary().commands[intent].head.pattern for intent in _COMMANDS)
    command = f"{verbs}|{grammar.object_first.pattern}"
    return re.compile(rf"(?:{grammar.joint.pattern})(?={command})", re.IGNORECASE)
