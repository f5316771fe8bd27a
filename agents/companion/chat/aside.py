"""Answers to remarks of a child that are unrelated to the current activity."""

import re

from pydantic import JsonValue

from oda.orchestration import SceneTurn

from .answers import say
from .steps import chat
from .talk import Doing, Talk, TalkRequest

_QUESTION = re.compile(
    r"[?？]\s*$|什么|为啥|怎么|谁|哪|多少|几[个点岁天]|^(?:what|why|how|who|where|when|which|can|do|does|is|are)\b",
    re.IGNORECASE,
)

_HARD = re.compile(
    r"(?:好|太|真|很|有点)难(?![过受])|不容易|好烦|烦死|累死|想死了|太长了"
    r"|\b(?:hard|difficult|tricky|boring|annoying|too long)\b",
    re.IGNORECASE,
)
"""A sigh about the task; what needs a grown-up has been answered before."""


async def aside(
    turn: SceneTurn,
    scene: str,
    question: str | None = None,
    *,
    doubtful: bool = False,
    **details: JsonValue,
) -> Talk:
    """Answer a remark kindly, without leading back to the task; or tell what the child means.

    Args:
        scene: The task in whose middle it is said.
        question: The question whose answer is awaited.
        doubtful: Whether the remark may be that answer.
        details: How the task stands.
    """
    doing = Doing(activity=scene, question=question, doubtful=doubtful, details=details)
    talk = await turn.step(chat, request_of(turn).model_copy(update={"doing": doing}))
    means = talk.means
    if means is not None and means.intent == scene and not means.slots:
        return talk.model_copy(update={"reply": say()("heard", turn.language), "means": None})
    if talk.answered and talk.reply:
        return talk
    said = turn.text[:500]
    name = "hard" if _HARD.search(said) else "no_answer" if _QUESTION.search(said) else "heard"
    return talk.model_copy(update={"reply": say()(name, turn.language)})


def request_of(turn: SceneTurn) -> TalkRequest:
    """Return what the model is told of a message: the talk before it, here and lately elsewhere."""
    recent = [{"said": one.said, "replied": one.replied} for one in turn.recent]
    lately = [{"said": one.said, "replied": one.replied} for one in turn.history]
    return TalkRequest(
        user_input=turn.text,
        session_id=turn.session_id,
        context=recent,
        earlier=[one for one in lately if one not in recent],
        child={name: turn.user[name] for name in ("name", "grade") if turn.user.get(name)},
        pending_switch=turn.pending,
        language=turn.language,
    )
