"""Validation of alternative wordings of a draft.

Only texts with content are reworded; the paths, actions and all other values of a draft are kept. A
wording is valid if it states no fact that was not given, loses none that the draft states, is
written in the language of the resume, and repairs what the draft repairs.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date

from pydantic import JsonValue

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.document import Resume
from mcp_tools.resume.edit import edit
from mcp_tools.resume.errors import ResumeError
from mcp_tools.resume.export.text import language_of
from mcp_tools.resume.facts import Known, unsaid, unsaid_by, unsaid_names
from mcp_tools.resume.labels import Language
from mcp_tools.resume.patch import Operation
from mcp_tools.resume.path import Path

from .defects import Kind
from .diagnose import diagnose
from .mending import ProposedEdit, apply_edits
from .planning import Task
from .vocabulary import names

_REWORDED: frozenset[Kind] = frozenset(
    {"no_metrics", "weak_verbs", "missing_section", "too_long", "too_short", "unsupported_skill"}
)
"""Kinds that are mended by what somebody tells; the others by rules that know the right text."""
_TELLING = frozenset({"summary", "highlights", "description"})
_MARKS = frozenset("*`<>{}[]|~_\\#")
"""Signs of Markdown, of JSON, and of blanks to be filled in."""


_FIGURE = re.compile(r"\d+(?:\.\d+)?")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


def draft_texts(task: Task, edits: Iterable[ProposedEdit]) -> list[str]:
    """Return the texts of a draft that may be worded otherwise, in their order."""
    return _telling(edits) if task.kind in _REWORDED else []


def reworded(edits: Iterable[ProposedEdit], texts: Iterable[str]) -> list[ProposedEdit]:
    """Return a draft with other texts, one for each of `draft_texts`."""
    given = iter(texts)
    return _changed(edits, lambda _: next(given))


def draft_language(resume: Resume, edits: Iterable[ProposedEdit]) -> Language:
    """Return the language of a draft's texts: that in which most of the resume is, with them."""
    return language_of([*texts_in(resume.to_json()), *_telling(edits)])


def objections(
    task: Task,
    resume: Resume,
    edits: Sequence[ProposedEdit],
    wording: Sequence[ProposedEdit],
    said: Iterable[str],
    *,
    today: date,
) -> list[str]:
    """Tell what speaks against a wording; nothing when it is as good as the draft.

    Args:
        edits: The draft of the task.
        wording: The same, `reworded`.
        said: The person's own words.
    """
    old, new = _telling(edits), _telling(wording)
    try:
        changes = [*_changes(resume, wording)]
        mended, better = apply_edits(resume, edits), apply_edits(resume, wording)
    except ResumeError as error:
        return [f"cannot be applied: {error.message('en')}"]
    known, kept = Known.beside(resume, said, today=today), Known.of(new, today=today)
    language = draft_language(resume, edits)
    is_foreign = language_of(new) != language or (
        language == "en" and any(sign not in known.text for sign in _CHINESE.findall("".join(new)))
    )
    found = {
        "no text": [repr(text) for text in new if not any(map(str.isalpha, text))],
        "marks": [after for before, after in zip(old, new, strict=True) if _marked(before, after)],
        "another language": new if is_foreign else [],
        "never said": [*unsaid_by(changes, known), *_unsaid_names(new, known)],
        "figures": _strange_figures(new, Known.of([*old, known.text], today=today)),
        "lost": [*unsaid("", "summary", [*old], kept), *_unsaid_names(old, kept)],
        "defect": _new_defects(task, mended, better, today),
    }
    return [f"{what}: {one}" for what, some in found.items() for one in dict.fromkeys(some)]


def _telling(edits: Iterable[ProposedEdit]) -> list[str]:
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


def _marked(before: str, after: str) -> bool:
    strange = {sign for sign in after if sign in _MARKS or not sign.isprintable()}
    return bool(strange - {*before})


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


def _new_defects(task: Task, mended: Resume, better: Resume, today: date) -> list[str]:
    """Return the defects of the wording only; brevity is a defect only if the task is about it."""
    new = _defects(better, today) - _defects(mended, today)
    return [
        f"{kind} in {section or 'resume'}"
        for kind, section, _ in new
        if kind != "too_short" or task.kind == "too_short"
    ]


def _defects(resume: Resume, today: date) -> Counter[tuple[Kind, str, int | None]]:
    found = diagnose(resume, today=today)
    return Counter((defect.kind, defect.section, defect.entry) for defect in found)
