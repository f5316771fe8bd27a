"""Taking words out of a text: "去掉个人简介里的六年"."""

import re
from collections.abc import Iterator

from mcp_tools.resume import Resume, read

from .decision import Act, Step
from .plan import edit_call
from .understanding.outline import Outline
from .understanding.recognition import Intent, Recognition

_LEFT_OVER = re.compile(
    r"(?<=[,，、;；。])\s*[,，、;；]+|^[\s,，、;；]+|(?<![\s,，、;；])[\s,，、;；]+$|(?<= ) +"
)
"""Marks and spaces that stand between nothing once words are gone."""


def without_words(said: Recognition, resume: Resume, outline: Outline) -> Step | None:
    """Take out the words that a command names, if one text alone is meant and has them."""
    if said.intent is not Intent.DELETE or said.section is None or len(said.fields) != 1:
        return None
    parts = [name for name in said.target.names if not outline.is_title(name)]
    found = [
        (path, text, words)
        for path, text, entry_names in _texts(said, resume, outline)
        if (words := [name for name in parts if name in text and name != text])
        and all(name in entry_names for name in said.target.names if name not in words)
    ]
    if len(found) != 1:
        return None
    ((path, text, words),) = found
    for word in words:
        text = text.replace(word, "", 1)
    return Step(Act((edit_call(path, "update", _LEFT_OVER.sub("", text)),)), ())


def _texts(
    said: Recognition, resume: Resume, outline: Outline
) -> Iterator[tuple[str, str, set[str]]]:
    """Yield where the texts of a field stand, with the names that their entries have."""
    section, name = said.section or "", said.fields[0]
    if section == "basics":
        value = read(resume, "basics")
        text = value.get(name) if isinstance(value, dict) else None
        if isinstance(text, str):
            yield f"basics.{name}", text, set()
        return
    for place, _ in outline.places():
        text = resume.entries(place.section)[place.index].get(name)
        if place.section == section and isinstance(text, str):
            names = {known for known in said.target.names if place in outline.find(known)}
            yield f"{section}[{place.index}].{name}", text, names
