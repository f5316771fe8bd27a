"""The plan: which tool calls carry out what was understood. Pure; nothing is called here."""

from collections.abc import Sequence

from pydantic import JsonValue

from mcp_tools.resume import JsonObject, Resume, edit, field_kind, title_field

from .decision import ToolCall
from .understanding.outline import Place
from .understanding.recognition import Intent, Recognition
from .understanding.vocabulary import section_facts


def read_call(path: str) -> ToolCall:
    """Return the call that reads a path."""
    return ToolCall(name="CVReader", params={"path": path})


def edit_call(path: str, action: str, value: JsonValue = None) -> ToolCall:
    """Return the call that edits a path."""
    params: dict[str, JsonValue] = {"path": path, "action": action}
    return ToolCall(
        name="CVEditor", params=params if action == "delete" else {**params, "value": value}
    )


def undo_calls(steps: int, undoable: int) -> tuple[ToolCall, ...]:
    """Return the calls that take back so many edits, if there are so many; at least one."""
    return (ToolCall(name="CVUndo", params={}),) * max(1, min(steps, undoable))


def after(calls: Sequence[ToolCall], resume: Resume) -> Resume:
    """Return the resume as it will be after the edits among some calls.

    Raises:
        ResumeError: one of the edits is not possible.
    """
    for call in calls:
        if call.name == "CVEditor":
            path, action = str(call.params["path"]), str(call.params["action"])
            resume = edit(resume, path, action, call.params.get("value")).resume
    return resume


def addition(
    section: str, entries: Sequence[JsonObject], *, at: int | None = None
) -> tuple[ToolCall, ...]:
    """Return the calls that add complete entries, `at` an index; an open end is left out."""
    values: list[JsonValue] = [
        {name: value for name, value in entry.items() if value is not None} for entry in entries
    ]
    if at is not None:
        return tuple(edit_call(f"{section}[{at + n}]", "add", v) for n, v in enumerate(values))
    return (edit_call(section, "add", values[0] if len(values) == 1 else values),)


def basics_calls(said: Recognition) -> tuple[ToolCall, ...]:
    """Return the calls that read, set or delete fields of the basics."""
    if said.intent is Intent.READ:
        return tuple(read_call(f"basics.{name}") for name in said.fields) or (read_call("basics"),)
    if said.intent is Intent.DELETE:
        return tuple(edit_call(f"basics.{name}", "delete") for name in said.fields)
    profiles = said.data.get("profiles")
    fields = {name: value for name, value in said.data.items() if name != "profiles"}
    calls = [_update("basics", fields)] if fields else []
    return (*calls, *([edit_call("basics.profiles", "add", profiles)] if profiles else []))


def entry_calls(said: Recognition, places: Sequence[Place], resume: Resume) -> tuple[ToolCall, ...]:
    """Return the calls that carry out something on entries; deletes start from the last."""
    paths = [_path(place) for place in places]
    if said.intent is Intent.READ:
        return tuple(read_call(f"{path}{name}") for path in paths for name in _suffixes(said))
    if said.intent is Intent.DELETE:
        backwards = sorted(places, key=lambda place: place.index, reverse=True)
        return tuple(
            edit_call(f"{_path(place)}{name}", "delete")
            for place in backwards
            for name in (_losing(said, place, resume) or _suffixes(said))
        )
    if said.intent is Intent.ADD:
        return tuple(call for place in places for call in _details(place, said.data))
    return tuple(_update(_path(place), _changes(said, place, resume)) for place in places)


def _suffixes(said: Recognition) -> list[str]:
    names = [
        name
        for field in said.fields
        for name in (("startDate", "endDate") if field == "period" else (field,))
    ]
    return [f".{name}" for name in names] or [""]


def _update(path: str, changes: JsonObject) -> ToolCall:
    if len(changes) == 1:
        ((name, value),) = changes.items()
        return edit_call(f"{path}.{name}", "update", value)
    return edit_call(path, "update", _nested(changes))


def _nested(changes: JsonObject) -> JsonObject:
    """Return changes with "location.address" as an object of its own."""
    nested: JsonObject = {}
    for name, value in changes.items():
        outer, _, inner = name.partition(".")
        if not inner:
            nested[outer] = value
            continue
        place = nested.get(outer)
        nested[outer] = {**(place if isinstance(place, dict) else {}), inner: value}
    return nested


def _changes(said: Recognition, place: Place, resume: Resume) -> JsonObject:
    """Return the new values; one without a field replaces the text that was named."""
    if said.data or said.value is None:
        return said.data
    title = title_field(place.section) or "name"
    named = (_field_of(name, place, resume) for name in said.target.names)
    return {next((field for field in named if field and field != title), title): said.value}


def _field_of(text: str, place: Place, resume: Resume) -> str | None:
    """Return the field of an entry that holds just this text."""
    fields = resume.entries(place.section)[place.index].items()
    holding = (k for k, v in fields if isinstance(v, str) and v.casefold() == text.casefold())
    return next(holding, None)


def _losing(said: Recognition, place: Place, resume: Resume) -> list[str]:
    """Return the field of the value that an entry shall lose; a grade may be in other words."""
    if said.value is None:
        return []
    field = _field_of(said.value, place, resume) or section_facts()[place.section].grade
    return [f".{field}"] if field else []


def _details(place: Place, data: JsonObject) -> list[ToolCall]:
    return [
        edit_call(
            f"{_path(place)}.{name}",
            "add" if field_kind(place.section, name) == "list" else "update",
            single(value),
        )
        for name, value in data.items()
    ]


def single(value: JsonValue) -> JsonValue:
    """Return the only item of a list, or the value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _path(place: Place) -> str:
    return f"{place.section}[{place.index}]"
