"""Errors of a document or a file as problems of the API."""

from collections.abc import Mapping

from mcp_tools.resume import InvalidDocumentError, Language, ResumeError, VersionConflictError
from oda.server import Refusal

_STATUS: Mapping[str, int] = {
    "version_conflict": 409,
    "file_too_large": 413,
    "unknown_file_type": 415,
    "export_not_installed": 501,
    "export_no_font": 501,
    "reader_missing": 501,
    "reader_unconfined": 501,
}
"""HTTP status by the error's code; 422 for all others."""


def refusal(error: ResumeError, language: Language | None, *, field: str) -> Refusal:
    """The problem that tells a client of an error.

    Args:
        field: What the client has sent that is wrong, for a 422.
    """
    message = error.message(language or "en")
    status = _STATUS.get(error.code, 422)
    details: dict[str, object] = {}
    if isinstance(error, VersionConflictError):
        details = {
            "version": error.details["actual"],
            "expected_version": error.details["expected"],
        }
    if isinstance(error, InvalidDocumentError) and error.details.get("path"):
        field = f"{field}.{error.details['path']}"
    errors = [{"field": field, "message": message}] if status == 422 else None
    return Refusal(status, message, code=error.code, errors=errors, details=details)
