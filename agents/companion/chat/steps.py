"""The steps of the chat: talk, ask what is meant, tell whether a question was agreed to."""

from google.adk.agents import LlmAgent
from pydantic import BaseModel

from oda import configured_model
from oda.message.language import Language
from oda.orchestration import PendingSwitch, StepContext, step
from oda.orchestration.guardrails import Answer

from ..rules import agreement_in
from .answers import UNCLEAR, answer_to, say, small_talk
from .knowledge import Knowledge
from .talk import Talk, TalkRequest, going_on, said_before

_COMPANION = """\
You are Xiaoban (小伴), a warm and patient learning companion of a child in primary school. You \
are a program and say so when asked. Answer in the child's language, in one to three short \
sentences that a child understands, without lists or headings.
The program around you can do two more things, in scenes of their own: listen to the child \
recite a text by heart, and check homework with hints. To get there the child says "我要背诵" or \
"批改作业", or "let's recite" or "check my homework"; you cannot switch by yourself, so never \
claim that you did.
Use your tools for the date, the schedule, poems and progress; never invent what they can tell. \
Never give away the solution of homework: give a hint. Ask for no names, addresses or other \
private things. When a child is in trouble or in danger, tell it to talk to a parent or a \
teacher now. When you cannot tell what the child wants from you, call wish_is_unclear and then \
ask one short question.
"""

_CLARIFY = """\
A child in primary school wants something from its learning companion, and it is not clear what. \
Ask one short, friendly question in the child's language: whether the companion shall listen to \
it recite, check homework, or chat. Take up what the child said. No lists.
"""

_CONFIRM = """\
A child was asked whether it wants to go over to another activity: {target}. Tell whether what \
the child says now agrees (confirm), refuses (deny), or does neither (unclear).
"""


def _suggested(language: Language, name: str = "suggestions") -> list[str]:
    return list(say().choices(name, language))


def _lost_for_words(request: TalkRequest, context: StepContext, error: Exception) -> Talk:
    language = request.answered_in
    return Talk(
        reply=say()("lost_for_words", language),
        suggested_actions=_suggested(language),
        answered=False,
    )


@step("chat", timeout_s=25.0, fallback=_lost_for_words)
async def chat(request: TalkRequest, context: StepContext) -> Talk:
    """Talk with a child, who may ask for the date, the schedule, a poem or progress."""
    language = request.answered_in
    if context.has_model:
        return await _by_model(request, context, language)
    phrase = small_talk().find(request.user_input)
    if phrase is not None and phrase.topic == UNCLEAR:
        return _which(language)
    if phrase is not None:
        reply = await answer_to(phrase, context, language)
    else:
        reply = say()("not_understood", language)
    if request.pending_switch is not None:
        reply += say()("pending_kept", language, scene=_scene(request.pending_switch, language))
    return Talk(reply=reply, suggested_actions=_suggested(language), answered=phrase is not None)


async def _by_model(request: TalkRequest, context: StepContext, language: Language) -> Talk:
    knowledge = Knowledge(context)
    instruction = _instruction(request, language)
    unclear: list[bool] = []

    def wish_is_unclear() -> str:
        """Note that you cannot tell what the child wants, and are going to ask."""
        unclear.append(True)
        return "Noted. Ask one short question now."

    agent = LlmAgent(
        name="companion_chat",
        model=configured_model(context.model),
        instruction=lambda _: instruction,
        tools=[
            knowledge.current_time,
            knowledge.schedule_of_day,
            knowledge.find_poem,
            knowledge.learning_progress,
            wish_is_unclear,
        ],
    )
    said = await context.consult(agent, request.user_input, said_before(request.context))
    return Talk(
        reply=said.strip(),
        suggested_actions=_suggested(language, "choices" if unclear else "suggestions"),
        unclear=bool(unclear),
    )


def _instruction(request: TalkRequest, language: Language) -> str:
    parts = [_COMPANION]
    if request.pending_switch is not None:
        scene = _scene(request.pending_switch, language)
        parts.append(f"The child was just asked whether it wants to do this: {scene}.")
    if told := going_on(request.context):
        parts.append(f"What is going on:\n{told}")
    return "\n".join(parts)


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
    plain = _which(request.answered_in)
    if not context.has_model:
        return plain
    question = await context.write(_CLARIFY, request.user_input)
    return plain.model_copy(update={"reply": question.strip()})


class _Confirmed(BaseModel):
    decision: Answer


def _cannot_tell(request: TalkRequest, context: StepContext, error: Exception) -> Talk:
    return _decided("unclear", request)


@step("confirm-handoff", timeout_s=6.0, fallback=_cannot_tell)
async def confirm_handoff(request: TalkRequest, context: StepContext) -> Talk:
    """Tell whether a child agrees to what it was asked about."""
    decision = agreement_in(request.user_input)
    if decision == "unclear" and context.has_model and request.pending_switch is not None:
        instruction = _CONFIRM.format(target=request.pending_switch.target)
        decision = (await context.ask(instruction, request.user_input, _Confirmed)).decision
    return _decided(decision, request)


def _decided(decision: Answer, request: TalkRequest) -> Talk:
    language = request.answered_in
    scene = _scene(request.pending_switch, language)
    name = {"confirm": "confirmed", "deny": "denied", "unclear": "unclear_answer"}[decision]
    return Talk(
        reply=say()(name, language, scene=scene),
        suggested_actions=_suggested(language, "yes_no") if decision == "unclear" else [],
        decision=decision,
    )


def _scene(pending: PendingSwitch | None, language: Language) -> str:
    """Return the title of a scene; its name if the chat does not know the scene."""
    target = "chat" if pending is None else pending.target
    try:
        return say()(target, language)
    except KeyError:
        return target
