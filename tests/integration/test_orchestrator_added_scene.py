"""A scene is one class and one registration; ADK's own Runner and ours run it, also in a graph."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import START
from google.adk.workflow import Workflow as AdkWorkflow
from google.genai.types import Content, Part

from oda import Runner
from oda.errors import ConfigurationError
from oda.message.language import Language
from oda.orchestration import OrchestrationRules, Orchestrator, Reply, SceneTurn, Workflow, step
from oda.orchestration.model_access import StepContext
from oda.orchestration.rules import Command
from oda.orchestration.understanding import ConfirmRequest


class Silence(Workflow):
    name = "silence"
    purpose = "to hear nothing"
    titles: ClassVar[Mapping[Language, str]] = {"en": "be silent", "zh": "安静"}
    phases: ClassVar[tuple[str, ...]] = ("quiet",)

    async def run(self, turn: SceneTurn) -> Reply:
        return Reply(text="…")


# begin of what is added


class Echo(Workflow):
    """Repeats three shouts."""

    name = "echo"
    purpose = "to hear oneself"
    titles: ClassVar[Mapping[Language, str]] = {"en": "hear an echo", "zh": "听回声"}
    phases = ("shouting",)

    async def run(self, turn: SceneTurn) -> Reply:
        shouts = str(turn.data.get("shouts", "")) + "!"
        return Reply(text=f"{turn.text}…", data={"shouts": shouts}, leaves=shouts == "!!!")


SCENES = (Silence(), Echo())
COMMANDS = (Command(intent="echo", pattern="echo"),)


# end of what is added

LINES, ANSWERS = ("hello", "echo", "one", "two", "three"), ["…", "echo…", "one…", "two…", "…"]


def hall(scenes: Sequence[Workflow] = SCENES) -> Orchestrator:
    return Orchestrator("hall", scenes=scenes, rules=OrchestrationRules(commands=COMMANDS))


async def answers(runner: AdkRunner, *lines: str) -> list[str]:
    await runner.session_service.create_session(app_name="hall", user_id="u", session_id="s")
    said: list[str] = []
    for line in lines:
        message = Content(role="user", parts=[Part(text=line)])
        events = [
            event
            async for event in runner.run_async(user_id="u", session_id="s", new_message=message)
        ]
        said.append(text_of(events[-1]))
    return said


def text_of(event: Event) -> str:
    parts = (event.content and event.content.parts) or ()
    return "".join(part.text or "" for part in parts)


def test_it_takes_less_than_40_lines() -> None:
    source = inspect.getsource(sys.modules[__name__])
    added = source.split("# begin of what is added")[1].split("# end of what is added")[0]
    assert inspect.getsource(Echo) in added
    assert len([line for line in added.splitlines() if line.strip()]) < 40


@pytest.mark.parametrize("kind", [Runner, AdkRunner])
async def test_the_scene_is_there(kind: type[AdkRunner]) -> None:
    app = App(name="hall", root_agent=hall())
    runner = kind(app=app, session_service=InMemorySessionService())
    assert await answers(runner, *LINES) == ANSWERS


async def test_an_orchestrator_may_be_a_node_of_another_graph() -> None:
    root = AdkWorkflow(name="house", edges=[(START, hall())])
    app = App(name="hall", root_agent=root)
    runner = Runner(app=app, session_service=InMemorySessionService())
    assert await answers(runner, *LINES) == ANSWERS


async def test_an_empty_message_is_rejected() -> None:
    app = App(name="hall", root_agent=hall())
    runner = Runner(app=app, session_service=InMemorySessionService())
    assert await answers(runner, " ") == ["I did not get anything. Please say it again."]


class NoPhases(Silence):
    name = "nothing"
    phases = ()


class Reserved(Silence):
    name = "exit_current"


@pytest.mark.parametrize(
    ("scenes", "said"),
    [
        ([], "needs a scene"),
        ([*SCENES, Echo()], "two scenes are called 'echo'"),
        ([*SCENES, NoPhases()], "'nothing' has no phases"),
        ([*SCENES, Reserved()], "'exit_current' is an intent"),
        ([Silence()], "a command means 'echo', which is no scene"),
    ],
)
def test_what_cannot_work_is_refused_at_once(scenes: Sequence[Workflow], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        hall(scenes)


def test_a_step_has_a_name_that_fits_a_path() -> None:
    async def run(request: ConfirmRequest, context: StepContext) -> ConfirmRequest:
        return request

    with pytest.raises(ConfigurationError, match="'Read It' is no name for a step"):
        step("Read It")(run)


def test_two_steps_of_one_name_are_refused() -> None:
    async def run(request: ConfirmRequest, context: StepContext) -> ConfirmRequest:
        return request

    class Doubled(Silence):
        steps = (step("read-it")(run), step("read-it")(run))

    with pytest.raises(ConfigurationError, match="two steps are called 'read-it'"):
        Orchestrator("hall", scenes=[Doubled()])
