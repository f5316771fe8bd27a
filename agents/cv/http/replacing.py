"""Another document in the place of the resume: one edit, which can be undone like any other."""

from typing import Any

from mcp_tools.resume import JsonObject, Resume, check_version, diff, load_resume, record
from mcp_tools.resume.edit import Edited, bump_version

from ..dialogue.pending import PendingEntry
from ..memory import Memory


def replaced(
    state: dict[str, Any], given: Resume, expected_version: int | None
) -> tuple[dict[str, Any], int | None]:
    """The changes of a session's state when a document replaces the resume, and its version then.

    An empty document never replaces a full one: then there are no changes and there is no version.
    Choices that were open go away with the entries that they are between.

    Raises:
        VersionConflictError: the resume is at another version than the expected one.
    """
    after = dict(state)
    memory = Memory(after)
    resume = memory.resume
    if expected_version is not None:
        check_version(resume, expected_version)
    if given.is_empty and not resume.is_empty:
        return {}, None
    edited = _exchange(resume, given)
    memory.history = record(memory.history, edited)
    memory.resume = edited.resume
    memory.pending = tuple(item for item in memory.pending if isinstance(item, PendingEntry))
    changes = {key: value for key, value in after.items() if state.get(key) != value}
    return changes, edited.resume.version


def _exchange(resume: Resume, given: Resume) -> Edited:
    before = _at_version(resume.to_json(), resume.version)
    after = _at_version(given.to_json(), resume.version)
    return Edited(
        resume=load_resume(bump_version(after)),
        path="",
        action="update",
        value=None,
        patch=tuple(diff(before, after)),
        inverse=tuple(diff(after, before)),
    )


def _at_version(document: JsonObject, version: int) -> JsonObject:
    """The document at that version, so that no patch has the version in it, which only grows."""
    meta = document.get("meta")
    return {**document, "meta": {**(meta if isinstance(meta, dict) else {}), "version": version}}
