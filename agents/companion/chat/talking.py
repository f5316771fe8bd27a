"""Talk with a model: one call that answers, or tells what the child means instead."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from google.adk.agents import LlmAgent
from google.genai.types import Part

from oda import configured_model
from oda.errors import NoContentError
from oda.orchestration import Classification, PendingSwitch, StepContext
from oda.orchestration.rules import EXIT
from oda.telemetry import get_logger

from ..prompts import instruction
from ..safety.answers import for_a_child, unsafe_kind
from ..safety.looking_after import say as say_safely
from ..safety.speaking import Speaking, UnsafeWordsError, is_data
from .answers import say
from .knowledge import Knowledge
from .known import known_of
from .talk import Talk, TalkRequest, said_before

log = get_logger(__name__)

Activity = Literal["recite", "homework", "practice", "chat", "stop"]
_LONGEST = 200
"""Characters of what a tool is told."""


async def talk_with_model(
    request: TalkRequest, context: StepContext, pictures: list[Part] | None = None
) -> Talk:
    """Answer a child in a model's words, released as they come, or find out what it means.

    Raises:
        NoContentError: the model has said nothing that a child can be told.
    """
    language, found = request.answered_in, _Found()
    knowledge = Knowledge(context)
    told = instruction(
        "talk",
        language="Chinese" if language == "zh" else "English",
        now=f"{context.now:%A, %Y-%m-%d %H:%M}",
        known=_with_pending(await known_of(request, context), request.pending_switch, request),
    )
    agent = LlmAgent(
        name="companion_chat",
        model=configured_model(context.model),
        instruction=lambda _: told,
        tools=[
            knowledge.schedule_of_day,
            knowledge.find_poem,
            knowledge.learning_progress,
            *found.tools(answers=request.doing is not None and request.doing.question is not None),
        ],
    )
    said = [Part(text=request.user_input), *pictures] if pictures else request.user_input
    speaking = Speaking(context.say)
    try:
        reply = await context.consult(
            agent, said, said_before(request.context), hears=speaking, until=found.is_settled
        )
    except UnsafeWordsError:
        log.warning("companion_answer_withheld", while_speaking=True)
        return Talk(reply=say_safely()("withheld", language))
    if found.means is not None or found.answer is not None:
        return Talk(reply="", means=found.means, answer=found.answer)
    reply = (found.question or reply).strip()
    if is_data(reply):
        raise NoContentError("The model has answered in a notation for programs.")
    return Talk(
        reply=for_a_child(reply, language),
        suggested_actions=[
            *say().choices("choices" if found.question else "suggestions", language)
        ],
        unclear=found.question is not None,
    )


@dataclass
class _Found:
    """What the model finds out by its tools in place of an answer."""

    means: Classification | None = None
    answer: str | None = None
    question: str | None = field(default=None)

    def is_settled(self) -> bool:
        return any(one is not None for one in (self.means, self.answer, self.question))

    def tools(self, *, answers: bool) -> list[Callable[..., Any]]:
        def go_to(
            activity: Activity, sure: int, title: str = "", author: str = "", work: str = ""
        ) -> str:
            """Go over to what the child wants to do instead of talking on. Say nothing else.

            Args:
                activity: recite a text, check homework, practice mistakes, chat, or stop the task.
                sure: How sure you are, 0 to 100: 75 and more if the child clearly says so; less
                    and the child is asked first.
                title: The text to recite, if the child names or describes one.
                author: Its author, if the child names one.
                work: The homework itself, if it stands in the message.
            """
            slots = {"title": title, "author": author, "work": work}
            self.means = Classification(
                intent=EXIT if activity == "stop" else activity,
                score=max(0, min(100, sure)),
                slots={name: text for name, told in slots.items() if (text := _harmless(told))},
                reason="told by the model that talks",
            )
            return "done"

        def ask_what_is_meant(question: str) -> str:
            """Ask the child what it wants, if you cannot tell. Say nothing else.

            Args:
                question: One short, friendly question in the child's language.
            """
            self.question = question or None
            return "done"

        def take_answer(answer: str) -> str:
            """Take what the child says as its answer to the question that is open.

            Args:
                answer: The answer alone, in the child's own words.
            """
            self.answer = _harmless(answer) or None
            return "done"

        return [go_to, ask_what_is_meant, *([take_answer] if answers else [])]


def _harmless(told: str) -> str:
    told = told.strip()[:_LONGEST]
    return told if unsafe_kind(told) is None else ""


def _with_pending(known: str, pending: PendingSwitch | None, request: TalkRequest) -> str:
    if pending is None:
        return known
    scene = scene_title(pending, request)
    return f"{known}\nThe child was just asked whether it wants to do this: {scene}."


def scene_title(pending: PendingSwitch | None, request: TalkRequest) -> str:
    """Return the title of a scene; its name if the chat does not know the scene."""
    target = "chat" if pending is None else pending.target
    try:
        return say()(target, request.answered_in)
    except KeyError:
        return target
