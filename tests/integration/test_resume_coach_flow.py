"""The coach on the kernel: a whole coaching, days between, another process, and with a model."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.adk.platform.time import reset_time_provider, set_time_provider

from oda import OdaContext, OdaSession
from oda.message.reply import Reply
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Error, Text
from tests.support.coached import AGENTS, ANSWERS, APP, RESUME

_START = 1_773_540_000.0
"""2026-03-15 in Shanghai."""
_DAY_S = 86_400.0


def coach(directory: Path, clock: FakeClock, model: ModelServer | None = None) -> OdaContext:
    """A context, not opened yet, with SQLite in a directory."""
    options: dict[str, Any] = {}
    if model is not None:
        options = {"model": "gemini-stub", "model_api_base": model.url}
    return OdaContext.from_settings(
        agents_dir=AGENTS, data_dir=directory, config_dir=directory, clock=clock, **options
    )


def start(intent: str = "sales jobs") -> str:
    return json.dumps({"resume": RESUME, "intent": intent})


def card(reply: Reply) -> Mapping[str, Any]:
    """What a client of any door gets."""
    assert reply.status in ("succeeded", "waiting_input"), reply.error
    content: Mapping[str, Any] = (reply.events[-1].custom_metadata or {})["oda_response"]["content"]
    return content


async def ask(session: OdaSession, *messages: str) -> Mapping[str, Any]:
    replies = [card(await session.ask(message)) for message in messages]
    return replies[-1]


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """The time that messages are stored with."""
    clock = FakeClock(start=_START)
    set_time_provider(clock.now)
    yield clock
    reset_time_provider()


async def test_a_coaching_over_days_and_processes(tmp_path: Path, clock: FakeClock) -> None:
    said: list[str] = [start("找销售工作")]
    kinds = []
    shown: Mapping[str, Any] = {}
    while not shown.get("finished"):
        async with coach(tmp_path, clock) as oda:
            session = await oda.sessions.get_or_create(APP, "tom", "s")
            for message in said:
                shown = await ask(session, message)
        await clock.sleep(2 * _DAY_S)
        current = shown["current_task"]
        if current is not None:
            kinds.append(current["kind"])
            asks = shown["action"] == "REQUEST_CONFIRM"
            said = ["好的，就这样" if asks else ANSWERS.get(current["kind"], "好的")]
    assert kinds == [
        *("missing_contact", "missing_contact", "order", "order"),
        *("weak_verbs", "weak_verbs", "missing_dates", "missing_dates"),
    ]
    assert shown["progress"] == {"done": 4, "skipped": 0, "total": 4}
    assert shown["score"]["before"] < 75 < 85 < shown["score"]["after"] < 100
    assert "全部完成" in shown["text"]
    paths = [one["path"] for one in shown["diff"]]
    assert "/basics/email" in paths
    assert "/education/0/startDate" in paths


async def test_the_first_words_without_a_resume_ask_for_one(tmp_path: Path) -> None:
    async with coach(tmp_path, FakeClock(start=_START)) as oda:
        session = await oda.sessions.create(APP, "tom")
        reply = await session.ask("你好")
        assert "JSON Resume" in reply.text
        refused = await session.ask('{"resume": {"work": 5}}')
        assert "work" in refused.text
        nothing = await ask(session, start(), '{"confirm": true}')
        assert nothing["text"] == "No draft waits for your yes."


@pytest.fixture
async def model() -> Any:
    async with ModelServer() as server:
        yield server


async def test_a_model_words_the_plan(tmp_path: Path, model: ModelServer) -> None:
    phrases = [
        {
            "id": "missing_contact:basics",
            "diagnosis": "A sales manager whom nobody can call sells nothing.",
            "goal": "Put phone and email on top.",
        },
        {"id": "invented", "diagnosis": "There is no such task.", "goal": "None."},
    ]
    model.play([Text(text=json.dumps({"tasks": phrases}))])
    async with coach(tmp_path, FakeClock(start=_START), model) as oda:
        session = await oda.sessions.create(APP, "tom")
        shown = await ask(session, start())
        assert shown["current_task"]["diagnosis"] == phrases[0]["diagnosis"]
        assert len(shown["tasks"]) == 4
        assert "Put phone and email on top." in shown["text"]
        assert "sales jobs" in str(model.requests[-1].body)
        done = await ask(session, ANSWERS["missing_contact"], "yes")
        assert done["tasks"][0]["diagnosis"] == phrases[0]["diagnosis"]
        assert done["progress"]["done"] == 1
        assert model.received == 1, "the dialogue needs no model"


@pytest.mark.parametrize("trouble", [Error(status=503, times=None), Text(text="[1, 2", times=None)])
async def test_the_rules_plan_when_the_model_does_not(
    tmp_path: Path, model: ModelServer, trouble: Any
) -> None:
    model.play([trouble])
    async with coach(tmp_path, FakeClock(start=_START), model) as oda:
        shown = await ask(await oda.sessions.create(APP, "tom"), start())
    assert len(shown["tasks"]) == 4
    assert "nobody can reach you" in shown["text"]
