"""The words that report what tools have done."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume import (
    SECTIONS,
    JsonObject,
    Language,
    Path,
    Resume,
    field_label,
    section_label,
)

from .decision import ToolCall
from .phrases import entry_line, joined, numbered, phrase, value_words


class ToolResult(BaseModel):
    """What a tool answered."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    success: bool = True
    path: str = ""
    value: JsonValue = None
    error: str | None = None
    undone: str | None = None


def report(
    steps: Sequence[tuple[ToolCall, ToolResult]], resume: Resume, language: Language
) -> str:
    """Report the results of tool calls; `resume` is the document after them."""
    return "\n".join(_one(call, result, resume, language) for call, result in steps)


def _one(call: ToolCall, result: ToolResult, resume: Resume, language: Language) -> str:
    if not result.success:
        return result.error or ""
    if call.name == "CVUndo":
        label = section_label(Path.parse(result.path).section, language)
        what = phrase(f"edit_{result.undone or 'update'}", language, section=label)
        return phrase("undone", language, what=what)
    place = Path.parse(result.path)
    if call.name == "CVReader":
        return _read(place, result.value, resume, language)
    return _edited(str(call.params.get("action")), place, result.value, resume, language)


def _read(place: Path, value: JsonValue, resume: Resume, language: Language) -> str:
    if not place.steps:
        return _whole(resume, language)
    section, label = place.section, section_label(place.section, language)
    if isinstance(value, list) and len(place.steps) == 1:
        if not value:
            return phrase("empty_section", language, section=label)
        lines = (entry_line(section, _object(entry), language) for entry in value)
        return phrase("read_section", language, section=label, count=len(value), options=numbered(lines))
    if isinstance(value, dict) and not isinstance(place.steps[-1], str) or section == place.steps[-1]:
        if not value:
            return phrase("empty_section", language, section=label)
        entry = _fields(section, _object(value), language)
        return phrase("read_entry", language, section=label, entry=entry)
    return _field("read", place, value, resume, language)


def _edited(
    action: str, place: Path, value: JsonValue, resume: Resume, language: Language
) -> str:
    section, label = place.section, section_label(place.section, language)
    if section == "basics" and len(place.steps) == 1 and action != "delete":
        return _changes("updated_basics", place, value, resume, language)
    if len(place.steps) == 1 and isinstance(value, list):
        if action == "delete":
            return phrase("deleted_all", language, section=label, count=len(value))
        entries = joined((entry_line(section, _object(e), language) for e in value), language)
        return phrase("added_several", language, section=label, count=len(value), entry=entries)
    if isinstance(place.steps[-1], int) and len(place.steps) == 2:
        if action == "update":
            return _changes("updated", place, value, resume, language)
        topic = "deleted" if action == "delete" else "added"
        entry = entry_line(section, _object(value), language)
        return phrase(topic, language, section=label, entry=entry)
    if action == "add" and section != "basics":
        return _field("added_to", place, value, resume, language)
    if action == "delete":
        return _field("deleted", place, value, resume, language)
    return _field("cleared" if value is None else "updated", place, value, resume, language)


def _field(topic: str, place: Path, value: JsonValue, resume: Resume, language: Language) -> str:
    """Say something about one field of an entry or of the basics."""
    section = place.section
    field = next(step for step in reversed(place.steps) if isinstance(step, str))
    details = {
        "field": field_label(section, field, language),
        "value": value_words(section, value, language),
    }
    if section == "basics":
        known = {"read": "read_basics", "deleted": "deleted_basics", "cleared": "deleted_basics"}
        return phrase(known.get(topic, "updated_basics"), language, **details)
    if topic in ("read", "deleted"):
        topic = f"{topic}_field"
    return phrase(topic, language, entry=_name(place, resume, language), **details)


def _changes(
    topic: str, place: Path, value: JsonValue, resume: Resume, language: Language
) -> str:
    """Say what an entry or the basics are now."""
    entry = _fields(place.section, _object(value), language)
    if topic == "updated_basics":
        return phrase("read_entry", language, section=section_label("basics", language), entry=entry)
    line = entry_line(place.section, _object(value), language)
    return phrase("read_entry", language, section=section_label(place.section, language), entry=line)


def _name(place: Path, resume: Resume, language: Language) -> str:
    """Return how an entry is called in a sentence."""
    index = place.steps[1]
    entries = resume.entries(place.section)  # type: ignore[arg-type]  # a section with entries
    if not isinstance(index, int) or index >= len(entries):
        return section_label(place.section, language)
    title = entry_line(place.section, entries[index], language).split(" · ")[0]
    return f"{section_label(place.section, language)} {title}"


def _whole(resume: Resume, language: Language) -> str:
    parts = []
    for section in SECTIONS:
        value = resume.to_json().get(section)
        if value:
            parts.append(_read(Path((section,)), value, resume, language))
    return "\n\n".join(parts) or phrase("empty_resume", language)


def _fields(section: str, entry: JsonObject, language: Language) -> str:
    return joined(
        (
            f"{field_label(section, name, language)} {value_words(section, value, language)}"
            for name, value in entry.items()
            if value not in (None, "", [], {})
        ),
        language,
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
