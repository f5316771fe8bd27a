"""What becomes of a message when the model that classifies fails, lies, or talks nonsense."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from oda import OdaContext, Runner
from oda.agent.limits import TurnLimits
from oda.orchestration import Orchestrator
from oda.orchestration.classification import FAILED, classify_step
from oda.orchestration.state import STATE_KEY
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Disconnect, Empty, Error, Hang, Malformed, Script, Step, Text, Usage
from oda.turn.submission import Submission
from tests.support.guided import APP, guide, response, steps_in, trace
from tests.support.orchestrators.guide.agent import RULES, Lobby, Quiz
from tests.support.rehearsed_steps import rehearsal

NOT_KNOWN = {"intent": "continue_current", "score": 50, "slots": {}, "reason": FAILED}
USED = Usage(prompt_tokens=100, completion_tokens=7)


def says(answer: object) -> Step:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Text(text=text, usage=USED)


@pytest.fixture(params=["gemini", "openai"])
async def world(request: Any, tmp_path: Path) -> AsyncIterator[tuple[OdaContext, ModelServer]]:
    """The guide and its model, by two providers' protocols."""
    rehearsal.clear()
    async with ModelServer() as model, guide(tmp_path, model=model, provider=request.param) as oda:
        await oda.warm_up([APP])
        yield oda, model


