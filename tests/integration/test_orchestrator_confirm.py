"""Who is asked what a message means: words first, then the scene, then the steps of the app."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import pytest
from google.adk.apps import App
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part
from pydantic import BaseModel

from oda import Runner
from oda.message.language import Language
from oda.orchestration import (
    Classification,
    ConfirmRequest,
    OrchestrationRules,
    Orchestrator,
    Reply,
    SceneTurn,
    StepContext,
    Workflow,
    step,
)
from oda.orchestration.classification import ClassifyRequest
from oda.orchestration.rules import Command
from oda.orchestration.state import Data
from tests.support.guided import steps_in

MEANT = {"sail?": ("boat", 60), "fly!": ("plane", 90)}
ANSWERS: Mapping[str, Literal["confirm", "deny"]] = {"why not": "confirm", "rather not": "deny"}


class Judged(BaseModel):
    reply: str = "judged"
    decision: Literal["confirm", "deny", "unclear"] | None = None


@step("classify-intent")
async def classify(request: ClassifyRequest, context: StepContext) -> Classification:
    intent, score = MEANT.get(request.user_input, ("continue_current", 90))
    return Classification(intent=intent, score=score)


@step("confirm-handoff")
async def confirm(request: ConfirmRequest, context: StepContext) -> Judged:
    assert request.pending_switch.target == "boat"
    return Judged(decision=ANSWERS.get(request.user_input))


class Shore(Workflow):
    name: ClassVar[str] = "shore"
    purpose = "to be on land"
    titles: ClassVar[Mapping[Language, str]] = {"en": "stay on land"}
    phases = ("idle",)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        return text == "wait"

    async def run(self, turn: SceneTurn) -> Reply:
        return Reply(text=self.name)


class Boat(Shore):
    name = "boat"
    titles: ClassVar[Mapping[Language, str]] = {"en": "go sailing"}


class Plane(Shore):
    name = "plane"


@pytest.mark.parametrize(
    ("said", "answer", "asked"),
    [
        ("yes", "boat", []),
        ("No!", "All right, let us go on.", []),
        ("plane", "plane", []),
        ("wait", "shore", []),
        ("why not", "boat", ["confirm-handoff"]),
        ("rather not", "All right, let us go on.", ["confirm-handoff"]),
        ("hm", "shore", ["confirm-handoff", "classify-intent"]),
        ("fly!", "plane", ["confirm-handoff", "classify-intent"]),
    ],
)
async def test_nobody_is_asked_what_is_plain(said: str, answer: str, asked: list[str]) -> None:
    commands = (Command(intent="plane", pattern="plane"),)
    root = Orchestrator(
        "trip",
        scenes=[Shore(), Boat(), Plane()],
        rules=OrchestrationRules(commands=commands),
        classify=classify,
        confirm=confirm,
    )
    runner = Runner(app=App(name="trip", root_agent=root), session_service=InMemorySessionService())
    await runner.session_service.create_session(app_name="trip", user_id="u", session_id="s")
    question = await turn(runner, "sail?")
    assert text_of(question) == "Did you want to go sailing?"
    events = await turn(runner, said)
    assert (text_of(events), steps_in(events)) == (answer, asked)


async def turn(runner: Runner, said: str) -> list[Event]:
    message = Content(role="user", parts=[Part(text=said)])
    return [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]


def text_of(events: list[Event]) -> str:
    parts = (events[-1].content and events[-1].content.parts) or ()
    return "".join(part.text or "" for part in parts)
