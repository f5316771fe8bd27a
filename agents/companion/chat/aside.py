"""What a child says by the way, in the middle of something else."""

from collections.abc import Mapping

from pydantic import JsonValue

from oda.orchestration import SceneTurn

from .steps import chat
from .talk import TalkRequest


async def aside(turn: SceneTurn, going_on: Mapping[str, JsonValue]) -> str | None:
    """Answer it; None where nobody has an answer.

    Args:
        going_on: What the child is doing, for the model.
    """
    request = TalkRequest(
        user_input=turn.text,
        session_id=turn.session_id,
        context=dict(going_on),
        pending_switch=turn.pending,
        language=turn.language,
    )
    talk = await turn.step(chat, request)
    return talk.reply if talk.answered else None
