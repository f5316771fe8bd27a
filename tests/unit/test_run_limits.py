"""When a run must come to its end, told from what is stored of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents.loop_agent import LoopAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel

from oda import Capability, RunLimits, ToolPolicy, create_agent
from oda.agent.run_limits import CONCLUDED_AT, ROUND, last_asked_at, reached_limit
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Text, ToolCalls
from oda.testing.scripted_model import InProcessStep
from tests.support.transcript import transcript

LOOK = ToolCalls(calls=(Call(name="look", args={}),))


def answered(number: int, *, tokens: int = 0, **fields: Any) -> Event:
    return Event(
        author="a",
        custom_metadata={ROUND: number},
        usage_metadata=GenerateContentResponseUsageMetadata(prompt_token_count=tokens),
        **fields,
    )


@pytest.mark.parametrize(
    ("limits", "said", "running_s", "limit"),
    [
        (RunLimits(), [], 1e9, None),
        (RunLimits(), [answered(13)], 0, None),
        (RunLimits(), [answered(14)], 0, "15 rounds"),
        (RunLimits(), [answered(14), Event(author="a")], 0, "15 rounds"),
        (RunLimits(rounds=1), [], 0, "1 rounds"),
        (RunLimits(rounds=None), [answered(100)], 1e9, None),
        (RunLimits(wall_s=60), [], 59.9, None),
        (RunLimits(wall_s=60), [], 60, "60 seconds"),
        (RunLimits(tokens=100), [answered(1, tokens=99)], 0, None),
        (RunLimits(tokens=100), [answered(1, tokens=60), answered(2, tokens=40)], 0, "100 tokens"),
    ],
)
def test_the_first_limit_that_is_reached(
    limits: RunLimits, said: Sequence[Event], running_s: float, limit: str | None
) -> None:
    assert reached_limit(limits, said, running_s=running_s) == limit


def test_time_runs_from_what_a_person_has_said_last_in_the_turn() -> None:
    def said(author: str, at: float, turn: str = "t", path: str = "") -> Event:
        event = Event(author=author, timestamp=at, invocation_id=turn)
        event.node_info.path = path
        return event

    turn = [said("user", 1), said("a", 2), said("user", 5), said("user", 7, path="graph@1/a@1")]
    assert last_asked_at([*turn, said("a", 8), said("user", 9, turn="other")], "t") == 5


async def look() -> dict[str, str]:
    """Look around."""
    return {"seen": "a door"}


LOOKING = Capability("looking", tools=[look], tool_policy=ToolPolicy(allow=("look",)))


async def run(agent: Any, *, message: str = "go") -> list[Event]:
    runner = InMemoryRunner(app=App(name="app", root_agent=agent))
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    content = Content(role="user", parts=[Part(text=message)])
    return [
        event
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=content)
    ]


def limited(steps: Sequence[InProcessStep], **limits: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(steps=tuple(steps), default=LOOK.model_copy(update={"times": None}))
    clock = limits.pop("clock", None)
    options = limits.pop("options", {})
    agent = create_agent(
        "automated",
        [LOOKING],
        name="looker",
        model=model,
        limits=RunLimits(**limits),
        clock=clock,
        **options,
    )
    return agent, model


async def test_a_model_that_will_not_stop_is_stopped_with_a_sentence() -> None:
    agent, model = limited([], rounds=3)
    events = await run(agent)
    assert transcript(events)[-1] == (
        "looker: I have stopped at the limit of 3 rounds for this task, before it was finished."
    )
    assert [bool(one.config.tool_config) for one in model.requests] == [False, False, True]
    told = ["last answer" in str(one.config.system_instruction) for one in model.requests]
    assert told == [False, False, True]
    marks = [event.custom_metadata for event in events if event.custom_metadata]
    assert marks == [{ROUND: 1}, {ROUND: 2}, {ROUND: 3, CONCLUDED_AT: "3 rounds"}]


async def test_the_time_that_is_up_is_seen_at_the_next_call() -> None:
    clock = FakeClock(start=4e9)  # long after the events that ADK gives the time of today
    agent, model = limited([Text(text="A door.")], wall_s=60, clock=clock)
    assert transcript(await run(agent))[-1] == "looker: A door."
    assert "60 seconds" in str(model.requests[0].config.system_instruction)


async def test_who_has_concluded_is_not_asked_again_in_the_turn() -> None:
    agent, model = limited([Text(text="A door.")], rounds=1)
    events = await run(LoopAgent(name="again", sub_agents=[agent], max_iterations=3))
    assert len(model.requests) == 1
    assert [line for line in transcript(events) if "limit of 1 rounds" in line] != []


class Sight(BaseModel):
    seen: str


async def test_an_answer_that_is_given_by_a_tool_of_adk_may_still_be_given() -> None:
    done = ToolCalls(calls=(Call(name="set_model_response", args={"seen": "a door"}),))
    agent, model = limited([LOOK, done], rounds=2, options={"output_schema": Sight})
    events = await run(agent)
    assert '"seen"' in transcript(events)[-1]
    assert len(model.requests) == 2


async def test_the_callers_own_callbacks_are_called_as_well() -> None:
    seen: list[str] = []

    def before_model(callback_context: Any, llm_request: Any) -> None:
        seen.append("before model")

    def after_model(callback_context: Any, llm_response: Any) -> None:
        seen.append(f"after model {len(llm_response.content.parts)}")

    def before_tool(tool: FunctionTool, args: Any, tool_context: Any) -> None:
        seen.append(tool.name)

    agent, _ = limited(
        [LOOK, Text(text="A door.")],
        options={
            "before_model_callback": before_model,
            "after_model_callback": [after_model],
            "before_tool_callback": before_tool,
        },
    )
    await run(agent)
    assert seen == ["before model", "after model 1", "look", "before model", "after model 1"]
