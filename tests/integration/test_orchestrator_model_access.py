"""How steps reach models: in a shape, in words, by an agent with tools; and what that costs."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService, Session
from google.genai.types import Content, Part
from pydantic import BaseModel

from oda import Runner, configured_model
from oda.agent.failure import ModelReportedError, classify
from oda.agent.limits import TurnLimits, Usage
from oda.agent.model.structured import MISSHAPEN
from oda.agent.running_turn import RunningTurn
from oda.errors import NoContentError, NotConfiguredError
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
from oda.orchestration.orchestrator import STEP_KEY
from oda.orchestration.rules import Command
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Blocked, Call, Empty, Error, Match, Script, Step, Text, ToolCalls
from oda.testing.script import Usage as Tokens
from tests.support.guided import guide

USED = Tokens(prompt_tokens=10, completion_tokens=1)


class Weather(BaseModel):
    city: str
    degrees: int


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[ModelServer]:
    """A server that the configured model is at."""
    async with ModelServer() as server, guide(tmp_path, model=server):
        yield server


@pytest.fixture
def context() -> StepContext:
    return StepContext(user_id="u", now=datetime(2026, 3, 10, tzinfo=UTC))


async def test_an_answer_in_a_shape(model: ModelServer, context: StepContext) -> None:
    model.play([Text(text='{"city": "Rome", "degrees": 30}', usage=USED)])
    answer = await context.ask("Tell the weather.", "Rome?", Weather)
    assert answer == Weather(city="Rome", degrees=30)
    assert [one.tokens.prompt_token_count for one in context.used] == [10]
    (asked,) = model.requests
    assert (asked.system, asked.messages[0].text) == ("Tell the weather.", "Rome?")


async def test_an_answer_of_another_shape_is_refused_and_counted(
    model: ModelServer, context: StepContext
) -> None:
    model.play([Text(text='{"city": "Rome"}', usage=USED, times=2)])
    with pytest.raises(ModelReportedError, match="degrees: Field required") as refused:
        await context.ask("Tell the weather.", "Rome?", Weather)
    assert refused.value.error_code == MISSHAPEN
    assert [one.tokens.prompt_token_count for one in context.used] == [20]


async def test_an_answer_that_is_asked_for_again_counts_twice(model: ModelServer) -> None:
    model.play([Text(text="Warm."), Text(text='{"city": "Rome", "degrees": 30}')])
    turn = RunningTurn(limits=TurnLimits(model_calls=4), usage=Usage())
    context = StepContext(user_id="u", now=datetime(2026, 3, 10, tzinfo=UTC), turn=turn)
    assert (await context.ask("Tell the weather.", "Rome?", Weather)).degrees == 30
    assert turn.usage.model_calls == 2


async def test_an_answer_in_words(model: ModelServer, context: StepContext) -> None:
    model.play([Text(text="It is warm.", thinking="Italy in March")])
    assert await context.write("Tell the weather.", "Rome?") == "It is warm."


async def test_silence_and_refusals_are_failures(model: ModelServer, context: StepContext) -> None:
    model.play([Empty(), Blocked()])
    with pytest.raises(NoContentError):
        await context.write("Tell the weather.", "Rome?")
    with pytest.raises(ModelReportedError):
        await context.write("Tell the weather.", "Rome?")


async def test_an_agent_with_tools_and_a_past(model: ModelServer, context: StepContext) -> None:
    asked: list[str] = []

    def weather(city: str) -> str:
        """Tell the weather of a city."""
        asked.append(city)
        return "sunny"

    agent = LlmAgent(name="forecaster", model=configured_model(), tools=[weather])
    call = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),), usage=USED)
    model.play([call, Text(text="Sunny!", match=Match(after_tool=True), usage=USED)])
    before = [
        Content(role="user", parts=[Part(text="I am in Rome.")]),
        Content(role="model", parts=[Part(text="Lovely.")]),
    ]
    assert await context.consult(agent, "Weather?", before) == "Sunny!"
    assert asked == ["Rome"]
    assert len(context.used) == 2
    told = [(message.role, message.text) for message in model.requests[0].messages]
    assert told == [("user", "I am in Rome."), ("assistant", "Lovely."), ("user", "Weather?")]


@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        (Error(status=503), "overloaded", True),
        (Error(status=401), "authentication", False),
        (Blocked(), "content_policy", False),
        (Empty(), "no_content", True),
    ],
)
async def test_why_an_agent_has_failed_is_known(
    model: ModelServer, context: StepContext, fault: Step, code: str, retryable: bool
) -> None:
    model.play([fault])
    with pytest.raises(Exception) as failed:
        await context.consult(LlmAgent(name="asker", model=configured_model()), "hello")
    failure = classify(failed.value, now=0.0)
    assert (failure.code, failure.retryable) == (code, retryable)


async def test_an_agent_keeps_to_the_limits_of_the_turn(model: ModelServer) -> None:
    def again() -> str:
        """Ask me again."""
        return "again"

    agent = LlmAgent(name="asker", model=configured_model(), tools=[again])
    model.play(Script(default=ToolCalls(calls=(Call(name="again"),), times=None)))
    turn = RunningTurn(limits=TurnLimits(model_calls=4), usage=Usage(model_calls=1))
    context = StepContext(user_id="u", now=datetime(2026, 3, 10, tzinfo=UTC), turn=turn)
    with pytest.raises(Exception) as refused:
        await context.consult(agent, "hello")
    assert classify(refused.value, now=0.0).code == "limit_exceeded"
    assert (turn.usage.model_calls, model.received) == (4, 3)


async def test_without_a_model_it_is_said_what_to_set(tmp_path: Path, context: StepContext) -> None:
    agent = LlmAgent(name="forecaster", model=configured_model())
    async with guide(tmp_path):
        assert not context.has_model
        for asking in (
            context.ask("Tell.", "Rome?", Weather),
            context.write("Tell.", "Rome?"),
            context.consult(agent, "Rome?"),
        ):
            with pytest.raises(NotConfiguredError, match="set ODA_MODEL"):
                await asking


calls: list[str] = []
"""By which the runs of `tell-weather` have been named."""


@step("tell-weather")
async def tell_weather(request: Weather, context: StepContext) -> Weather:
    """Tell the weather; without a fallback."""
    calls.append(context.call_id)
    return await context.ask("Tell the weather.", request.city, Weather)


class Report(Workflow):
    name = "report"
    purpose = "to report the weather"
    titles: ClassVar[Mapping[Language, str]] = {"en": "hear the weather"}
    phases = ("idle",)
    steps = (tell_weather,)

    async def run(self, turn: SceneTurn) -> Reply:
        weather = await turn.step(tell_weather, Weather(city=turn.text, degrees=0))
        return Reply(text=f"{weather.degrees}°")


def fair(request: Weather, context: StepContext, error: Exception) -> Weather:
    return Weather(city=request.city, degrees=20)


@step("guess-weather", fallback=fair)
async def guess_weather(request: Weather, context: StepContext) -> Weather:
    """Tell the weather; fair weather as a fallback."""
    return await context.ask("Tell the weather.", request.city, Weather)


class Guess(Report):
    steps = (guess_weather,)

    async def run(self, turn: SceneTurn) -> Reply:
        weather = await turn.step(guess_weather, Weather(city=turn.text, degrees=0))
        return Reply(text=f"{weather.degrees}°")


async def session_of(scene: Workflow) -> Session:
    """Return the session after one message to a scene."""
    rules = OrchestrationRules(commands=(Command(intent="report", pattern=".*"),))
    app = App(name="report", root_agent=Orchestrator("report", scenes=[scene], rules=rules))
    runner = Runner(app=app, session_service=InMemorySessionService())
    runner.clock = FakeClock()
    await runner.session_service.create_session(app_name="report", user_id="u", session_id="s")
    message = Content(role="user", parts=[Part(text="Rome")])
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        pass
    session = await runner.session_service.get_session(
        app_name="report", user_id="u", session_id="s"
    )
    assert session is not None
    return session


async def test_a_fallback_answers_after_one_repair_and_the_trace_says_why(
    model: ModelServer,
) -> None:
    model.play([Text(text="warm", times=2)])
    session = await session_of(Guess())
    assert session.events[-1].content == Content(role="model", parts=[Part(text="20°")])
    assert model.received == 2
    records = [(event.custom_metadata or {}).get(STEP_KEY) for event in session.events]
    (record,) = filter(None, records)
    form = {"schema_in": "parameter", "calls": 2, "problem": "it holds no JSON"}
    assert record == {
        "name": "guess-weather",
        "attempts": 1,
        "fell_back": "malformed_output",
        "answer_forms": [form],
    }


async def test_a_call_has_one_name_and_what_its_failures_have_used_is_on_record(
    model: ModelServer,
) -> None:
    calls.clear()
    nonsense = Text(text="warm", usage=USED, times=4)  # each answer is asked for once more
    model.play([nonsense, Text(text='{"city": "Rome", "degrees": 30}', usage=USED)])
    session = await session_of(Report())
    used = [event.usage_metadata for event in session.events if event.usage_metadata]
    assert [one.prompt_token_count for one in used] == [40, 10]
    assert session.events[-1].content == Content(role="model", parts=[Part(text="30°")])
    assert calls == [f"{session.events[0].invocation_id}-1"] * 3
