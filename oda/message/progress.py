"""What is told of a tool call or a step while it is at work.

It travels as a partial ADK event without content, so it reaches clients and is stored in no
session; what is said stands under `PROGRESS` in the event's metadata.
"""

from typing import Any

from google.adk.events import Event

PROGRESS = "oda_progress"


def progress_event(
    said: dict[str, Any], *, author: str, invocation_id: str, branch: str | None = None
) -> Event:
    """Tell something. A text under `text` that goes on with the one before may be put together
    with it."""
    return Event(
        author=author,
        invocation_id=invocation_id,
        branch=branch,
        partial=True,
        custom_metadata={PROGRESS: said},
    )


def progress_of(event: Event) -> dict[str, Any] | None:
    """What is told by an event; None where it is another kind of event."""
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
