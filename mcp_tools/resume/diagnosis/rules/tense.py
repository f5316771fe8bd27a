"""Past and present mixed in an entry that has ended."""

from collections.abc import Iterator

from pydantic import JsonValue

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Entry, Reading
from mcp_tools.resume.diagnosis.verbs import Opening, opening_of


def inconsistent_tense(reading: Reading) -> Iterator[Defect]:
    """Find entries that are over and begin some English lines in the past, some in the present."""
    for section in ("work", "volunteer", "projects"):
        for entry in reading.filled(section):
            if _is_over(entry, reading) and (lines := _present_among_past(entry)):
                yield Defect(
                    kind="inconsistent_tense",
                    section=section,
                    entry=entry.index,
                    detail={"lines": lines},
                    severity="low",
                )


def _is_over(entry: Entry, reading: Reading) -> bool:
    return entry.end is not None and entry.end.first <= reading.now.last


def _present_among_past(entry: Entry) -> list[JsonValue]:
    openings = [(line, opening_of(line.text)) for line in entry.lines if line.language == "en"]
    if not any(opening and opening.tense == "past" for _, opening in openings):
        return []
    return [
        {"path": line.path, "line": line.text, "better": opening.in_past(line.text)}
        for line, opening in openings
        if opening and opening.tense == "present" and not _is_about_product(opening, entry)
    ]


def _is_about_product(opening: Opening, entry: Entry) -> bool:
    """Tell whether a line says what a project is or does: "Compiles to WebAssembly"."""
    return entry.section == "projects" and not opening.is_plain
