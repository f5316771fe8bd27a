"""Classification of a message: an intent and a score. It makes no decision.

Rules are tried first and cost nothing; then a model with structured output. There is always a
result: if the model fails, is slow or returns garbage, the message belongs to the active scene.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from oda.orchestration.model_access import StepContext
from oda.orchestration.rules import CONTINUE, EXIT, OrchestrationRules, trimmed
from oda.orchestration.state import MOST_SLOTS, Data, PendingSwitch
from oda.orchestration.step import Step

FAILED = "classification failed"
_LONGEST_COMMAND = 500
"""Maximum length of a command in characters: the time of a regex may grow faster than the text."""


class Classification(BaseModel):
    """An intent, a score from 0 to 100, and further values from the message."""

    model_config = ConfigDict(frozen=True)

    intent: str
    """A scene, `continue_current` or `exit_current`."""
    score: Annotated[int, Field(ge=0, le=100)]
    slots: Annotated[Data, Field(max_length=MOST_SLOTS)] = {}
    reason: str = ""


class ClassifyRequest(BaseModel):
    """A message, and where it was said."""

    user_input: Annotated[str, Field(max_length=20_000)]
    active_scene: Annotated[str, Field(max_length=100)]
    pending_switch: PendingSwitch | None = None


def failed(request: ClassifyRequest, context: StepContext, error: Exception) -> Classification:
    """Return the classification of a message if the model has failed."""
    return Classification(intent=CONTINUE, score=50, reason=FAILED)


def by_rules(text: str, rules: OrchestrationRules) -> Classification | None:
    """The first command whose words the whole message is."""
    said = trimmed(text)
    if len(said) > _LONGEST_COMMAND:
        return None
    for command, pattern in rules.compiled_commands:
        if found := pattern.fullmatch(said):
            slots: Data = {name: value for name, value in found.groupdict().items() if value}
            return Classification(
                intent=command.intent,
                score=command.score,
                slots=slots,
                reason="an explicit command",
            )
    return None


def classify_step(
    scenes: Mapping[str, str], rules: OrchestrationRules, *, timeout_s: float = 6.0
) -> Step[ClassifyRequest, Classification]:
    """Make the step `classify-intent`.

    Args:
        scenes: The purpose of each scene, by its name; part of the prompt.
    """
    instruction = _instruction(scenes)
    answer = _answer_model((*scenes, CONTINUE, EXIT))

    async def classify(request: ClassifyRequest, context: StepContext) -> Classification:
        if (known := by_rules(request.user_input, rules)) is not None:
            return known
        if not context.has_model:
            return Classification(intent=CONTINUE, score=50, reason="no command, and no model")
        said = await context.ask(instruction, request.model_dump_json(), answer)
        slots: Data = {slot.name: slot.value for slot in said.slots if slot.value}
        return Classification(intent=said.intent, score=said.score, slots=slots, reason=said.reason)

    return Step(
        name="classify-intent",
        request=ClassifyRequest,
        response=Classification,
        run=classify,
        timeout_s=timeout_s,
        fallback=failed,
    )


class _Slot(BaseModel):
    name: str
    value: str


def _pairs(slots: object) -> object:
    """Slots as pairs: strict schemas know no free names, but models like to write an object."""
    if isinstance(slots, Mapping):
        return [{"name": name, "value": str(value)} for name, value in slots.items()]
    return slots


class _Answer(BaseModel):
    """What a model answers."""

    intent: str
    score: Annotated[int, Field(ge=0, le=100)]
    slots: Annotated[list[_Slot], BeforeValidator(_pairs)] = []
    reason: str = ""


def _answer_model(intents: Collection[str]) -> type[_Answer]:
    def known(intent: str) -> str:
        if intent not in intents:
            raise ValueError(f"there is no intent {intent!r}")
        return intent

    one_of: Any = Annotated[
        str, AfterValidator(known), Field(json_schema_extra={"enum": [*intents]})
    ]
    return create_model("Intent", __base__=_Answer, intent=(one_of, ...))


def _instruction(scenes: Mapping[str, str]) -> str:
    listed = "\n".join(f"- {name}: {purpose}" for name, purpose in scenes.items())
    return _INSTRUCTION.format(scenes=listed, stay=CONTINUE, leave=EXIT)


_INSTRUCTION = """\
You classify one message of a user; you do not answer it. The user is in the active scene. Scenes:
{scenes}
Intents: the name of a scene that the user wants to be in; {stay} when the message belongs to what \
is going on in the active scene; {leave} when the user wants to stop that.
score: how sure you are, 0 to 100. 75 and more: the user clearly says so. 50 to 74: it seems so. \
Less: a guess.
slots: names and values that the message gives for the scene, such as title or subject.
reason: a few words.
"""
