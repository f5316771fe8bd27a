"""The context given to the model: an outline of the resume, unfinished business, the language.

It is placed before the person's latest words, so that everything before it, beginning with the
instruction and the tools, stays the same from call to call and can be cached.
"""

import json
from collections.abc import Iterator, Sequence

from google.genai.types import Content, Part
from pydantic import JsonValue

from mcp_tools.resume import SECTIONS, JsonObject, Language, Resume

from .changes import without_changes
from .dialogue.pending import Pending, PendingEntry
from .dialogue.phrases import entry_line
from .window import current_turn

_LANGUAGES: dict[Language, str] = {"zh": "Chinese", "en": "English"}
_MOST_ENTRIES = 30
_LONGEST_LINE = 120


def briefing(
    resume: Resume, pending: Sequence[Pending], language: Language, files: Sequence[str] = ()
) -> str:
    """The outline of a resume with its paths, what is unfinished, files, the language to speak."""
    outline = list(_outline(resume)) or ["(the resume is empty)"]
    lines = ["<resume-outline>", *outline, "</resume-outline>"]
    for item in pending:
        if isinstance(item, PendingEntry):
            data = json.dumps(item.data, ensure_ascii=False)
            missing = ", ".join(item.missing_fields)
            lines.append(f"Unfinished: add to {item.section} {data}; still needed: {missing}.")
    if files:
        lines.append(f"Files of this conversation: {', '.join(files[:_MOST_ENTRIES])}.")
    lines.append(f"The person speaks {_LANGUAGES[language]}. Their message:")
    return "\n".join(lines)


def briefed(contents: Sequence[Content], text: str) -> list[Content]:
    """Return contents with a briefing before the person's latest words.

    The lists of changes that stand under earlier replies are taken out: they are ours to write.
    """
    told = [_without_changes(content) for content in contents]
    index = current_turn(told)
    latest = told[index] if told else Content(role="user", parts=[])
    parts = [Part(text=text), *(latest.parts or [])]
    if latest.role != "user":
        return [*told, Content(role="user", parts=parts[:1])]
    return [*told[:index], Content(role="user", parts=parts), *told[index + 1 :]]


def _outline(resume: Resume) -> Iterator[str]:
    document = resume.to_json()
    for name, value in document.items():
        if name == "meta" or value in (None, "", [], {}):
            continue
        if name == "basics" and isinstance(value, dict):
            yield from (f"basics.{field}: {_brief(item)}" for field, item in value.items() if item)
        elif isinstance(value, list) and name in SECTIONS:
            yield from _entries(name, value)
        else:
            yield f"{name}: {_brief(value)}"


def _entries(section: str, entries: Sequence[JsonValue]) -> Iterator[str]:
    for index, entry in enumerate(entries[:_MOST_ENTRIES]):
        fields: JsonObject = entry if isinstance(entry, dict) else {}
        rest = [name for name, value in fields.items() if isinstance(value, list) and value]
        rest += [name for name in ("summary", "description") if fields.get(name)]
        more = f" (+ {', '.join(rest)})" if rest else ""
        yield f"{section}[{index}]: {_brief(entry_line(section, fields, 'en'))}{more}"
    if len(entries) > _MOST_ENTRIES:
        yield f"{section}: {len(entries) - _MOST_ENTRIES} more"


def _brief(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _without_changes(content: Content) -> Content:
    parts = content.parts or []
    if content.role != "model" or not any(part.text for part in parts):
        return content
    stripped = [
        part.model_copy(update={"text": without_changes(part.text) or part.text})
        if part.text
        else part
        for part in parts
    ]
    return Content(role="model", parts=stripped)
