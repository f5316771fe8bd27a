"""The desk at which a resume is edited: the shared implementation of the tools.

The docstrings of `ResumeDesk` are the descriptions of the tools CVReader, CVEditor and CVUndo that
models are given, by the agent as well as by the MCP server.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import JsonValue

from .batch import BatchError, Edit, edit_all
from .document import Resume
from .edit import Action, Edited, check_version, read
from .errors import NotAloneError, ResumeError
from .history import EditRecord, record, undo
from .labels import Language

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
        goes_on: The edits are undone together with the last one of the history.
    """

    def __init__(
        self,
        held: HeldResume,
        *,
        expected_version: int | None = None,
        goes_on: bool = False,
    ) -> None:
        self._held = held
        self._expected = expected_version
        self._goes_on = goes_on

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
                "until now". To move: the new index, counted from 0; or, for a whole section, all
                the indices of its entries in their new order.

        Returns:
            {"success": true, "path", "value"}, or {"success": false, "path", "error"}.
        """

        return self.edit_all([Edit(path, action, value)])[0]

    def edit_all(self, edits: Sequence[Edit]) -> list[Answer]:
        """Make several edits, all or none; return the answer to each."""
        language = self._held.language
        try:
            self._check_version()
            done = edit_all(self._held.resume, edits)
        except BatchError as failed:
            return [
                refusal(failed.error, language, path=one.path)
                if number == failed.number
                else refusal(
                    NotAloneError(reason=failed.error.message(language)), language, path=one.path
                )
                for number, one in enumerate(edits)
            ]
        except ResumeError as error:
            return [refusal(error, language, path=one.path) for one in edits]
        self._keep(done)
        return [{"success": True, "path": one.path, "value": one.value} for one in done]

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

    def _keep(self, edits: Sequence[Edited]) -> None:
        history = self._held.history
        for number, edited in enumerate(edits):
            history = record(history, edited, with_last=self._goes_on or number > 0)
        self._held.history = history
        self._held.resume = edits[-1].resume

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
