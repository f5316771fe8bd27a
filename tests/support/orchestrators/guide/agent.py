"""A guide with three scenes, whose steps do what `tests.support.rehearsed_steps` tells them to.

`lobby` tells how it was entered; `quiz` asks for a capital and then checks the answer in two steps;
`story` is told line by line and ends with `the end`.
"""

from collections.abc import Mapping
from typing import ClassVar

from google.adk.apps import App
from pydantic import BaseModel

from oda.message.language import Language
from oda.orchestration import (
    OrchestrationRules,
    Orchestrator,
    Reply,
    SceneTurn,
    StepContext,
    Workflow,
    step,
)
from oda.orchestration.rules import Command
from oda.orchestration.state import Data
from tests.support.rehearsed_steps import performed

CAPITALS = {"France": "Paris", "China": "Beijing"}


class Said(BaseModel):
    text: str


class Checked(BaseModel):
    right: bool


class Remark(BaseModel):
    text: str


def no_remark(request: Checked, context: StepContext, error: Exception) -> Remark:
    """What is remarked when nobody can."""
    return Remark(text="(no remark)")


@step("clean-answer")
async def clean_answer(request: Said, context: StepContext) -> Said:
    """Leave the name of a city only."""
    await performed("clean-answer")
    return Said(text=request.text.strip(" .!").title())


@step("check-answer")
async def check_answer(request: Said, context: StepContext) -> Checked:
    """Say whether it is a capital."""
    await performed("check-answer")
    return Checked(right=request.text in CAPITALS.values())


@step("make-remark", timeout_s=0.5, fallback=no_remark)
async def make_remark(request: Checked, context: StepContext) -> Remark:
    """Remark on an answer."""
    await performed("make-remark")
    return Remark(text="Right!" if request.right else "Wrong.")


class Lobby(Workflow):
    name = "lobby"
    purpose = "to talk about anything"
    titles: ClassVar[Mapping[Language, str]] = {"en": "go back to the lobby", "zh": "回大厅"}
    phases = ("idle", "greeted")

    async def run(self, turn: SceneTurn) -> Reply:
        visits = turn.data.get("visits", 0)
        assert isinstance(visits, int)
        text = f"lobby: {turn.entry or turn.text}"
        return Reply(text=text, phase="greeted", data={**turn.data, "visits": visits + 1})


class Quiz(Workflow):
    name = "quiz"
    purpose = "to be asked for capitals"
    titles: ClassVar[Mapping[Language, str]] = {"en": "play the quiz", "zh": "玩问答"}
    phases = ("idle", "asking")
    steps = (clean_answer, check_answer, make_remark)

    async def run(self, turn: SceneTurn) -> Reply:
        if turn.entry == "switched":
            country = turn.slots.get("country", "France")
            text = f"What is the capital of {country}?"
            return Reply(text=text, phase="asking", data={"country": country})
        answer = await turn.step(clean_answer, Said(text=turn.text))
        checked = await turn.step(check_answer, answer)
        remark = await turn.step(make_remark, checked)
        device = ({"type": "dance"},) if checked.right else ()
        return Reply(text=remark.text, leaves=checked.right, device_actions=device)


class Story(Workflow):
    name = "story"
    purpose = "to tell a story together"
    titles: ClassVar[Mapping[Language, str]] = {"en": "tell a story", "zh": "讲故事"}
    phases = ("telling",)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        return text.startswith("once upon a time")

    async def run(self, turn: SceneTurn) -> Reply:
        told = [exchange.said for exchange in turn.recent if exchange.scene == self.name]
        card = {"title": "Story", "lines": [*told, turn.text]}
        return Reply(text=f"and then? ({len(told)})", card=card, leaves=turn.text == "the end")


RULES = OrchestrationRules(
    commands=(
        Command(intent="quiz", pattern=r"quiz(?: about (?P<country>\w+))?"),
        Command(intent="story", pattern="story|讲故事"),
        Command(intent="exit_current", pattern="stop|退出"),
        Command(intent="continue_current", pattern="here: .+"),
    ),
    confirm=frozenset({"yes", "对", "是的"}),
    deny=frozenset({"no", "不", "不用"}),
    carried=frozenset({"visits"}),
    max_chars=200,
    not_allowed=("dynamite",),
)


orchestrator = Orchestrator("guide", scenes=[Lobby(), Quiz(), Story()], rules=RULES)
app = App(name="guide", root_agent=orchestrator)