FAULTS: dict[str, Step] = {
    "500": Error(status=500),
    "401": Error(status=401),
    "429": Error(status=429, retry_after=30),
    "disconnected": Disconnect(),
    "half a body": Malformed(),
    "a web page": Malformed(kind="html"),
    "nothing": Empty(),
    "blanks": says("  \n"),
    "words": says("I think that the user wants the quiz."),
    "a list": says(["quiz", 90]),
    "an unknown intent": says({"intent": "dance", "score": 90}),
    "a score of 1000": says({"intent": "quiz", "score": 1000}),
    "a score below 0": says({"intent": "quiz", "score": -1}),
    "a score in words": says({"intent": "quiz", "score": "high"}),
    "no score": says({"intent": "quiz"}),
    "no intent": says({"score": 90}),
    "slots of another kind": says({"intent": "quiz", "score": 90, "slots": "France"}),
    "half of the JSON": says('{"intent": "quiz", "sco'),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_turn_never_fails_because_classification_did(
    world: tuple[OdaContext, ModelServer], fault: str
) -> None:
    oda, model = world
    model.play(Script(default=FAULTS[fault]))
    session = await oda.sessions.create(APP)
    reply = await session.ask("hello there")
    assert reply.text == "lobby: hello there"
    assert trace(reply)["classification"] == NOT_KNOWN
    assert steps_in(reply.events) == ["classify-intent!"]
    assert [event.error_code for event in reply.events if event.error_code] == []


UNDERSTOOD = {
    "slots as pairs": {
        "intent": "quiz",
        "score": 90,
        "slots": [{"name": "country", "value": "China"}],
        "reason": "wants to play",
    },
    "slots as an object": {"intent": "quiz", "score": 90, "slots": {"country": "China"}},
    "empty slots among them": {
        "intent": "quiz",
        "score": 90,
        "slots": {"country": "China", "city": ""},
    },
    "a score as text": {"intent": "quiz", "score": "90", "slots": {"country": "China"}},
    "more than was asked for": {
        "intent": "quiz",
        "score": 90,
        "slots": {"country": "China"},
        "mood": "good",
    },
}


@pytest.mark.parametrize("fenced", [False, True], ids=["bare", "fenced"])
@pytest.mark.parametrize("form", UNDERSTOOD)
async def test_the_forms_in_which_models_answer(
    world: tuple[OdaContext, ModelServer], form: str, fenced: bool
) -> None:
    oda, model = world
    text = json.dumps(UNDERSTOOD[form], indent=2)
    model.play([says(f"Here you are:\n```json\n{text}\n```" if fenced else text)])
    session = await oda.sessions.create(APP)
    reply = await session.ask("hello there")
    assert reply.text == "What is the capital of China?"
    assert trace(reply)["classification"]["slots"] == {"country": "China"}


async def test_what_the_model_is_asked(world: tuple[OdaContext, ModelServer]) -> None:
    oda, model = world
    model.play([says({"intent": "quiz", "score": 60}), says({"intent": "lobby", "score": 20})])
    session = await oda.sessions.create(APP)
    await session.ask("games?")
    await session.ask("hm")
    first, second = model.requests
    assert "- quiz: to be asked for capitals" in first.system
    assert json.loads(first.messages[-1].text) == {
        "user_input": "games?",
        "active_scene": "lobby",
        "pending_switch": None,
    }
    asked = json.loads(second.messages[-1].text)["pending_switch"]
    assert asked == {"target": "quiz", "slots": {}, "age_turns": 0}
    assert "continue_current" in json.dumps(first.body)
    assert '"enum"' in json.dumps(first.body), "the intents are part of the schema"


async def test_a_high_score_that_is_a_lie_only_switches(
    world: tuple[OdaContext, ModelServer],
) -> None:
    oda, model = world
    model.play([says({"intent": "quiz", "score": 100, "slots": {"phase": "asking", "x": "y"}})])
    session = await oda.sessions.create(APP)
    reply = await session.ask("leave me alone")
    assert (response(reply)["scene"], response(reply)["phase"]) == ("quiz", "asking")
    assert session.state[STATE_KEY]["scene_state"] == {"phase": "asking", "country": "France"}
    assert rehearsal.ran == []
    assert (await session.ask("stop")).text == "lobby: exited"


async def test_a_slow_model_is_not_waited_for(world: tuple[OdaContext, ModelServer]) -> None:
    _, model = world
    model.play(Script(default=Hang()))
    scenes = [Lobby(), Quiz()]
    slow = classify_step({scene.name: scene.purpose for scene in scenes}, RULES, timeout_s=0.2)
    rules = RULES.model_copy(update={"commands": ()})
    root = Orchestrator(APP, scenes=scenes, rules=rules, classify=slow)
    runner = Runner(app=App(name=APP, root_agent=root), session_service=InMemorySessionService())
    await runner.session_service.create_session(app_name=APP, user_id="u", session_id="s")
    message = Content(role="user", parts=[Part(text="hello there")])
    events = [
        event async for event in runner.run_async(user_id="u", session_id="s", new_message=message)
    ]
    assert (events[-1].custom_metadata or {})["oda_orchestration"]["classification"] == NOT_KNOWN
    assert (events[0].custom_metadata or {})["oda_step"]["fell_back"] == "timeout"
    await model.wait_until(lambda server: server.abandoned == 1)


async def test_what_models_use_in_steps_is_counted_in_the_turn(
    world: tuple[OdaContext, ModelServer],
) -> None:
    oda, model = world
    model.play([says("nonsense"), says({"intent": "quiz", "score": 90})])
    session = await oda.sessions.create(APP)
    message = Content(role="user", parts=[Part(text="hello there")])
    accepted = await oda.turns.submit(session, Submission(message=message))
    turn = await oda.turns.wait(accepted.turn.turn_id)
    assert turn.status == "succeeded"
    usage = turn.usage
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (2, 200, 14)


async def test_the_limits_of_a_turn_hold_for_its_steps(
    world: tuple[OdaContext, ModelServer],
) -> None:
    oda, model = world
    model.play(Script(default=says("nonsense")))
    session = await oda.sessions.create(APP)
    message = Content(role="user", parts=[Part(text="hello there")])
    limits = TurnLimits(model_calls=1)
    accepted = await oda.turns.submit(session, Submission(message=message, limits=limits))
    turn = await oda.turns.wait(accepted.turn.turn_id)
    assert (turn.status, turn.reply, turn.usage.model_calls) == (
        "succeeded",
        "lobby: hello there",
        1,
    )
    assert model.received == 1


async def test_without_a_model_a_message_stays_in_its_scene(tmp_path: Path) -> None:
    async with guide(tmp_path, clock=FakeClock()) as oda:
        session = await oda.sessions.create(APP)
        reply = await session.ask("hello there")
        assert reply.text == "lobby: hello there"
        assert trace(reply)["classification"]["reason"] == "no command, and no model"
