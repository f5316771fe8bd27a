"""Answers in a form, whatever a provider makes of its schema parameter, on every way to a model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part
from pydantic import BaseModel, Field

from oda import OdaContext, OdaSession
from oda.agent.failure import classify, classify_event
from oda.agent.model.answer_form import FORM_KEY
from oda.agent.model.http_model import close_connections
from oda.agent.model.litellm_import import close_clients
from oda.agent.model.registry import Models
from oda.agent.model.structured import REMEMBERED_S
from oda.config.records import Configuration, ModelRecord
from oda.settings import Settings
from oda.testing import FakeClock, ModelServer
from oda.testing.script import (
    Call,
    Empty,
    Error,
    Json,
    Match,
    Script,
    Step,
    Text,
    ToolCalls,
    Usage,
)

WAYS = ("openai/m", "anthropic/m", "gemini-2.5-flash", "litellm/openai/m", "litellm/anthropic/m")
ROME = {"city": "Rome", "degrees": 30}
USED = Usage(prompt_tokens=10, completion_tokens=2)
REFUSES = Error(
    status=400,
    message="Invalid parameter: 'response_format' is not supported with this model.",
    match=Match(has_schema=True),
    times=None,
)


class Weather(BaseModel):
    city: str
    degrees: int = Field(ge=-90, le=60)


@pytest.fixture(autouse=True)
async def connections() -> AsyncIterator[None]:
    yield
    await close_connections()
    await close_clients()


@pytest.fixture(params=WAYS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Asked:
    """A model that is asked for the weather."""

    def __init__(self, server: ModelServer, name: str, *, streamed: bool = False) -> None:
        base = server.openai_base if "openai" in name else server.url
        record = ModelRecord(model=name, api_base=base)
        configuration = Configuration(models={"it": record})
        self.clock = FakeClock()
        settings = Settings(model_timeout_s=5.0)
        self._models = Models(settings, lambda: configuration, self.clock)
        self._streamed = streamed

    async def answers(self, schema: Any = Weather) -> list[LlmResponse]:
        request = LlmRequest(contents=[Content(role="user", parts=[Part(text="Weather?")])])
        request.append_instructions(["You are a weatherman."])
        request.set_output_schema(schema)
        model = self._models.resolve("it")
        return [one async for one in model.generate_content_async(request, self._streamed)]

    async def answer(self, schema: Any = Weather) -> LlmResponse:
        *previews, last = await self.answers(schema)
        assert all(preview.partial for preview in previews)
        return last


def said(response: LlmResponse) -> str:
    parts = (response.content and response.content.parts) or ()
    return "".join(part.text or "" for part in parts if not part.thought)


def note(response: LlmResponse) -> dict[str, Any] | None:
    """Return what the trace of the answer tells of its form."""
    return (response.custom_metadata or {}).get(FORM_KEY)


def told(server: ModelServer, number: int) -> str:
    """Return all that the model was told in one of its calls."""
    request = server.requests[number]
    return "\n".join([request.system, *(message.text for message in request.messages)])


async def test_a_provider_that_honours_the_schema_is_asked_once(name: str, streamed: bool) -> None:
    async with ModelServer([Json(value=ROME, match=Match(has_schema=True))]) as server:
        response = await Asked(server, name, streamed=streamed).answer()
        assert Weather.model_validate_json(said(response)) == Weather(**ROME)
        assert (server.received, note(response)) == (1, None)
        assert "degrees" not in told(server, 0)


async def test_a_refused_parameter_is_left_out_and_the_schema_told(
    name: str, streamed: bool
) -> None:
    async with ModelServer([REFUSES, Json(value=ROME)]) as server:
        response = await Asked(server, name, streamed=streamed).answer()
        assert Weather.model_validate_json(said(response)) == Weather(**ROME)
        assert server.received == 2
        assert '"degrees"' in told(server, 1)
        assert "You are a weatherman." in told(server, 1)
        assert note(response) == {"schema_in": "prompt", "calls": 2, "problem": None}


async def test_a_refusal_is_remembered_for_a_while(name: str) -> None:
    answers = Script(steps=(REFUSES,), default=Json(value=ROME))
    async with ModelServer(answers) as server:
        asked = Asked(server, name)
        await asked.answer()
        await asked.answer()
        assert server.received == 3
        asked.clock.advance(REMEMBERED_S - 1)
        await asked.answer()
        assert server.received == 4
        asked.clock.advance(1)
        server.play(Script(default=Json(value=ROME)))
        response = await asked.answer()
        assert (server.received, note(response)) == (5, None)


async def test_another_error_is_not_taken_for_a_refusal_of_the_parameter(name: str) -> None:
    """What is refused without the parameter, too, was refused for another reason."""
    async with ModelServer([Error(status=400, message="no such thing", times=2)]) as server:
        asked = Asked(server, name)
        with pytest.raises(Exception) as refused:
            await asked.answer()
        assert classify(refused.value, now=0.0).code == "bad_request"
        server.play([Json(value=ROME, match=Match(has_schema=True))])
        assert note(await asked.answer()) is None


@pytest.mark.parametrize("status", [401, 404, 429, 503])
async def test_other_failures_are_told_as_they_are(status: int) -> None:
    async with ModelServer([Error(status=status)]) as server:
        with pytest.raises(Exception) as failed:
            await Asked(server, "openai/m").answer()
        assert (server.received, classify(failed.value, now=0.0).code != "bad_request") == (1, True)


async def test_a_schema_that_is_ignored_is_told_with_what_was_wrong(
    name: str, streamed: bool
) -> None:
    async with ModelServer(
        [Text(text="It is warm.", usage=USED), Json(value=ROME, usage=USED)]
    ) as (server):
        response = await Asked(server, name, streamed=streamed).answer()
        assert Weather.model_validate_json(said(response)) == Weather(**ROME)
        again = server.requests[1].messages
        assert [message.role for message in again] == ["user", "assistant", "user"]
        assert "It is warm." in again[1].text
        assert "it holds no JSON" in again[2].text
        assert '"degrees"' in again[2].text
        assert note(response) == {
            "schema_in": "parameter",
            "calls": 2,
            "problem": "it holds no JSON",
        }
        tokens = response.usage_metadata
        assert tokens and (tokens.prompt_token_count, tokens.candidates_token_count) == (20, 4)


async def test_who_ignores_the_parameter_is_told_the_schema_at_once_for_a_while() -> None:
    async with ModelServer([Text(text="It is warm."), Json(value=ROME, times=None)]) as server:
        asked = Asked(server, "openai/m")
        await asked.answer()
        response = await asked.answer()
        assert server.received == 3
        assert '"degrees"' in server.requests[2].system
        assert "response_format" in server.requests[2].body
        assert note(response) == {"schema_in": "both", "calls": 1, "problem": None}
        asked.clock.advance(REMEMBERED_S)
        assert note(await asked.answer()) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```json\n", "\n```"),
        ("```\n", "```"),
        ("Sure! Here is the weather [today]:\n", "\nHave a nice day {sic}!"),
        ('<think>{"city": "Paris"} or {"city": "Rom", "degrees": 1}?</think>', ""),
    ],
)
async def test_json_is_found_in_what_stands_around_it(name: str, before: str, after: str) -> None:
    async with ModelServer([Json(value=ROME, before=before, after=after)]) as server:
        response = await Asked(server, name).answer()
        assert said(response) == '{"city":"Rome","degrees":30}'
        assert server.received == 1


async def test_wrong_fields_are_named_to_the_model(name: str) -> None:
    wrong = {"town": "Rome", "degrees": 300}
    async with ModelServer([Json(value=wrong), Json(value=ROME)]) as server:
        response = await Asked(server, name).answer()
        assert Weather.model_validate_json(said(response)) == Weather(**ROME)
        objection = server.requests[1].messages[-1].text
        assert "city: Field required" in objection
        assert "degrees: Input should be less than or equal to 60" in objection


async def test_an_empty_answer_is_asked_for_once_more(name: str, streamed: bool) -> None:
    async with ModelServer([Empty(), Json(value=ROME)]) as server:
        response = await Asked(server, name, streamed=streamed).answer()
        assert Weather.model_validate_json(said(response)) == Weather(**ROME)
        assert "it is empty" in told(server, 1)


@pytest.mark.parametrize(
    "bad",
    [Text(text="No.", usage=USED), Json(value={}, usage=USED), Empty(usage=USED)],
    ids=["prose", "wrong fields", "empty"],
)
async def test_after_a_second_bad_answer_there_is_an_error_with_a_code(
    name: str, bad: Step
) -> None:
    async with ModelServer([bad, bad]) as server:
        response = await Asked(server, name).answer()
        assert server.received == 2
        failure = classify_event(str(response.error_code), response.error_message)
        assert failure.code == "malformed_output"
        assert "form that was asked for" in failure.message
        tokens = response.usage_metadata
        assert tokens and tokens.prompt_token_count == 20


async def test_previews_end_where_an_answer_is_asked_for_again() -> None:
    async with ModelServer([Text(text="It is warm."), Json(value=ROME)]) as server:
        *previews, last = await Asked(server, "openai/m", streamed=True).answers()
        assert "".join(map(said, previews)) == "It is warm."
        assert said(last) == '{"city":"Rome","degrees":30}'


JSON_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "bad", "good"),
    [
        (JSON_SCHEMA, {"city": 1}, {"city": "Rome"}),
        (list[str], {"a": 1}, ["Rome"]),
        (list[Weather], [{"city": "Rome"}], [ROME]),
    ],
    ids=["a JSON schema", "a list", "a list of models"],
)
async def test_every_kind_of_schema_is_checked(schema: Any, bad: Any, good: Any) -> None:
    steps: Sequence[Step] = [Json(value=bad), Json(value=good)]
    async with ModelServer(steps) as server:
        response = await Asked(server, "openai/m").answer(schema)
        assert (server.received, response.error_code) == (2, None)


AGENT = """
from google.adk.agents import LlmAgent
from pydantic import BaseModel

