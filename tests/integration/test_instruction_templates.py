"""An instruction's `{key}` is filled in once: what a user controls is never a template itself."""

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from oda.agent.oda_agent import OdaAgent
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Text, ToolCalls

APP, USER, SESSION = "app", "user", "session"
STATE = {"name": "Ann", "password": "hidden", "user:city": "Rome"}
TEMPLATES = ["{password}", "{ password? }", "{artifact.secret.txt}", "{{password}}", "{user:city}"]


async def asked(
    message: str,
    *,
    state: dict[str, Any] | None = None,
    artifacts: dict[str, str] | None = None,
    tool: Callable[..., Any] | None = None,
    **agent: Any,
) -> tuple[str, list[str]]:
    """The system instruction and the contents with which the model was called last."""
    calls = (ToolCalls(calls=(Call(name="look"),)),) if tool else ()
    model = ScriptedModel(steps=(*calls, Text(text="answer")))
    root = LlmAgent(name="agent", model=model, tools=[tool] if tool else [], **agent)
    sessions, store = InMemorySessionService(), InMemoryArtifactService()
    await sessions.create_session(
        app_name=APP, user_id=USER, session_id=SESSION, state={**STATE, **(state or {})}
    )
    for name, content in {"secret.txt": "hidden", **(artifacts or {})}.items():
        await store.save_artifact(
            app_name=APP,
            user_id=USER,
            session_id=SESSION,
            filename=name,
            artifact=Part(text=content),
        )
    runner = Runner(
        app=App(name=APP, root_agent=root), session_service=sessions, artifact_service=store
    )
    agent_of_session = OdaAgent(runner, APP, USER, SESSION, clock=FakeClock())
    events = [event async for event in agent_of_session.run_async(message)]
    assert not any(event.error_code for event in events)
    request = model.requests[-1]
    return str(request.config.system_instruction), [_said(content) for content in request.contents]


def _said(content: Content) -> str:
    return "".join(
        part.text or str(part.function_response and part.function_response.response)
        for part in content.parts or ()
    )


async def test_instruction_is_filled_in_from_state_and_artifacts() -> None:
    told, _ = await asked(
        "hi", instruction="I am {name} of {user:city}: {artifact.secret.txt}{no?}."
    )
    assert "I am Ann of Rome: hidden." in told


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("place", ["instruction", "global_instruction"])
async def test_template_in_a_value_of_the_state_stays_as_it_is(place: str, template: str) -> None:
    instructions: dict[str, Any] = {place: "I am {name}."}
    told, _ = await asked("hi", state={"name": template}, **instructions)
    assert f"I am {template}." in told
    assert "hidden" not in told


@pytest.mark.parametrize("template", TEMPLATES)
async def test_template_in_an_artifact_stays_as_it_is(template: str) -> None:
    told, _ = await asked(
        "hi", artifacts={"notes": template}, instruction="Know: {artifact.notes}!"
    )
    assert f"Know: {template}!" in told


@pytest.mark.parametrize("template", TEMPLATES)
async def test_template_in_a_message_stays_as_it_is(template: str) -> None:
    told, heard = await asked(template, instruction="I am {name}.")
    assert heard == [template]
    assert "hidden" not in told


@pytest.mark.parametrize("template", TEMPLATES)
async def test_template_in_a_result_of_a_tool_stays_as_it_is(template: str) -> None:
    async def look() -> str:
        """Look."""
        return template

    told, heard = await asked("hi", tool=look, instruction="I am {name}.")
    assert heard[-1] == str({"result": template})
    assert "hidden" not in told


@pytest.mark.parametrize("template", TEMPLATES)
async def test_template_beside_a_static_instruction_stays_as_it_is(template: str) -> None:
    told, heard = await asked(
        "hi", state={"name": template}, static_instruction="Be kind.", instruction="I am {name}."
    )
    assert any(f"I am {template}." in text for text in [told, *heard])
    assert "hidden" not in str([told, heard])


async def test_names_that_are_no_names_of_the_state_are_left_alone() -> None:
    told, _ = await asked("hi", instruction='Answer as {"a": 1} or { not a name } or {}.')
    assert 'Answer as {"a": 1} or { not a name } or {}.' in told
