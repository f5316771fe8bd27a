"""The desk at which a resume is edited: the shared implementation of the tools.

The docstrings of `ResumeDesk` are the descriptions of the tools CVReader, CVEditor and CVUndo that
models are given, by the agent as well as by the MCP server.
"""

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pydantic import JsonValue

from .document import Resume
from .edit import Action, check_version, edit, read
from .errors import ResumeError
from .history import EditRecord, record, undo
from .labels import Language
from .limits import MAX_CHARACTERS

Answer = dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class HeldResume(Protocol):
    """A resume as its store holds it out; what is set here is what the store keeps."""

    resume: Resume
    history: list[EditRecord]

    @property
    def language(self) -> Language:
        """The language of error messages."""
        ...


class ResumeDesk:
    """Reads and changes one resume. Nothing raises for what a caller has done wrong.

    Args:
        held: The resume.
        expected_version: Refuse to change another version than this.
    """

    def __init__(self, held: HeldResume, *, expected_version: int | None = None) -> None:
        self._held = held
        self._expected = expected_version

    def read(self, path: str) -> Answer:
        """Reads a section, an entry or a field of the user's resume (JSON Resume).

        Args:
            path: What to read: "work", "work[0]", "work[0].position", "basics.name"; "" for all
                of it.

        Returns:
            {"success": true, "path", "value"}, or {"success": false, "path", "error"}.
        """
        return self._answered(path, lambda: (path, read(self._held.resume, path)))

    def edit(self, path: str, action: Action, value: JsonValue = None) -> Answer:
        """Edits the user's resume (JSON Resume).

        Args:
            path: Where: "work" to add a job, "work[0]" or "work[0].position" to change one,
                "basics.name", "skills".
            action: "add" appends an entry to a section, "update" sets a field or merges the fields
                of an entry, "delete" takes an entry or a field away.
            value: The entry, as an object with JSON Resume's field names, or the value of the
                field. Dates are "2021", "2021-07" or "2021-07-01"; leave endDate out for
                "until now".

        Returns:
            {"success": true, "path", "value"}, or {"success": false, "path", "error"}.
        """

        def change() -> tuple[str, JsonValue]:
            self._check_version()
            edited = edit(self._held.resume, path, action, _decoded(value))
            self._held.history = record(self._held.history, edited)
            self._held.resume = edited.resume
            return edited.path, edited.value

        return self._answered(path, change)

    def undo(self) -> Answer:
        """Takes back the last edit of the user's resume; can be called several times.

        Returns:
            {"success": true, "path", "undone": the action taken back}, or
            {"success": false, "error"}.
        """
        taken: dict[str, str] = {}

        def take_back() -> tuple[str, JsonValue]:
            self._check_version()
            undone = undo(self._held.resume, self._held.history)
            self._held.history = undone.history
            self._held.resume = undone.resume
            taken["undone"] = undone.record["action"]
            return undone.record["path"], None

        return self._answered("", take_back) | taken

    def _check_version(self) -> None:
        if self._expected is not None:
            check_version(self._held.resume, self._expected)

    def _answered(self, path: str, operation: Callable[[], tuple[str, JsonValue]]) -> Answer:
        try:
            where, value = operation()
        except ResumeError as error:
            return refusal(error, self._held.language, path=path)
        return {"success": True, "path": where, "value": value}


def refusal(error: ResumeError, language: Language, *, path: str = "") -> Answer:
    """Return the answer of a tool for an error, in the user's language."""
    return {
        "success": False,
        "path": path,
        "value": None,
        "error": error.message(language),
        "code": error.code,
    }


def described_by(source: Callable[..., Any]) -> Callable[[Function], Function]:
    """Give a tool the docstring of what it calls."""

    def described(function: Function) -> Function:
        function.__doc__ = source.__doc__
        return function

    return described


def _decoded(value: JsonValue) -> JsonValue:
    """Models sometimes send an object as its JSON text."""
    is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
    if isinstance(value, str) and is_json and len(value) <= MAX_CHARACTERS:
        try:
            decoded: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded
    return value
