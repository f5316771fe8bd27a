"""Drafts in the words of a model: what it may change, and what stands when it may not."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from oda import OdaContext, OdaSession
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Error, Hang, Match, Step, Text
from tests.support.coached import AGENTS, ANSWERS, APP, RESUME

START = json.dumps({"resume": RESUME, "intent": "sales jobs"})
TO_WEAK_VERBS = (START, "back to task 3", ANSWERS["weak_verbs"])
BY_RULES = ANSWERS["weak_verbs"]
WORDED = "Designed the stand for the yearly trade fair, winning 9 customers on the spot"
LINE = "work[1].highlights[1]"


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def coach(directory: Path, model: ModelServer) -> OdaContext:
    """A context, not opened yet, with SQLite in a directory; its model has a second to answer."""
    return OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=directory,
        config_dir=directory,
        clock=FakeClock(start=1_773_540_000.0),
        model="gemini-stub",
        model_api_base=model.url,
        model_timeout_s=1.0,
    )


def says(*texts: str) -> Text:
    """What the model makes of a draft."""
    listed = [{"number": number, "text": text} for number, text in enumerate(texts, 1)]
    return Text(text=json.dumps({"texts": listed}), match=Match(system="words a resume"))


async def ask(session: OdaSession, *messages: str) -> Mapping[str, Any]:
    """What the client gets after the last message."""
    for message in messages:
        reply = await session.ask(message)
        assert reply.status in ("succeeded", "waiting_input"), reply.error
    content: Mapping[str, Any] = (reply.events[-1].custom_metadata or {})["oda_response"]["content"]
    return content


async def drafted(directory: Path, model: ModelServer, *steps: Step) -> Mapping[str, Any]:
    """The draft of the task with the weak verb, by a model that plays the steps."""
    plan = Text(text='{"tasks": []}', match=Match(system="defects"))
    model.play([plan, *steps])
    async with coach(directory, model) as oda:
        session = await oda.sessions.get_or_create(APP, "tom", "s")
        return await ask(session, *TO_WEAK_VERBS)


async def test_what_the_model_has_worded_is_shown_and_applied_in_another_process(
    tmp_path: Path, model: ModelServer
) -> None:
    shown = await drafted(tmp_path, model, says(WORDED))
    assert shown["action"] == "REQUEST_CONFIRM"
    assert shown["draft"]["edits"] == [{"path": LINE, "action": "update", "value": WORDED}]
    assert WORDED in shown["text"]
    sent = str(model.requests[-1].body)
    assert BY_RULES in sent
    assert "Holloway Timber" in sent
    model.play([says("Nobody asks for another wording")])
    async with coach(tmp_path, model) as oda:
        session = await oda.sessions.get_or_create(APP, "tom", "s")
        done = await ask(session, "yes")
    assert {"op": "replace", "path": "/work/1/highlights/1", "value": WORDED} in done["diff"]
    assert model.received == 2, "a yes asks no model"


async def test_what_the_model_has_invented_is_not_shown(tmp_path: Path, model: ModelServer) -> None:
    shown = await drafted(tmp_path, model, says(f"{WORDED} and raising sales by 30%"))
    assert shown["draft"]["edits"] == [{"path": LINE, "action": "update", "value": BY_RULES}]
    assert model.received == 2
    assert "30%" not in json.dumps(shown)


@pytest.mark.parametrize(
    "trouble",
    [Hang(times=None), Error(status=503, times=None), Text(text='{"texts": 7}', times=None)],
    ids=["slow", "down", "garbage"],
)
async def test_without_an_answer_the_rules_draft_stands(
    tmp_path: Path, model: ModelServer, trouble: Step
) -> None:
    shown = await drafted(tmp_path, model, trouble)
    assert shown["draft"]["edits"][0]["value"] == BY_RULES
    assert "I would change this" in shown["text"]


async def test_a_chinese_draft_is_worded_in_chinese(tmp_path: Path, model: ModelServer) -> None:
    resume = {
        "basics": {"name": "王芳", "email": "wang@example.com", "phone": "13800000000"},
        "work": [
            {
                "name": "青山物流",
                "position": "运营专员",
                "startDate": "2021-03",
                "highlights": [
                    "参与仓库日常管理工作的各项事务",
                    "带领 6 人小组完成 3 个分仓的搬迁",
                ],
            }
        ],
        "education": [
            {"institution": "武汉大学", "startDate": "2017-09", "endDate": "2021-01"},
        ],
        "skills": [{"name": "Excel"}],
    }
    worded = "重新规划仓库货位，将拣货时间缩短 30%"
    model.play([Text(text='{"tasks": []}', match=Match(system="defects")), says(worded)])
    start = json.dumps({"resume": resume, "intent": "重点改工作经历"}, ensure_ascii=False)
    async with coach(tmp_path, model) as oda:
        session = await oda.sessions.create(APP, "tom")
        shown = await ask(session, start, "我重新安排了仓库的货位，拣货时间少了百分之三十")
    assert [one["value"] for one in shown["draft"]["edits"]] == [worded]
