"""Progress reports of a running tool call or step.

A report is a partial ADK event without content, so it reaches clients and is not stored in any
session; its data is in the event's metadata under `PROGRESS`.
"""

from typing import Any

from google.adk.events import Event

PROGRESS = "oda_progress"


def progress_event(
    said: dict[str, Any], *, author: str, invocation_id: str, branch: str | None = None
) -> Event:
    """Build a progress event. Consecutive texts under the key `text` may be joined."""
    return Event(
        author=author,
        invocation_id=invocation_id,
        branch=branch,
        partial=True,
        custom_metadata={PROGRESS: said},
    )


def progress_of(event: Event) -> dict[str, Any] | None:
    """Return the progress data of an event; None for other events."""
    said = (event.custom_metadata or {}).get(PROGRESS) if event.partial else None
    return said if isinstance(said, dict) else None


def merged_progress(before: Event, event: Event) -> Event | None:
    """Two pieces of one text as one piece; None when they cannot be that."""
    first, second = progress_of(before), progress_of(event)
    if first is None or second is None or "text" not in first:
        return None
    text = f"{first['text']}{second.get('text', '')}"
    if {**second, "text": first["text"]} != first or before.author != event.author:
        return None
    return event.model_copy(update={"custom_metadata": {PROGRESS: {**second, "text": text}}})
