"""Entries of a resume in what somebody says, read as a resume that is imported would be."""

import re

from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.document import JsonObject, title_field
from mcp_tools.resume.importing.plain import text_lines
from mcp_tools.resume.importing.understanding import understand
from mcp_tools.resume.labels import section_label

_NEEDED: dict[str, tuple[str, ...]] = {
    "work": ("name", "position", "startDate"),
    "education": ("institution",),
    "skills": ("name",),
}
_CLAUSES = re.compile(r"[，,；;。\n]+\s*|\.\s+")


def told_entries(section: str, answer: str) -> list[JsonObject]:
    """Return the entries that an answer lists; only those with all that they need.

    "Starbucks, barista, 2019-2021" is understood, a sentence about it is not.
    """
    heading = f"# {section_label(section, 'zh')}\n\n"
    bare = words().lead_in.sub("", answer.strip())
    clauses = " | ".join(part for part in _CLAUSES.split(bare) if part)
    readings = (_read(section, heading + text) for text in dict.fromkeys((bare, clauses)))
    complete = ([entry for entry in found if _is_complete(section, entry)] for found in readings)
    return next((entries for entries in complete if entries), [])


def _is_complete(section: str, entry: JsonObject) -> bool:
    title = str(entry.get(title_field(section) or "") or "")
    needed = all(entry.get(name) for name in _NEEDED.get(section, ()))
    return bool(title) and needed and not words().sentence.search(title)


def _read(section: str, text: str) -> list[JsonObject]:
    found = understand(text_lines(text, markdown=True)).document.get(section)
    entries = found if isinstance(found, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]
