"""Notices: events that tell the client of a retry or of a turn's end without an answer.

Notices are valid ADK events that are yielded but never stored, so no model sees them.
"""

from typing import Any

from google.adk.events import Event, EventActions
from google.genai.types import Content, Part

from oda.agent.failure import Failure
from oda.errors import UnavailableError

AUTHOR = "system"
RETRY_ATTEMPT = "RETRY_ATTEMPT"
MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"
NON_RETRYABLE_ERROR = "NON_RETRYABLE_ERROR"
CANCELLED = "CANCELLED"

NOTICES = frozenset({RETRY_ATTEMPT, MAX_RETRIES_EXCEEDED, NON_RETRYABLE_ERROR, CANCELLED})


def is_notice(event: Event) -> bool:
    """Return whether an event is a notice rather than an agent's event."""
    return event.author == AUTHOR and event.error_code in NOTICES


def is_final_notice(event: Event) -> bool:
    """Return whether an event is the notice that a turn has ended without an answer."""
    return is_notice(event) and event.error_code != RETRY_ATTEMPT


def final_code(event: Event) -> str | None:
    """Return the error code of a final notice, as in `Turn.error`; None for any other event."""
    if not is_final_notice(event):
        return None
    code: str | None = ((event.custom_metadata or {}).get("error") or {}).get("code")
    return code


def is_store_notice(event: Event) -> bool:
    """Return whether an event is the notice that a turn has failed on an unreachable store."""
    code = final_code(event)
    kind = (event.custom_metadata or {}).get("error_type")
    return code in ("store_unavailable", UnavailableError.code) and kind != "IntegrityError"


def retry_attempt(
    failure: Failure,
    *,
    invocation_id: str,
    retry: int,
    max_retries: int,
    delay_s: float,
    discard_partial: bool,
    timestamp: float,
) -> Event:
    """Return the notice of retry number `retry`, which begins in `delay_s` seconds."""
    text = f"Retry attempt {retry}/{max_retries} for agent execution"
    metadata: dict[str, Any] = {
        "attempt": retry,
        "max_retries": max_retries,
        "delay_s": delay_s,
        "error_type": failure.error_type,
        "error": _error(failure),
    }
    if discard_partial:
        metadata["discard_partial"] = True
    return Event(
        author=AUTHOR,
        invocation_id=invocation_id,
        content=Content(parts=[Part(text=text)]),
        error_code=RETRY_ATTEMPT,
        error_message=text,
        custom_metadata=metadata,
        timestamp=timestamp,
    )


def gave_up(
    failure: Failure,
    *,
    invocation_id: str,
    retries: int,
    retries_exhausted: bool,
    discard_partial: bool,
    timestamp: float,
) -> Event:
    """Return the final notice of a failure after all retries, or of one that is not retryable."""
    metadata: dict[str, Any] = {
        "attempts": retries + 1,
        "error_type": failure.error_type,
        "error": _error(failure),
    }
    if discard_partial:
        metadata["discard_partial"] = True
    return _final(
        MAX_RETRIES_EXCEEDED if retries_exhausted else NON_RETRYABLE_ERROR,
        f"Agent execution failed after {retries} retry attempts"
        if retries_exhausted
        else failure.message,
        invocation_id=invocation_id,
        metadata=metadata,
        timestamp=timestamp,
    )


def cancelled(*, invocation_id: str, timestamp: float) -> Event:
    """Return the final notice of a cancelled turn."""
    return _final(
        CANCELLED,
        "The turn was cancelled",
        invocation_id=invocation_id,
        metadata=None,
        timestamp=timestamp,
    )


def _final(
    code: str,
    message: str,
    *,
    invocation_id: str,
    metadata: dict[str, Any] | None,
    timestamp: float,
) -> Event:
    return Event(
        author=AUTHOR,
        invocation_id=invocation_id,
        error_code=code,
        error_message=message,
        actions=EventActions(escalate=True),
        custom_metadata=metadata,
        timestamp=timestamp,
    )


def _error(failure: Failure) -> dict[str, Any]:
    return {
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
    }
