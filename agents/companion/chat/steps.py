"""The steps of the chat: talk, ask what is meant, tell whether a question was agreed to."""

from pydantic import BaseModel

from oda.message.language import Language
from oda.orchestration import StepContext, step
from oda.orchestration.guardrails import Answer

from ..prompts import instruction
from ..rules import agreement_in
from ..safety.answers import for_a_child
from ..safety.concerns import concern_in
from ..safety.looking_after import LookAfterRequest, look_after
from .answers import UNCLEAR, answer_to, say, small_talk
from .talk import Talk, TalkRequest
from .talking import scene_title, talk_with_model


def _suggested(language: Language, name: str = "suggestions") -> list[str]:
    return list(say().choices(name, language))


def _lost_for_words(request: TalkRequest, context: StepContext, error: Exception) -> Talk:
    language = request.answered_in
    return Talk(
        reply=say()("lost_for_words", language),
        suggested_actions=_suggested(language),
        answered=False,
    )


@step("chat", timeout_s=25.0, retry=None, fallback=_lost_for_words)
async def chat(request: TalkRequest, context: StepContext) -> Talk:
    """Talk with a child, who may ask for the date, the schedule, a poem or progress.

    A failure is left to the turn, which tries again as it does everywhere; the fallback answers
    when it gives up.
    """
    language = request.answered_in
    if (help_ := await _looked_after(request, context)) is not None:
        return help_
    if context.has_model:
        return await talk_with_model(request, context)
    doubtful = request.doing is not None and request.doing.doubtful
    phrase = None if doubtful else small_talk().find(request.user_input)
    if phrase is not None and phrase.topic == UNCLEAR:
        return _which(language)
    if phrase is not None:
        reply = await answer_to(phrase, context, language)
    else:
        reply = say()("not_understood", language)
    if request.pending_switch is not None:
        reply += say()("pending_kept", language, scene=scene_title(request.pending_switch, request))
    return Talk(reply=reply, suggested_actions=_suggested(language), answered=phrase is not None)


async def _looked_after(request: TalkRequest, context: StepContext) -> Talk | None:
    """Answer a message in trouble that comes to a step by itself, past the watch over sessions."""
    if context.session_id is not None or concern_in(request.user_input) is None:
        return None
    told = LookAfterRequest(
        user_input=request.user_input,
        session_id=request.session_id,
        language=request.answered_in,
    )
    return Talk(reply=(await look_after(told, context)).response.reply)


def _which(language: Language) -> Talk:
    return Talk(
        reply=say()("clarify", language),
        suggested_actions=_suggested(language, "choices"),
        unclear=True,
    )


def _ask_plainly(request: TalkRequest, context: StepContext, error: Exception) -> Talk:
    return _which(request.answered_in)


@step("clarify", timeout_s=10.0, fallback=_ask_plainly)
async def clarify(request: TalkRequest, context: StepContext) -> Talk:
    """Ask a child what it wants."""
    if (help_ := await _looked_after(request, context)) is not None:
        return help_
    plain = _which(request.answered_in)
    if not context.has_model:
        return plain
    question = await context.write(instruction("clarify"), request.user_input)
    reply = for_a_child(question.strip(), request.answered_in)
    return plain.model_copy(update={"reply": reply})


class _Confirmed(BaseModel):
    decision: Answer


def _cannot_tell(request: TalkRequest, context: StepContext, error: Exception) -> Talk:
    return _decided("unclear", request)


@step("confirm-handoff", timeout_s=6.0, fallback=_cannot_tell)
async def confirm_handoff(request: TalkRequest, context: StepContext) -> Talk:
    """Tell whether a child agrees to what it was asked about."""
    decision = agreement_in(request.user_input)
    if decision == "unclear" and context.has_model and request.pending_switch is not None:
        told = instruction("confirm", target=request.pending_switch.target)
        decision = (await context.ask(told, request.user_input, _Confirmed)).decision
    return _decided(decision, request)


def _decided(decision: Answer, request: TalkRequest) -> Talk:
    language = request.answered_in
    scene = scene_title(request.pending_switch, request)
    name = {"confirm": "confirmed", "deny": "denied", "unclear": "unclear_answer"}[decision]
    return Talk(
        reply=say()(name, language, scene=scene),
        suggested_actions=_suggested(language, "yes_no") if decision == "unclear" else [],
        decision=decision,
    )
