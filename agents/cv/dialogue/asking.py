"""The words of questions and of answers that need no tool."""

from collections.abc import Mapping, Sequence

from mcp_tools.resume import (
    SECTIONS,
    JsonObject,
    Language,
    Path,
    Resume,
    field_label,
    read,
    section_label,
    title_field,
)

from .decision import Ask, Outcome, Say
from .pending import Pending, PendingChoice, PendingEntry, PendingSection, PendingValue
from .phrases import entry_line, field_names, numbered, phrase, section_names

_WITHOUT_SECTION = {
    "not_found": "not_found_anywhere",
    "no_such_number": "which_part",
    "empty_section": "empty_resume",
}
_BASICS = ("name", "label", "email", "phone", "url", "summary", "location")


def question(decision: Ask | Say, outcome: Outcome, resume: Resume) -> str:
    """Put a question or an answer in words; an answer includes the unfinished business."""
    language = outcome.language
    if isinstance(decision, Say):
        said = phrase(decision.topic, language, **_common(None, language), **decision.details)
        left = reminder(outcome.pending, resume, language)
        return f"{said}\n{left}" if left else said
    top = outcome.pending[-1] if outcome.pending else None
    section = outcome.recognition.section
    if isinstance(top, PendingEntry) and decision.topic in ("missing", "needed", "bad_date"):
        return _about_entry(decision, top, language)
    topic, details = decision.topic, dict(decision.details)
    if section in (None, "basics"):
        topic = _WITHOUT_SECTION.get(topic, topic)
    if topic == "which_entry":
        options = details["options"]
        assert isinstance(options, Sequence)
        details |= _options(options, resume, language)
    elif topic == "new_value" and isinstance(top, PendingValue):
        place = Path.parse(top.path)
        details["field"] = field_label(place.section, str(place.steps[-1]), language)
    elif topic in ("not_found", "no_such_number") and section:
        lines = (entry_line(section, entry, language) for entry in resume.entries(section))
        details["options"] = numbered(lines)
    return phrase(topic, language, **_common(section, language), **details)


def reminder(pending: Sequence[Pending], resume: Resume, language: Language) -> str:
    """Say what is still unfinished; "" when nothing is."""
    match pending[-1] if pending else None:
        case PendingEntry() as entry:
            return phrase("pending", language, **_entry_details(entry, language))
        case PendingSection():
            return phrase("pending_section", language)
        case PendingChoice() as choice:
            return phrase("which_entry", language, **_options(choice.options, resume, language))
        case _:
            return ""


def _about_entry(decision: Ask, entry: PendingEntry, language: Language) -> str:
    details = _entry_details(entry, language)
    if decision.topic != "bad_date":
        return phrase(decision.topic, language, **details)
    said = phrase("bad_date", language, **decision.details)
    return f"{said} {phrase('pending', language, **details)}" if entry.missing_fields else said


def _entry_details(entry: PendingEntry, language: Language) -> Mapping[str, str]:
    title = entry.data.get(title_field(entry.section) or "")
    left, right = ("（", "）") if language == "zh" else (" (", ")")
    return {
        "section": section_label(entry.section, language),
        "fields": field_names(entry.section, entry.missing_fields, language),
        "known": f"{left}{title}{right}" if title else "",
    }


def _common(section: str | None, language: Language) -> dict[str, str]:
    return {
        "section": section_label(section, language) if section else "",
        "sections": section_names(SECTIONS, language),
        "fields": field_names("basics", _BASICS, language),
    }


def _options(paths: Sequence[str], resume: Resume, language: Language) -> dict[str, object]:
    return {"count": len(paths), "options": numbered(_lines(paths, resume, language))}


def _lines(paths: Sequence[str], resume: Resume, language: Language) -> list[str]:
    lines: list[str] = []
    sections = {Path.parse(path).section for path in paths}
    for path in paths:
        section = Path.parse(path).section
        found = read(resume, path)
        entry: JsonObject = found if isinstance(found, dict) else {}
        label = f"{section_label(section, language)}: " if len(sections) > 1 else ""
        lines.append(label + entry_line(section, entry, language))
    return lines
