"""Answers to remarks of a child that are unrelated to the current activity."""

from collections.abc import Mapping

from pydantic import JsonValue

from oda.orchestration import SceneTurn

from .steps import chat
from .talk import TalkRequest


async def aside(turn: SceneTurn, going_on: Mapping[str, JsonValue]) -> str | None:
    """Answer the remark; return None if there is no answer.

    Args:
        going_on: The current activity of the child, for the model.
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
