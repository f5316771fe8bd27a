"""Another document in the place of the resume: one edit, which can be undone like any other."""

from typing import Any

from mcp_tools.resume import Resume, check_version, exchange, record

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
    edited = exchange(resume, given)
    memory.history = record(memory.history, edited)
    memory.resume = edited.resume
    memory.pending = tuple(item for item in memory.pending if isinstance(item, PendingEntry))
    changes = {key: value for key, value in after.items() if state.get(key) != value}
    return changes, edited.resume.version
