"""The single event that answers a turn: it carries the answer and the new state."""

from uuid import uuid4

from google.adk.events import Event, EventActions
from google.genai.types import Content, Part
from pydantic import BaseModel

from oda.orchestration.asking import question_part
from oda.orchestration.classification import Classification
from oda.orchestration.exchanges import HISTORY_KEY, Exchange, remembered
from oda.orchestration.guardrails import Decision
from oda.orchestration.response import RESPONSE_KEY, TRACE_KEY, Reply, Response, content_of
from oda.orchestration.rules import OrchestrationRules
from oda.orchestration.state import STATE_KEY, USER_PREFIX, OrchestrationState, Reset
from oda.orchestration.turn_at_hand import TurnAtHand
from oda.orchestration.user_input import UserInput
from oda.orchestration.workflow import SceneTurn


class TurnRecord(BaseModel):
    """Record of how a turn's answer was found; stored with the event for inspection."""

    classification: Classification
    decision: Decision
    resets: tuple[Reset, ...] = ()


def answer_event(
    turn: TurnAtHand,
    scene_turn: SceneTurn,
    reply: Reply,
    after: OrchestrationState,
    record: TurnRecord,
    said: UserInput,
    rules: OrchestrationRules,
) -> Event:
    """Make the event of a reply."""
    problem = reply.problem or next(iter(said.problems), None)
    response = Response(
        success=reply.problem is None,
        content=content_of(reply, spoken=said.spoken),
        session_id=turn.session_id,
        scene=after.active_scene,
        phase=after.scene_state.phase,
        suggested_actions=list(reply.suggested_actions),
        need_tts=said.spoken,
        device_actions=[dict(action) for action in reply.device_actions],
        error=problem,
        timestamp=turn.now,
    )
    latest = Exchange(
        scene=record.decision.scene,
        said=scene_turn.text,
        replied=reply.text,
        at=turn.now,
    )
    parts, call_id = [Part(text=reply.text)], uuid4().hex
    if reply.asks is not None:
        parts.append(question_part(reply.asks, call_id))
    return Event(
        content=Content(role="model", parts=parts),
        long_running_tool_ids={call_id} if reply.asks is not None else None,
        actions=EventActions(
            state_delta={
                STATE_KEY: after.model_dump(mode="json"),
                HISTORY_KEY: remembered(scene_turn.history, latest, rules),
                **{f"{USER_PREFIX}{name}": value for name, value in reply.user.items()},
            }
        ),
        custom_metadata={
            RESPONSE_KEY: response.model_dump(mode="json"),
            TRACE_KEY: record.model_dump(mode="json"),
        },
    )
