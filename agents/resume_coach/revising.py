"""A draft changed as somebody wishes, by rules: without filler, a word replaced or left out."""

import re
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from mcp_tools.resume import Resume, ResumeError
from mcp_tools.resume.diagnosis import (
    ProposedEdit,
    apply_edits,
    texts_changed,
    without_filler,
)

from .acts import Understood

_SPACES = re.compile(r"\s{2,}")
_LOOSE = re.compile(
    r"(?<!\s)\s+(?=[,.;:!?，。；])|(?<=[，,])\s*[，,]+|^[\s，,。.;；、]+|(?<![\s，,;；、])[\s，,;；、]+$"
)


def revised(
    wish: Understood, edits: Sequence[ProposedEdit], resume: Resume
) -> list[ProposedEdit] | None:
    """Return the edits of a draft as wished; None where rules cannot do it."""
    match wish.about:
        case "shorter":
            changed = texts_changed(edits, without_filler)
        case "replace" | "remove" if wish.old:
            changed = _everywhere(edits, lambda text: _replaced(text, wish.old, wish.new))
        case _:
            return None
    if changed == list(edits):
        return None
    try:
        apply_edits(resume, changed)
    except ResumeError:
        return None
    return changed


def _replaced(text: str, old: str, new: str) -> str:
    found = re.sub(re.escape(old), lambda _: new, text, flags=re.IGNORECASE)
    if found == text:
        return text
    tidy = _LOOSE.sub("", _SPACES.sub(" ", found))
    return tidy or text


def _everywhere(edits: Sequence[ProposedEdit], change: Callable[[str], str]) -> list[ProposedEdit]:
    return [one.model_copy(update={"value": _mapped(one.value, change)}) for one in edits]


def _mapped(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _mapped(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
