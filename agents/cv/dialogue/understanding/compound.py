"""Several commands in one message: "把名字改成张三，再删除第二段工作", "add Go, undo"."""

import re
from datetime import date
from functools import cache

from .arranging import understand_arrangement
from .commands import find_command
from .message import prepare
from .objects import one_section_each
from .outline import Outline
from .pairs import one_change_each
from .recognition import Intent
from .spelling import corrected
from .vocabulary import vocabulary

_CLAUSE_ENDS = re.compile(
    r"\s*[,，;；。]\s*(?:(?:and then|and|then|also|然后|接着|再|并且|同时|最后)\s*)?"
    r"|\s+(?:and then|and also|and|then)\s+|(?:然后|接着|并且|同时)再?",
    re.IGNORECASE,
)
_MOST_CLAUSES = 3
"""As many clauses as one wish for another order has at most."""
_COMMANDS = (Intent.ADD, Intent.UPDATE, Intent.DELETE, Intent.READ)


def split_commands(text: str, outline: Outline) -> list[str]:
    """Return the parts of a message that begin like commands of their own, in order.

    Whether they are commands must be seen from each part; the words may as well be content.
    """
    text = corrected(text)
    if parts := _around_orders(text, outline):
        return parts
    starts = [match.end() for match in _joints().finditer(text)]
    ends = [match.start() for match in _joints().finditer(text)]
    parts = [text[begin:end] for begin, end in zip([0, *starts], [*ends, len(text)], strict=True)]
    if len(parts) > 1 and vocabulary().grammar.place.fullmatch(parts[0].strip()):
        parts[:2] = [text[: ends[1]] if len(ends) > 1 else text]
    return [single for part in parts if part.strip() for single in _singles(part.strip(), outline)]


def _around_orders(text: str, outline: Outline) -> list[str]:
    """Split a message that asks for another order in some of its clauses; nothing if in none."""
    spans = [(m.start(), m.end()) for m in _CLAUSE_ENDS.finditer(text)]
    begins, stops = [0, *(end for _, end in spans)], [*(begin for begin, _ in spans), len(text)]
    parts: list[str] = []
    first, found, number = 0, False, 0
    while number < len(begins):
        last = _end_of_order(text, begins, stops, number, outline)
        if last is None:
            number += 1
            continue
        if first < number:
            parts += split_commands(text[begins[first] : stops[number - 1]], outline)
        parts.append(text[begins[number] : stops[last]].strip())
        first = number = last + 1
        found = True
    if found and first < len(begins):
        parts += split_commands(text[begins[first] :], outline)
    return [part for part in parts if part] if found and len(begins) > 1 else []


def _end_of_order(
    text: str, begins: list[int], stops: list[int], number: int, outline: Outline
) -> int | None:
    """Return the last of the clauses that are one wish for an order, from one of them on."""
    for last in reversed(range(number, min(len(begins), number + _MOST_CLAUSES))):
        message = prepare(text[begins[number] : stops[last]], today=date.min)
        wish = understand_arrangement(message, outline)
        if wish and wish.act not in ("replace", "delete"):
            return last
    return None


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
