"""The texts of a draft in other words, and what must not stand in them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date

from pydantic import JsonValue

from mcp_tools.resume.document import Resume
from mcp_tools.resume.edit import edit
from mcp_tools.resume.errors import ResumeError
from mcp_tools.resume.facts import Known, unsaid_by, unsaid_names
from mcp_tools.resume.patch import Operation
from mcp_tools.resume.path import Path

from .mending import ProposedEdit
from .vocabulary import names, words

_TELLING = frozenset({"summary", "highlights", "description"})
_MARKS = frozenset("*`<>{}[]|~_\\#")
"""Signs of Markdown, of JSON, and of blanks to be filled in."""


_FIGURE = re.compile(r"\d+(?:\.\d+)?")


def inventions(
    resume: Resume, edits: Sequence[ProposedEdit], said: Iterable[str], *, today: date
) -> list[str]:
    """Tell what edits state that neither the resume nor the person has said, or why they fail."""
    try:
        changes = [*_changes(resume, edits)]
    except ResumeError as error:
        return [f"cannot be applied: {error.message('en')}"]
    known, texts = Known.beside(resume, said, today=today), telling_texts(edits)
    found = {
        "no text": [repr(text) for text in texts if not any(map(str.isalpha, text))],
        "marks": [text for text in texts if _is_marked(text)],
        "never said": [*unsaid_by(changes, known), *_unsaid_names(texts, known)],
        "figures": _strange_figures(texts, known),
    }
    return [f"{what}: {one}" for what, some in found.items() for one in dict.fromkeys(some)]


def texts_changed(
    edits: Iterable[ProposedEdit], change: Callable[[str], str]
) -> list[ProposedEdit]:
    """Return a draft with each text that tells something changed."""
    return _changed(edits, change)


def without_filler(text: str) -> str:
    """Return a text without the words that add nothing to it."""
    for pattern, shorter in words().filler:
        text = pattern.sub(shorter, text)
    text = re.sub(r"\s{2,}", " ", text).strip()
    return text[:1].upper() + text[1:]


def telling_texts(edits: Iterable[ProposedEdit]) -> list[str]:
    """Return the texts of a draft that tell something, in their order."""
    found: list[str] = []

    def take(text: str) -> str:
        found.append(text)
        return text

    _changed(edits, take)
    return found


def _changed(edits: Iterable[ProposedEdit], change: Callable[[str], str]) -> list[ProposedEdit]:
    return [
        one.model_copy(update={"value": _mapped(one.value, _field(one.path), change)})
        for one in edits
    ]


def _mapped(value: JsonValue, field: str, change: Callable[[str], str]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _mapped(item, name, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, field, change) for item in value]
    return change(value) if isinstance(value, str) and field in _TELLING else value


def _field(path: str) -> str:
    named = [step for step in Path.parse(path).steps if isinstance(step, str)]
    return named[-1] if named else ""


def _changes(resume: Resume, edits: Iterable[ProposedEdit]) -> Iterator[Operation]:
    for one in edits:
        edited = edit(resume, one.path, one.action, one.value)
        yield from edited.patch
        resume = edited.resume


def _is_marked(text: str) -> bool:
    return any(sign in _MARKS or not sign.isprintable() for sign in text)


def _strange_figures(texts: Iterable[str], known: Known) -> list[str]:
    """Return figures that were not given, including those outside of claims, as in `1:9A`."""
    written = {*_FIGURE.findall(known.text)}
    return [
        figure
        for text in texts
        for figure in _FIGURE.findall(text)
        if figure not in written and not (figure.isascii() and float(figure) in known.numbers)
    ]


def _unsaid_names(texts: Iterable[str], known: Known) -> Iterator[str]:
    for text in texts:
        yield from unsaid_names(text, known)
        for match in names().typed.finditer(text):
            if not any(sign in known.text for sign in names().signs_of(match[0])):
                yield match[0]
