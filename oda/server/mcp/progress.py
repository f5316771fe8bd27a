"""Conversion of a turn's log to the words of progress notifications. Pure."""

from google.adk.events import Event

from oda.agent.notices import RETRY_ATTEMPT, is_notice
from oda.agent.outcome import INPUT
from oda.message.progress import progress_of
from oda.orchestration.orchestrator import STEP_KEY
from oda.session.answers import CONFIRMATION
from oda.turn.record import Turn

_MOST_CHARS = 200


def told(data: Turn | Event) -> str | None:
    """Return what an entry or a preview of a log says to somebody who waits; None for nothing."""
    text = _of_turn(data) if isinstance(data, Turn) else _of_event(data)
    if not text:
        return None
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"


def _of_turn(turn: Turn) -> str | None:
    if turn.status == "queued":
        return f"The turn {turn.turn_id} waits for its time."
    if turn.status == "running":
        return f"The turn {turn.turn_id} runs."
    return None


def _of_event(event: Event) -> str | None:
    metadata = event.custom_metadata or {}
    if is_notice(event):
        return _retry(metadata) if event.error_code == RETRY_ATTEMPT else None
    if event.partial:
        said = progress_of(event) or {}
        named = said.get("message") or said.get("text") or said.get("step")
        return named if isinstance(named, str) else None
    if step := metadata.get(STEP_KEY):
        return f"The step {step['name']} has ended."
    calls = [call.name for call in event.get_function_calls()]
    if asked := [name for name in calls if name and name not in (CONFIRMATION, INPUT)]:
        return f"Calls {', '.join(asked)}."
    answered = [one.name for one in event.get_function_responses() if event.author != "user"]
    if names := [name for name in answered if name and name not in (CONFIRMATION, INPUT)]:
        return f"{', '.join(names)} answered."
    return None


def _retry(metadata: dict[str, object]) -> str:
    error = metadata.get("error")
    cause = error.get("code") if isinstance(error, dict) else None
    return (
        f"Retry attempt {metadata.get('attempt')}/{metadata.get('max_retries')}"
        f" in {metadata.get('delay_s')} s, because of {cause}."
    )
