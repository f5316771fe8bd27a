"""Conversion of a turn's events to the progress reported to clients. Pure."""

from google.adk.events import Event

from oda.agent.notices import RETRY_ATTEMPT, is_notice
from oda.agent.resume import text_of
from oda.orchestration.orchestrator import STEP_KEY
from oda.orchestration.response import RESPONSE_KEY, Response
from oda.server.orchestrator.wire import Progress, Retrying, StepEnded, Words
from oda.turn.record import Turn


def progress_of(event: Event, turn: Turn) -> Progress | None:
    """Return the progress that an event reports; None if it reports none."""
    told = event.custom_metadata or {}
    of_turn = {"turn_id": turn.turn_id, "session_id": turn.session_id}
    if is_notice(event) and event.error_code == RETRY_ATTEMPT:
        return Retrying.model_validate({**told, **of_turn})
    if event.partial and (text := text_of(event)):
        return Words(text=text, **of_turn)
    if step := told.get(STEP_KEY):
        return StepEnded.model_validate({**step, **of_turn, "step": step["name"]})
    return None


def response_in(event: Event) -> Response | None:
    """The response that an event carries."""
    told = (event.custom_metadata or {}).get(RESPONSE_KEY)
    return None if told is None else Response.model_validate(told)
