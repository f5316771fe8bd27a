"""Lines of text understood as a JSON Resume, by rules; what cannot be placed is named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from mcp_tools.resume.document import SECTIONS, JsonObject

from .basics import BasicsReader, is_name
from .entries import label_of
from .facts import education, projects, volunteer, work
from .heads import is_place, is_role
from .lines import Line, is_chinese
from .lists import (
    are_languages,
    awards,
    certificates,
    interests,
    is_on_request,
    languages,
    publications,
    references,
    section_of_group,
    skills,
)
from .sections import Block, size_of, split

_READERS: Mapping[str, Callable[[Sequence[Line]], list[JsonObject]]] = MappingProxyType(
    {
        "work": work,
        "volunteer": volunteer,
        "education": education,
        "projects": projects,
        "skills": skills,
        "languages": languages,
        "interests": interests,
        "awards": awards,
        "certificates": certificates,
        "publications": publications,
        "references": references,
    }
)
_SIDE_SECTIONS = ("skills", "languages", "certificates", "interests")
_WARNINGS = {
    "zh": ("简历中没有合适的位置，未导入：{text}", "无法识别的部分「{title}」未导入：{text}"),
    "en": (
        "Not imported, a resume has no place for it: {text}",
        "The section {title!r} is not known and was not imported: {text}",
    ),
}


@dataclass(frozen=True)
class Understood:
    """A JSON Resume document and what is not in it, in the language of the text."""

    document: JsonObject
    warnings: tuple[str, ...]


def understand(lines: Sequence[Line]) -> Understood:
    """Make a JSON Resume of the lines of a text."""
    blocks = _with_late_name(split(lines))
    sections = _by_section(blocks)
    document: JsonObject = {}
    basics = _basics(blocks)
    summary = [line.text for line in sections.get("summary", [])]
    if found := basics.result(summary):
        document["basics"] = found
    unplaced = [("", text) for text in basics.unplaced]
    for section in SECTIONS:
        entries = (
            [entry for entry in _READERS[section](sections[section]) if entry]
            if section in sections and section in _READERS
            else []
        )
        if entries:
            document[section] = list(entries)
    _name_employers(document)
    unplaced += [
        ("", line.text) for line in sections.get("references", []) if is_on_request(line.text)
    ]
    unplaced += [(block.title, text) for block in blocks if (text := _left_over(block))]
    return Understood(document, _warnings(unplaced, is_chinese(line.text for line in lines)))


def _left_over(block: Block) -> str:
    """Return the lines under a heading that is not known in resumes."""
    if block.section not in ("", "other"):
        return ""
    return " / ".join(line.text for line in block.lines if not section_of_group(line.text, ""))


def _with_late_name(blocks: Sequence[Block]) -> list[Block]:
    """Find the name where a column at the side was read first: below its lists, above a role."""
    found: list[Block] = []
    top = [line for block in blocks if block.section == "basics" for line in block.lines]
    looking = not any(is_name(line.text) or label_of(line.text, "basics") for line in top)
    for block in blocks:
        start = _late_name(block) if looking and block.section in _SIDE_SECTIONS else 0
        if start:
            found.append(block._replace(lines=block.lines[:start]))
            found.append(Block("basics", "", block.lines[start:]))
            looking = False
        else:
            found.append(block)
    return found


def _late_name(block: Block) -> int:
    for index, (line, below) in enumerate(pairwise(block.lines)):
        if (
            index
            and line.gap
            and is_name(line.text)
            and (is_role(below.text) or is_place(below.text))
        ):
            return index
    return 0


def _basics(blocks: Sequence[Block]) -> BasicsReader:
    reader = BasicsReader()
    own = [block for block in blocks if block.section == "basics"]
    for block in sorted(own, key=lambda block: -max(size_of(line.style) for line in block.lines)):
        reader.read(block.lines)
    for block in blocks:
        if block.section == "label":
            reader.read(
                [
                    Line(f"求职意向：{line.text}") if index == 0 and "：" not in line.text else line
                    for index, line in enumerate(block.lines)
                ]
            )
    return reader


def _name_employers(document: JsonObject) -> None:
    """Set the employer of projects whose text begins with the employer's name."""
    jobs, projects = document.get("work"), document.get("projects")
    if not (isinstance(jobs, list) and isinstance(projects, list)):
        return
    employers = {job.get("name") for job in jobs if isinstance(job, dict)}
    for project in projects:
        if not isinstance(project, dict) or "entity" in project:
            continue
        first, _, rest = str(project.get("description") or "").partition("\n")
        if first and first in employers:
            project["entity"] = first
            project["description"] = rest
            if not rest:
                del project["description"]


def _by_section(blocks: Sequence[Block]) -> dict[str, list[Line]]:
    """Gather the lines of each section; lists of skills may hold other sections in a line."""
    gathered: dict[str, list[Line]] = {}
    for block in blocks:
        for line in block.lines:
            section = block.section
            if section in ("", "other", *_SIDE_SECTIONS):
                section = section_of_group(line.text, section)
            if section != block.section:
                line = line._replace(text=line.text.replace("：", ":").partition(":")[2].strip())
            gathered.setdefault(section, []).append(line)
    spoken = any(are_languages(line.text) for line in gathered.get("languages", []))
    if {"languages", "skills"} <= gathered.keys() and not spoken:
        gathered["skills"] += gathered.pop("languages")
    return gathered


def _warnings(unplaced: Sequence[tuple[str, str]], chinese: bool) -> tuple[str, ...]:
    plain, titled = _WARNINGS["zh" if chinese else "en"]
    return tuple(
        titled.format(title=title, text=text or "-") if title else plain.format(text=text)
        for title, text in unplaced
    )