from oda import configured_model


class Weather(BaseModel):
    city: str
    degrees: int


def look_up(city: str) -> str:
    "Look up the weather of a city."
    return "30 degrees"


root_agent = LlmAgent(
    name="weatherman",
    model=configured_model(),
    output_schema=Weather,
    output_key="weather",
    tools={tools},
)
"""


@asynccontextmanager
async def weatherman(
    home: Path, model: str, steps: Sequence[Step], *, tools: str = "[]"
) -> AsyncIterator[tuple[OdaSession, ModelServer]]:
    """A session of an agent with an `output_schema`, and its model."""
    name = "weatherman" if tools == "[]" else "weatherman_with_tools"  # modules keep their names
    folder = home / "agents" / name
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT.replace("{tools}", tools))
    async with ModelServer(steps) as server:
        base = server.openai_base if "openai" in model else server.url
        async with OdaContext.from_settings(
            agents_dir=folder.parent,
            data_dir=home,
            model=model,
            model_api_base=base,
            retry={"max_retries": 0},
        ) as oda:
            yield await oda.sessions.create(name), server


async def weather_in(session: OdaSession) -> Any:
    await session.refresh()
    return session.state.to_dict().get("weather")


async def test_an_agents_answer_is_repaired_and_both_calls_counted(
    tmp_path: Path, name: str
) -> None:
    steps: list[Step] = [
        Text(text="Warm.", usage=USED),
        Json(value=ROME, before="Here: ", usage=USED),
    ]
    async with weatherman(tmp_path, name, steps) as (session, server):
        events = [event async for event in session.stream("Weather?")]
        assert await weather_in(session) == ROME
        assert server.received == 2
        (answer,) = [event for event in events if event.content]
        metadata = answer.custom_metadata or {}
        assert (metadata[FORM_KEY]["calls"], metadata[FORM_KEY]["problem"]) == (
            2,
            "it holds no JSON",
        )


async def test_an_agent_works_where_the_parameter_is_refused(tmp_path: Path, name: str) -> None:
    async with weatherman(tmp_path, name, [REFUSES, Json(value=ROME)]) as (session, _):
        await session.ask("Weather?")
        assert await weather_in(session) == ROME


async def test_an_agent_whose_model_does_not_learn_fails_with_a_code(tmp_path: Path) -> None:
    async with weatherman(tmp_path, "openai/m", [Text(text="Warm.", times=2)]) as (
        session,
        server,
    ):
        reply = await session.ask("Weather?")
        assert reply.error is not None
        assert (reply.error["code"], server.received) == ("malformed_output", 2)
        assert await weather_in(session) is None


async def test_an_agent_with_tools_that_forgets_the_tool_for_its_answer_is_told(
    tmp_path: Path,
) -> None:
    """With Claude, ADK has agents with tools give their answer by a tool of its own."""
    look = ToolCalls(calls=(Call(name="look_up", args={"city": "Rome"}),))
    answer = ToolCalls(calls=(Call(name="set_model_response", args=ROME),))
    steps: list[Step] = [look, Text(text="It is warm."), answer]
    async with weatherman(tmp_path, "anthropic/m", steps, tools="[look_up]") as (session, server):
        await session.ask("Weather?")
        assert await weather_in(session) == ROME
        assert server.requests[2].messages[-1].text.startswith("Your answer cannot be used")


async def test_an_agent_with_tools_answers_by_the_parameter_where_both_go_together(
    tmp_path: Path,
) -> None:
    look = ToolCalls(calls=(Call(name="look_up", args={"city": "Rome"}),))
    steps: list[Step] = [look, Json(value=ROME, before="```json\n", after="\n```")]
    async with weatherman(tmp_path, "openai/m", steps, tools="[look_up]") as (session, server):
        await session.ask("Weather?")
        assert await weather_in(session) == ROME
        assert server.received == 2
