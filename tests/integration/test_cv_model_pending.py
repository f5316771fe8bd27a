"""What is pending changes with the edit that settles it: never before, never without it."""

from typing import Any

import pytest
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from agents.cv.agent import build_agent
from oda import OdaAgent
from oda.testing import ScriptedModel

KEY: Any = {"app_name": "cv", "user_id": "u", "session_id": "s"}
BEGUN = "添加一条工作经历，在华为"
REST = "职位是研发，2020年1月到2022年3月"


class Dies(BasePlugin):
    """Ends the run where the process might die, once."""

    def __init__(self, where: str) -> None:
        super().__init__(name="dies")
        self.where: str | None = where

    def _die(self, here: str) -> None:
        if self.where == here:
            self.where = None
            raise ConnectionError(f"died {here} the tool")

    async def before_tool_callback(self, **_: Any) -> None:
        self._die("before")

    async def after_tool_callback(self, **_: Any) -> None:
        self._die("after")


async def begun(where: str) -> tuple[OdaAgent, Dies]:
    """A conversation in which an entry is unfinished."""
    sessions = InMemorySessionService()
    await sessions.create_session(**KEY)
    dies = Dies("")
    agent = build_agent(ScriptedModel(), model_available=lambda: False)
    runner = Runner(app=App(name="cv", root_agent=agent, plugins=[dies]), session_service=sessions)
    oda = OdaAgent(runner, "cv", "u", "s", max_retries=0)
    assert "职位" in said([event async for event in oda.run_async(BEGUN)])
    dies.where = where
    return oda, dies


async def state(oda: OdaAgent) -> dict[str, Any]:
    session = await oda.runner.session_service.get_session(**KEY)
    assert session is not None
    return session.state


def said(events: list[Event]) -> str:
    texts = (part.text or "" for e in events if e.content for part in e.content.parts or [])
    return "".join(texts)


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_turn_that_dies_with_its_tool_leaves_the_entry_unfinished(where: str) -> None:
    oda, _ = await begun(where)
    events = [event async for event in oda.run_async(REST)]
    left = await state(oda)
    if (left.get("resume") or {}).get("work"):
        assert left["cv_pending"] == []
    else:
        (entry,) = left["cv_pending"]
        assert entry["data"] == {"name": "华为"}
    assert events


async def test_a_turn_that_goes_on_adds_the_entry_once() -> None:
    oda, _ = await begun("before")
    [event async for event in oda.run_async(REST)]
    assert (await state(oda))["cv_pending"][0]["data"] == {"name": "华为"}
    invocation_id = oda.get_agent_info()["invocation_id"]
    [event async for event in oda.resume(invocation_id)]
    [event async for event in oda.run_async(REST)]
    after = await state(oda)
    assert [entry["name"] for entry in after["resume"]["work"]] == ["华为"]
    assert after["cv_pending"] == []


async def test_an_edit_that_is_refused_leaves_the_entry_unfinished() -> None:
    oda, _ = await begun("")
    message = Content(role="user", parts=[Part(text=REST)])
    spoilt = {"resume": {"work": "nothing"}}
    events = [event async for event in oda.run_async(message, state_delta=spoilt)]
    assert (await state(oda))["cv_pending"][0]["data"] == {"name": "华为"}
    assert said(events)
