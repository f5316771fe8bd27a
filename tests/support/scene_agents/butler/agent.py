"""An orchestrator for tests over HTTP: one scene that needs no model, and one that does."""

from typing import ClassVar

from pydantic import BaseModel

from oda.orchestration import (
    OrchestrationRules,
    Orchestrator,
    Reply,
    SceneTurn,
    StepContext,
    Workflow,
    step,
)


class Said(BaseModel):
    """A text."""

    text: str


class Clock(BaseModel):
    """For whom, when, and in which session a step has worked."""

    user_id: str
    now: str
    session_id: str | None


class Praise(BaseModel):
    """A kind word, and whether a model has found it."""

    text: str
    by_model: bool


def _plain_praise(request: Said, context: StepContext, error: Exception) -> Praise:
    return Praise(text="Well done.", by_model=False)


@step("echo")
async def echo(request: Said, context: StepContext) -> Said:
    """Say the same."""
    return Said(text=f"You said: {request.text}")


@step("tell-time")
async def tell_time(request: Said, context: StepContext) -> Clock:
    """Tell what is known of who asks."""
    return Clock(
        user_id=context.user_id, now=context.now.isoformat(), session_id=context.session_id
    )


@step("tell-story", timeout_s=20.0)
async def tell_story(request: Said, context: StepContext) -> Said:
    """Have a model tell a story."""
    return Said(text=await context.write("Tell a story.", request.text))


@step("praise", fallback=_plain_praise)
async def praise(request: Said, context: StepContext) -> Praise:
    """Praise somebody."""
    return Praise(text=await context.write("Praise.", request.text), by_model=True)


@step("stumble")
async def stumble(request: Said, context: StepContext) -> Said:
    """Fail with a mistake of its own."""
    raise ValueError(f"/etc/secret.conf: {request.text}")


class Chat(Workflow):
    name = "chat"
    purpose = "small talk"
    titles: ClassVar = {"en": "chat", "zh": "聊天"}
    phases = ("idle",)
    steps = (echo, tell_time, praise, stumble)

    def expects(self, text: str, phase: str, data: object) -> bool:
        return True

    async def run(self, turn: SceneTurn) -> Reply:
        if turn.text == "stumble":
            await turn.step(stumble, Said(text=turn.text))
        said = await turn.step(echo, Said(text=turn.text))
        return Reply(text=said.text, suggested_actions=("story",))


class Story(Workflow):
    name = "story"
    purpose = "hearing a story"
    titles: ClassVar = {"en": "hear a story", "zh": "听故事"}
    phases = ("asking", "telling")
    steps = (tell_story,)

    def expects(self, text: str, phase: str, data: object) -> bool:
        return phase == "telling"

    async def run(self, turn: SceneTurn) -> Reply:
        if turn.phase == "asking":
            return Reply(text="What about?", phase="telling")
        await turn.step(praise, Said(text="a child that likes stories"))
        told = await turn.step(tell_story, Said(text=turn.text))
        return Reply(text=told.text, device_actions=({"type": "bow"},))


root_agent = Orchestrator(
    "butler",
    scenes=(Chat(), Story()),
    description="Talks and tells stories.",
    rules=OrchestrationRules.model_validate(
        {
            "commands": [
                {"intent": "story", "pattern": "story"},
                {"intent": "exit_current", "pattern": "stop"},
            ],
            "max_chars": 200,
        }
    ),
)
