"""Merges the stored history of a turn with the notices that its clients were sent."""

from collections.abc import Sequence

from google.adk.events import Event

from oda.agent.notices import is_notice


def as_shown(
    history: Sequence[Event], streamed: Sequence[Event], invocation_id: str
) -> list[Event]:
    """Return the history with a turn's notices at the position they had in its stream.

    Events that ADK has stored for failed attempts are left out, since they were never streamed.

    Args:
        history: All stored events of the session, in order.
        streamed: The complete events of the turn's log, in order.
        invocation_id: The turn's id.
    """
    known = {event.id for event in streamed}
    shown = [
        event
        for event in history
        if not (event.invocation_id == invocation_id and _is_failure(event, known))
    ]
    positions = (n for n, event in enumerate(shown) if event.invocation_id == invocation_id)
    place = next(positions, len(shown))
    for event in streamed:
        if is_notice(event):
            place = _after_earlier(shown, place, event, known)
            shown.insert(place, event)
            place += 1
        else:
            place = next((n + 1 for n, e in enumerate(shown) if e.id == event.id), place)
    return shown


def _is_failure(event: Event, known: set[str]) -> bool:
    return event.error_code is not None and event.content is None and event.id not in known


def _after_earlier(shown: Sequence[Event], place: int, notice: Event, known: set[str]) -> int:
    """Return the position after events of the turn that precede a notice but were not streamed.

    The user's message is such an event.
    """
    while place < len(shown):
        event = shown[place]
        of_turn = event.invocation_id == notice.invocation_id and event.id not in known
        if not of_turn or event.timestamp > notice.timestamp:
            break
        place += 1
    return place
