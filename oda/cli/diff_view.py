"""How the changes of a document look on a terminal, and in a pipe."""

import json
import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from oda.cli.narration import printable
from oda.cli.state_diff import Change, Step
from oda.secret_mask import secrets

_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")
_STYLES = {"+": "green", "-": "red", "~": ""}
_INDENT = "  "
_NARROWEST = 20
"""Columns that a text has at least, however deep it is indented."""


def view(changes: Sequence[Change], console: Console) -> Iterator[Text]:
    """The lines of a diff: `- ` removed, `+ ` added, `~ ` changed, with the place of each.

    On a terminal long lines are wrapped; elsewhere they are left whole.
    """
    for change in changes:
        place = _place(change.path)
        if change.kind == "changed":
            yield from _changed(place, change, console)
        elif change.kind == "added":
            yield from _block("+", place, change.after, console)
        else:
            yield from _block("-", place, change.before, console)


def _changed(place: str, change: Change, console: Console) -> Iterator[Text]:
    if _is_value(change.before) and _is_value(change.after):
        before, after = _value(change.before), _value(change.after)
        line = Text.assemble(f"~ {place}: ", (before, "red"), " -> ", (after, "green"))
        if "\n" not in line.plain and _fits(line.plain, console):
            yield line
            return
    yield Text(f"~ {place}:")
    yield from _block("-", "", change.before, console, depth=1)
    yield from _block("+", "", change.after, console, depth=1)


def _block(
    sign: str, name: str, value: JsonValue, console: Console, *, depth: int = 0
) -> Iterator[Text]:
    """A value with all that is in it, one line for each field."""
    if _is_value(value) or not value:
        text = _value(value)
        yield from _wrapped(sign, depth, f"{name}: {text}" if name else text, console)
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _block(sign, f"{name}[{index}]", item, console, depth=depth)
    elif isinstance(value, dict):
        if name:
            yield from _wrapped(sign, depth, name, console)
            depth += 1
        for key, item in value.items():
            yield from _block(sign, _key(key), item, console, depth=depth)


def _wrapped(sign: str, depth: int, text: str, console: Console) -> Iterator[Text]:
    start = f"{sign} {_INDENT * depth}"
    for number, line in enumerate(text.split("\n")):
        indent = start if number == 0 else start + _INDENT
        for row in _rows(line, console, len(indent)):
            yield Text(f"{indent}{row}", style=_STYLES[sign])
            indent = start + _INDENT


def _rows(line: str, console: Console, indent: int) -> Sequence[str]:
    if not console.is_terminal or not line:
        return [line]
    width = max(_NARROWEST, console.width - indent - len(_INDENT))
    return [row.plain.rstrip() for row in Text(line).wrap(console, width)]


def _fits(line: str, console: Console) -> bool:
    return not console.is_terminal or cell_len(line) <= console.width


def _place(path: Sequence[Step]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = _key(step)
            text += f".{key}" if text and not key.startswith("[") else key
    return text or "all"


def _key(key: str) -> str:
    shown = _shown(key)
    return shown if _PLAIN_KEY.fullmatch(shown) else f"[{json.dumps(shown, ensure_ascii=False)}]"


def _is_value(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


def _value(value: JsonValue) -> str:
    """A text as it is, if it cannot be taken for anything else; all other values as JSON."""
    if isinstance(value, str) and value.strip() == value and not _is_json(value):
        return _shown(value)
    return _shown(json.dumps(value, ensure_ascii=False))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return not text
    return True


def _shown(text: str) -> str:
    return secrets.mask(printable(text))
