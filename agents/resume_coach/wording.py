"""Texts of the coach: the sentences of `wording.yaml`, and lists built from them."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import yaml
from pydantic import JsonValue

from mcp_tools.resume import Language, Resume, ResumeError, read
from mcp_tools.resume.diagnosis import ProposedEdit, Task
from oda.orchestration.wording import Wording


@cache
def say() -> Wording:
    """The sentences, read once."""
    file = Path(__file__).with_name("wording.yaml")
    return Wording(yaml.safe_load(file.read_text(encoding="utf-8")))


def listed_tasks(tasks: Iterable[Task], language: Language) -> str:
    """The tasks with their numbers, one on each line."""
    return "\n".join(
        say()(
            "task",
            language,
            number=str(number),
            mark=say()(f"mark_{task.status}", language),
            diagnosis=task.diagnosis,
        )
        for number, task in enumerate(tasks, 1)
    )


def shown_edits(edits: Iterable[ProposedEdit], resume: Resume, language: Language) -> str:
    """Describe the effects of edits, one field or entry per line."""
    fields = (field for one in edits for field in _fields(one))
    return "\n".join(f"- {_shown_edit(one, resume, language)}" for one in fields)


def _fields(one: ProposedEdit) -> Iterator[ProposedEdit]:
    """An edit as edits of single fields, where it changes several of an entry."""
    if one.action != "update" or not isinstance(one.value, dict):
        yield one
        return
    for name, value in one.value.items():
        yield ProposedEdit(path=f"{one.path}.{name}", action="update", value=value)


def _shown_edit(one: ProposedEdit, resume: Resume, language: Language) -> str:
    before = _value_at(resume, one.path)
    name = "set" if one.action == "update" and before is None else one.action
    return say()(
        f"edit_{name}", language, path=one.path, before=_shown(before), after=_shown(one.value)
    )


def _value_at(resume: Resume, path: str) -> JsonValue:
    """Return the value at a path; None if an earlier edit would have to create the place."""
    try:
        return read(resume, path)
    except ResumeError:
        return None


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    return value if isinstance(value, str) else json.dumps(value)
