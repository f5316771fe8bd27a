"""The words that report what tools have done."""

from collections.abc import Sequence
from typing import cast

from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume import (
    SECTIONS,
    JsonObject,
    Language,
    Path,
    Resume,
    field_label,
    read,
    section_label,
)

from .decision import ToolCall
from .phrases import entry_line, joined, numbered, phrase, value_words


class ToolResult(BaseModel):
    """The answer of a tool; `undone` is the action that an undo has reverted."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    success: bool = True
    path: str = ""
    value: JsonValue = None
    error: str | None = None
    undone: str | None = None


def report(steps: Sequence[tuple[ToolCall, ToolResult]], resume: Resume, language: Language) -> str:
    """Report the results of tool calls; `resume` is the document after them."""
    return "\n".join(_Reporter(resume, language).line(call, result) for call, result in steps)


class _Reporter:
    def __init__(self, resume: Resume, language: Language) -> None:
        self._resume = resume
        self._language = language

    def line(self, call: ToolCall, result: ToolResult) -> str:
        if not result.success:
            return result.error or ""
        if call.name == "CVExport" and isinstance(result.value, dict):
            return self._say("exported", **result.value)
        if call.name == "CVFit" and isinstance(result.value, dict):
            return self._fits(result.value)
        if call.name == "CVImport" and isinstance(result.value, dict):
            return self._imported(result.value)
        if call.name == "CVDiagnose":
            return self._diagnosed(result.value if isinstance(result.value, list) else [])
        place = Path.parse(result.path)
        if call.name == "CVUndo":
            what = self._say(f"edit_{result.undone}", section=self._section(place))
            return self._say("undone", what=what)
        if call.name == "CVReader":
            return self._read(place, result.value) if place.steps else self._whole()
        match call.params["action"]:
            case "add":
                return self._added(place, result.value)
            case "move":
                return self._moved(place, call.params.get("value"))
            case "delete":
                return self._deleted(place, result.value)
            case _:
                return self._updated(place, call.params.get("value"))

    def _fits(self, found: JsonObject) -> str:
        asked = found["asked"]
        lines = [
            self._say(
                "fit_shown" if one["shown"] else "fit_missing",
                term=one["term"],
                paths=joined(map(str, cast("list[str]", one["shown"])), self._language),
            )
            for one in (asked if isinstance(asked, list) else [])
            if isinstance(one, dict)
        ]
        return self._say("fits", lines=numbered(lines)) if lines else self._say("fit_nothing")

    def _imported(self, found: JsonObject) -> str:
        sections = found["sections"]
        counts = [
            f"{section_label(name, self._language)} {count}"
            for name, count in (sections if isinstance(sections, dict) else {}).items()
        ]
        left = cast("list[str]", found["not_understood"])
        lost = self._say("imported_left", lines=numbered(left)) if left else ""
        return self._say(
            "imported",
            name=found["name"],
            sections=joined(counts, self._language),
            left=lost or self._say("imported_whole"),
        )

    def _diagnosed(self, findings: Sequence[JsonValue]) -> str:
        lines = numbered(
            f"{found['finding']} {found['goal']}" for found in findings if isinstance(found, dict)
        )
        return self._say("diagnosed", findings=lines) if lines else self._say("nothing_wrong")

    def _read(self, place: Path, value: JsonValue) -> str:
        label = self._section(place)
        if len(place.steps) == 1 and not value:
            return self._say("empty_section", section=label)
        if len(place.steps) == 1 and isinstance(value, list):
            lines = numbered(self._entry(place, entry) for entry in value)
            return self._say("read_section", section=label, count=len(value), options=lines)
        if isinstance(value, dict) and _is_entry(place):
            return self._say("read_entry", section=label, entry=self._fields(place, value))
        return self._say("read_field", **self._field(place, value))

    def _whole(self) -> str:
        document = self._resume.to_json()
        parts = [
            self._read(Path((name,)), document[name]) for name in SECTIONS if document.get(name)
        ]
        return "\n\n".join(parts) or self._say("empty_resume")

    def _added(self, place: Path, value: JsonValue) -> str:
        label = self._section(place)
        if len(place.steps) == 1 and isinstance(value, list):
            entries = joined((self._entry(place, entry) for entry in value), self._language)
            return self._say("added_several", section=label, count=len(value), entry=entries)
        if _is_entry(place):
            return self._say("added", section=label, entry=self._entry(place, value))
        return self._say("added_to", **self._field(place, value))

    def _moved(self, place: Path, value: JsonValue) -> str:
        """Tell the order of what a place is among now."""
        if len(place.steps) == 1 and not isinstance(value, list):
            shown = [name for name in self._resume.order if self._resume.entries(name)]
            names = (section_label(name, self._language) for name in shown)
            return self._say("moved_section", order=joined(names, self._language))
        parent = place if isinstance(value, list) else place.parent
        found = read(self._resume, str(parent))
        items = found if isinstance(found, list) else []
        lines = (
            self._entry(parent, item) if isinstance(item, dict) else str(item) for item in items
        )
        return self._say("moved", section=self._section(place), order=numbered(lines))

    def _updated(self, place: Path, value: JsonValue) -> str:
        changed = value if isinstance(value, dict) and _is_entry(place) else None
        if changed is None:
            changed = {str(place.steps[-1]): value}
        said = (self._change(place, name, item) for name, item in changed.items())
        changes = joined(said, self._language)
        return self._say("updated", entry=self._name(place), changes=changes)

    def _deleted(self, place: Path, value: JsonValue) -> str:
        label = self._section(place)
        if len(place.steps) == 1:
            count = len(value) if isinstance(value, list) else 1
            return self._say("deleted_all", section=label, count=count)
        if _is_entry(place):
            return self._say("deleted", section=label, entry=self._entry(place, value))
        return self._say("deleted_field", **self._field(place, value))

    def _field(self, place: Path, value: JsonValue) -> dict[str, str]:
        """Return what is to be said about one field of an entry or of the basics."""
        field = next(step for step in reversed(place.steps) if isinstance(step, str))
        return {
            "entry": self._name(place),
            "field": field_label(place.section, field, self._language),
            "value": value_words(place.section, value, self._language),
        }

    def _change(self, place: Path, field: str, value: JsonValue) -> str:
        label = field_label(place.section, field, self._language)
        if value is None and field == "endDate":
            return self._say("change", field=label, value=self._say("until_now"))
        words = value_words(place.section, value, self._language)
        return self._say("change", field=label, value=words)

    def _name(self, place: Path) -> str:
        """Return how the entry at a place is called in a sentence."""
        index = place.steps[1] if len(place.steps) > 1 else None
        entries = self._resume.to_json().get(place.section)
        if not isinstance(index, int) or not isinstance(entries, list) or index >= len(entries):
            return self._section(place)
        title = self._entry(place, entries[index]).split(" · ")[0]
        return self._say("entry_name", section=self._section(place), title=title)

    def _fields(self, place: Path, entry: JsonObject) -> str:
        words = (
            f"{field_label(place.section, name, self._language)} "
            f"{value_words(place.section, value, self._language)}"
            for name, value in entry.items()
            if value not in (None, "", [], {})
        )
        return joined(words, self._language)

    def _entry(self, place: Path, entry: JsonValue) -> str:
        return entry_line(place.section, entry if isinstance(entry, dict) else {}, self._language)

    def _section(self, place: Path) -> str:
        return section_label(place.section, self._language)

    def _say(self, topic: str, **details: object) -> str:
        return phrase(topic, self._language, **details)


def _is_entry(place: Path) -> bool:
    """Tell whether a place is an entry of a section, or the basics, which are like one."""
    if len(place.steps) == 1:
        return place.section == "basics"
    return len(place.steps) == 2 and isinstance(place.steps[1], int)
