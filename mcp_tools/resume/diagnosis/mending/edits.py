"""Proposed edits, in the form that the editor of resumes takes."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume.document import Resume
from mcp_tools.resume.edit import Action, edit, read


class ProposedEdit(BaseModel):
    """One call of `edit(resume, path, action, value)`; several are made one after the other."""

    model_config = ConfigDict(frozen=True)

    path: str
    action: Action
    value: JsonValue = None


def apply_edits(resume: Resume, edits: Iterable[ProposedEdit]) -> Resume:
    """Return the resume after all of the edits.

    Raises:
        ResumeError: one of them cannot be made; nothing has happened then.
    """
    for proposed in edits:
        resume = edit(resume, proposed.path, proposed.action, proposed.value).resume
    return resume


def replaced(resume: Resume, changes: Iterable[tuple[str, str, str]]) -> list[ProposedEdit]:
    """Replace parts of texts: `(path, old, new)`, each path in one edit."""
    texts: dict[str, str] = {}
    for path, old, new in changes:
        text = texts.get(path) or text_at(resume, path)
        texts[path] = text.replace(old, new, 1)
    return [ProposedEdit(path=path, action="update", value=text) for path, text in texts.items()]


def added_lines(entry: str, lines: Sequence[str]) -> list[ProposedEdit]:
    """Add highlights to the entry at a path."""
    return [ProposedEdit(path=f"{entry}.highlights", action="add", value=list(lines))]


def text_at(resume: Resume, path: str) -> str:
    """Return the text at a path; "" if there is none."""
    found = read(resume, path)
    return found if isinstance(found, str) else ""
