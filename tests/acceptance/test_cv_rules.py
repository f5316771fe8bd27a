"""The scenarios of the resume agent, in process: ADK's runner, no model, no key."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from agents.cv.agent import build_agent
from oda.testing import ScriptedModel

DIALOGUES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("cv_dialogues.yaml").read_text(encoding="utf-8")
)
USER, SESSION = "someone", "one"


class Conversation:
    """A session with the agent on rules alone; its model fails the test when it is asked."""

    def __init__(self) -> None:
        self.model = ScriptedModel()
        self._sessions = InMemorySessionService()
        agent = build_agent(self.model, model_available=lambda: False)
        self._runner = Runner(
            app_name="cv",
            agent=agent,
            session_service=self._sessions,
            artifact_service=InMemoryArtifactService(),
        )

    async def start(self, state: dict[str, Any]) -> None:
        await self._sessions.create_session(
            app_name="cv", user_id=USER, session_id=SESSION, state=state
        )

    async def say(self, text: str) -> list[Event]:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events = self._runner.run_async(user_id=USER, session_id=SESSION, new_message=message)
        return [event async for event in events]

    async def state(self) -> dict[str, Any]:
        session = await self._sessions.get_session(app_name="cv", user_id=USER, session_id=SESSION)
        assert session is not None
        return session.state


@pytest.fixture
async def conversation() -> AsyncIterator[Conversation]:
    conversation = Conversation()
    yield conversation
    assert conversation.model.requests == ()


def calls(events: list[Event]) -> list[list[Any]]:
    """The function calls of a turn, in the notation of the dialogue file."""
    return [
        [call.name, *(call.args or {}).values()]
        for event in events
        for call in event.get_function_calls()
    ]


def reply(events: list[Event]) -> str:
    """The final text of a turn."""
    parts = events[-1].content.parts if events[-1].content else []
    return "".join(part.text or "" for part in parts or [])


@pytest.mark.parametrize("name", list(DIALOGUES))
async def test_the_scenario_goes_as_written(name: str, conversation: Conversation) -> None:
    dialogue = DIALOGUES[name]
    await conversation.start({"resume": dialogue["resume"]} if "resume" in dialogue else {})
    for turn in dialogue["turns"]:
        events = await conversation.say(turn["say"])
        state = await conversation.state()
        where = f"{name}: {turn['say']} -> {reply(events)}"
        meta = state["cv_turn"]
        for key in ("type", "intent", "section", "layer"):
            assert key not in turn or meta[key] == turn[key], (where, key, meta[key])
        assert "missing" not in turn or meta["missing_fields"] == turn["missing"], where
        assert "calls" not in turn or calls(events) == turn["calls"], (where, calls(events))
        for section, expected in turn.get("resume", {}).items():
            assert state["resume"].get(section) == expected, where
        for words in turn.get("says", []):
            assert words in reply(events), where


async def test_rules_go_through_calls_and_responses_like_a_model(
    conversation: Conversation,
) -> None:
    await conversation.start({})
    events = await conversation.say("把名字改成张三")
    kinds = [
        "call"
        if event.get_function_calls()
        else "response"
        if event.get_function_responses()
        else "text"
        for event in events
    ]
    assert kinds == ["call", "response", "text"]
    assert [event.author for event in events] == ["cv"] * 3
    (response,) = events[1].get_function_responses()
    assert response.response == {"success": True, "path": "basics.name", "value": "张三"}
    assert events[-1].is_final_response()


async def test_the_state_of_a_turn_is_what_a_client_is_told(conversation: Conversation) -> None:
    await conversation.start({"resume": {"basics": {"name": "A"}}})
    await conversation.say("change my name to B")
    turn = (await conversation.state())["cv_turn"]
    assert {key: turn[key] for key in ("type", "intent", "section", "layer", "language")} == {
        "type": "tool_result",
        "intent": "UPDATE",
        "section": "basics",
        "layer": "rules",
        "language": "en",
    }
    assert turn["tool_call"] == {
        "name": "CVEditor",
        "params": {"path": "basics.name", "action": "update", "value": "B"},
    }
    assert turn["tool_result"]["success"] is True
    assert turn["confidence"] > 0.8
    assert turn["pending_data"] is None


async def test_every_edit_bumps_the_version_of_the_document(conversation: Conversation) -> None:
    await conversation.start({})
    for text, version in (("我叫张三", 1), ("电话：13800138000", 2), ("撤销", 3)):
        await conversation.say(text)
        assert (await conversation.state())["resume"]["meta"]["version"] == version


async def test_a_document_that_is_no_resume_is_reported_and_left_alone(
    conversation: Conversation,
) -> None:
    await conversation.start({"resume": {"work": "everything"}})
    events = await conversation.say("查看工作经历")
    assert "JSON Resume" in reply(events)
    state = await conversation.state()
    assert state["resume"] == {"work": "everything"}
    assert state["cv_turn"]["type"] == "error"


async def test_undo_with_nothing_to_undo_is_answered_kindly(conversation: Conversation) -> None:
    await conversation.start({})
    events = await conversation.say("撤销")
    assert reply(events) == "没有可以撤销的修改"
    assert (await conversation.state())["cv_turn"]["type"] == "error"


async def test_several_commands_in_one_message_are_carried_out_in_order(
    conversation: Conversation,
) -> None:
    await conversation.start({"resume": {"work": [{"name": "A"}, {"name": "B"}]}})
    events = await conversation.say("把名字改成张三，然后删除第二段工作")
    assert calls(events) == [
        ["CVEditor", "basics.name", "update", "张三"],
        ["CVEditor", "work[1]", "delete"],
    ]
    assert (await conversation.state())["resume"]["work"] == [{"name": "A"}]
