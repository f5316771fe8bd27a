"""Conversations with an orchestrator, through sessions on SQLite."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.platform.time import reset_time_provider, set_time_provider

from oda import OdaContext
from oda.orchestration.model_access import StepContext
from oda.orchestration.state import STATE_KEY
from oda.session.oda_session import OdaSession
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Script, Step, Text
from tests.support.guided import APP, guide, response, steps_in, trace
from tests.support.rehearsed_steps import rehearsal

pytestmark = pytest.mark.usefixtures("fresh_rehearsal")


@pytest.fixture
def fresh_rehearsal() -> Iterator[None]:
    rehearsal.clear()
    yield


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def oda(tmp_path: Path, model: ModelServer) -> AsyncIterator[OdaContext]:
    async with guide(tmp_path, model=model) as opened:
        yield opened


REPOSITORY = Path(__file__).parents[2]


def meant(intent: str, score: int, **slots: str) -> Step:
    """What the model takes a message for."""
    pairs = [f'{{"name": "{name}", "value": "{value}"}}' for name, value in slots.items()]
    return Text(text=f'{{"intent": "{intent}", "score": {score}, "slots": [{",".join(pairs)}]}}')


async def talk(session: OdaSession, *lines: str) -> list[str]:
    """Each answer, after the scene in which the session is then."""
    answers = [await session.ask(line) for line in lines]
    return [f"{response(answer)['scene']}: {answer.text}" for answer in answers]


async def test_a_conversation_through_three_scenes(oda: OdaContext, model: ModelServer) -> None:
    session = await oda.sessions.create(APP)
    model.play([meant("lobby", 90), meant("quiz", 95, country="China")])
    assert await talk(
        session, "hello", "ask me something", "paris", "story", "once upon a time"
    ) == [
        "lobby: lobby: hello",
        "quiz: What is the capital of China?",
        "lobby: Right!",
        "story: and then? (0)",
        "story: and then? (1)",
    ]
    assert await talk(session, "stop", "story", "here: the cat", "the end") == [
        "lobby: lobby: exited",
        "story: and then? (2)",
        "story: and then? (3)",
        "lobby: and then? (4)",
    ]


async def test_nothing_of_a_turn_is_kept_once_it_has_ended(oda: OdaContext) -> None:
    """Neither by us nor by what ADK remembers of functions: it would be all that was said."""
    gc.collect()
    of_other_tests = {id(one) for one in gc.get_objects() if isinstance(one, StepContext)}
    session = await oda.sessions.create(APP)
    await talk(session, "story", *map(str, range(10)))
    loop = asyncio.get_running_loop()
    for _ in range(500):  # asyncio drops cancelled timers, and their turns, when they are many
        loop.call_later(3600, print).cancel()
    await asyncio.sleep(0)
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, StepContext)]
    assert len([one for one in kept if id(one) not in of_other_tests]) <= 2


async def test_what_a_client_gets(oda: OdaContext, model: ModelServer) -> None:
    session = await oda.sessions.create(APP)
    model.play([meant("continue_current", 90)])
    await session.ask("quiz")
    got = dict(response(await session.ask("Paris!")))
    assert got.pop("timestamp").endswith("Z")
    assert got == {
        "success": True,
        "content": {"type": "text", "text": "Right!"},
        "trace_id": None,
        "session_id": session.session_id,
        "scene": "lobby",
        "phase": "idle",
        "suggested_actions": [],
        "need_tts": False,
        "device_actions": [{"type": "dance"}],
        "error": None,
        "processing_time_ms": 0.0,
    }
    story = response(await session.ask("story"))
    assert story["content"] == {
        "type": "card",
        "text": "and then? (0)",
        "title": "Story",
        "lines": ["story"],
    }


PLAYS = "quiz: What is the capital of China?"
TELLS = "story: and then? (0)"
ASKED = "lobby: Did you want to play the quiz?"


@pytest.mark.parametrize(
    ("model_says", "lines", "answers"),
    [
        ([], ["Yes!"], [PLAYS]),
        ([], ["对"], [PLAYS]),
        ([], ["no"], ["lobby: All right, let us go on."]),
        ([], ["不。"], ["lobby: 好的，那我们继续。"]),
        ([("quiz", 80)], ["the quiz"], [PLAYS]),
        ([("story", 80)], ["a tale"], [TELLS]),
        ([("story", 60)], ["tale", "yes"], ["lobby: Did you want to tell a story?", TELLS]),
        ([("lobby", 80)] * 2, ["hm", "hm", "yes"], ["lobby: lobby: hm"] * 2 + [PLAYS]),
        (
            [("lobby", 80)] * 3,
            ["hm", "hm", "hm", "yes"],
            ["lobby: lobby: hm"] * 3 + ["lobby: lobby: yes"],
        ),
        ([], ["stop", "yes"], ["lobby: lobby: exited", "lobby: lobby: yes"]),
    ],
)
async def test_a_question_is_answered_or_forgotten(
    oda: OdaContext,
    model: ModelServer,
    model_says: list[tuple[str, int]],
    lines: list[str],
    answers: list[str],
) -> None:
    session = await oda.sessions.create(APP)
    steps = [meant("quiz", 60, country="China"), *(meant(*one) for one in model_says)]
    model.play(Script(steps=tuple(steps), default=meant("continue_current", 90)))
    assert await talk(session, "games?") == [ASKED]
    assert await talk(session, *lines) == answers


async def test_exit_in_a_scene_is_asked_about_when_it_is_not_sure(
    oda: OdaContext, model: ModelServer
) -> None:
    session = await oda.sessions.create(APP)
    model.play([meant("exit_current", 60)])
    assert await talk(session, "story", "enough?", "yes") == [
        "story: and then? (0)",
        "story: Did you want to go back to the lobby?",
        "lobby: lobby: exited",
    ]


@pytest.mark.parametrize(
    ("said", "code"), [("x" * 201, "too_long"), ("some DYNAMITE", "not_allowed")]
)
async def test_a_message_that_is_rejected_costs_nothing_and_changes_nothing(
    oda: OdaContext, model: ModelServer, said: str, code: str
) -> None:
    session = await oda.sessions.create(APP)
    await session.ask("quiz")
    before = dict(session.state)[STATE_KEY]
    reply = await session.ask(said)
    got = response(reply)
    assert (got["success"], got["error"]["code"], got["scene"]) == (False, code, "quiz")
    assert trace(reply)["decision"]["refusal"] == code
    after = dict(session.state)[STATE_KEY]
    kept = ("active_scene", "scene_state", "pending_switch")
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert (rehearsal.ran, model.received) == ([], 0)


async def test_why_is_recorded_with_the_answer(oda: OdaContext, model: ModelServer) -> None:
    session = await oda.sessions.create(APP)
    model.play([meant("quiz", 60)])
    reply = await session.ask("games?")
    recorded = trace(reply)
    assert recorded["classification"]["intent"] == "quiz"
    assert recorded["decision"]["reason"] == "quiz may be meant: 50 <= 60 < 75"
    assert steps_in(reply.events) == ["classify-intent"]
    stored = await session.history()
    assert [event.author for event in stored] == ["user", "guide", "guide"]
    assert [STATE_KEY in event.actions.state_delta for event in stored] == [False, False, True]


async def test_a_turn_by_rules_stores_two_events(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP)
    await session.ask("quiz")
    assert len(await session.history()) == 2


@pytest.mark.parametrize(
    "bad",
    [
        "nonsense",
        [],
        {"active_scene": "dungeon"},
        {"active_scene": "quiz", "scene_state": {"phase": "dancing"}},
        {"last_activity": "9999-12-31T23:59:59+00:00"},
        {"pending_switch": {"target": "dungeon", "slots": {}, "age_turns": 0}},
        {"scene_state": None, "pending_switch": 5},
    ],
)
async def test_a_state_that_a_client_has_spoilt_is_no_crash(oda: OdaContext, bad: Any) -> None:
    session = await oda.sessions.create(APP)
    await session.ask("quiz")
    state = dict(session.state)[STATE_KEY]
    await session.state.set(STATE_KEY, {**state, **bad} if isinstance(bad, dict) else bad)
    assert (await session.ask("yes")).ok
    assert (await session.ask("stop")).text == "lobby: exited"


async def test_a_spoilt_history_of_the_user_is_no_crash(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP)
    spoilt = {"user:orchestration_history": [{"said": 1}], "user:time_zone": ["nowhere"]}
    await session.state.update(spoilt)
    assert (await session.ask("quiz")).ok
    assert len(session.state["user:orchestration_history"]) == 1


async def test_the_last_five_exchanges_of_a_user_are_remembered_over_sessions(
    oda: OdaContext,
) -> None:
    first, second = await oda.sessions.create(APP), await oda.sessions.create(APP)
    other = await oda.sessions.create(APP, user_id="somebody else")
    await talk(first, "here: 1", "here: 2", "story", "once upon a time 3")
    await other.ask("here: not mine")
    await talk(second, "here: 4", "here: 5")
    remembered = second.state["user:orchestration_history"]
    assert [(one["scene"], one["said"]) for one in remembered] == [
        ("lobby", "here: 2"),
        ("story", "story"),
        ("story", "once upon a time 3"),
        ("lobby", "here: 4"),
        ("lobby", "here: 5"),
    ]


async def test_turns_of_one_session_run_one_after_the_other(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP)
    await session.ask("quiz")
    replies = await asyncio.gather(*(session.ask("here: Rome") for _ in range(4)))
    assert [reply.text for reply in replies] == ["Wrong."] * 4
    assert rehearsal.ran == ["clean-answer", "check-answer", "make-remark"] * 4
    assert rehearsal.most_at_once == 1
    assert session.state[STATE_KEY]["version"] == 5


async def test_a_day_ends_in_a_live_session_when_it_ends_for_the_user(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP, state={"user:time_zone": "Asia/Shanghai"})
    clock = FakeClock(start=1_773_158_100.0)  # 23:55 on 10 March 2026 in Shanghai
    set_time_provider(clock.now)
    try:
        assert response(await session.ask("here: 1"))["timestamp"].endswith("23:55:00+08:00")
        await talk(session, "story", "here: 2")
        clock.advance(240)
        assert await talk(session, "here: 3") == ["story: and then? (2)"]
        clock.advance(120)
        after = await session.ask("here: 4")
        assert (after.text, trace(after)["resets"]) == ("lobby: here: 4", ["new_day"])
        assert session.state[STATE_KEY]["scene_state"]["visits"] == 1
        await talk(session, "story")
        clock.advance(601)
        idle = await session.ask("here: 5")
        assert (idle.text, trace(idle)["resets"]) == ("lobby: here: 5", ["idle"])
        assert session.state[STATE_KEY]["scene_state"]["visits"] == 2
        clock.advance(86_400)
        assert trace(await session.ask("here: 6"))["resets"] == ["expired"]
    finally:
        reset_time_provider()


async def test_a_fork_goes_on_by_itself(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP)
    await talk(session, "story", "once upon a time")
    forked = await oda.sessions.fork(session, session_id="forked")
    assert await talk(forked, "here: a dog") == ["story: and then? (2)"]
    assert forked.state[STATE_KEY]["session_id"] == forked.session_id
    assert await talk(session, "stop") == ["lobby: lobby: exited"]
    assert await talk(forked, "here: barked") == ["story: and then? (3)"]


async def test_a_rewind_takes_the_scene_back(oda: OdaContext) -> None:
    session = await oda.sessions.create(APP)
    await talk(session, "story", "here: a dog")
    left = await session.ask("stop")
    assert left.invocation_id is not None
    await session.rewind(left.invocation_id)
    assert await talk(session, "here: barked") == ["story: and then? (2)"]
    assert session.state[STATE_KEY]["version"] == 3


async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with guide(tmp_path) as oda:
        session = await oda.sessions.create(APP)
        await session.ask("quiz about China")
    async with guide(tmp_path) as oda:
        again = await oda.sessions.get(APP, session.user_id, session.session_id)
        assert await talk(again, "beijing") == ["lobby: Right!"]


_TRACED = """
import asyncio, sys
from pathlib import Path
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.support.guided import APP, guide

spans, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)

async def main():
    async with guide(Path(sys.argv[1])) as oda:
        await (await oda.sessions.create(APP)).ask("quiz")

asyncio.run(main())
(span,) = [span for span in spans.get_finished_spans() if "oda.decision" in span.attributes]
print(span.name, *(f"{k}={v}" for k, v in sorted(span.attributes.items()) if "oda." in k), sep="|")
"""


async def test_the_decision_stands_in_the_trace(tmp_path: Path) -> None:
    """In a process of its own: OpenTelemetry has one tracer provider for all."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _TRACED, str(tmp_path)),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert said.decode().splitlines()[-1] == (
        "invoke_node orchestrate|oda.decision=switch|oda.intent=quiz"
        "|oda.reason=quiz is meant: 95 >= 75|oda.scene=quiz|oda.score=95"
    )
