"""What of a long session the model is sent, what is summarised, and what a turn loads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from agents.cv.agent import build_app
from agents.cv.settings import CvSettings
from agents.cv.window import SUMMARY_MARK, tokens_of
from oda import OdaContext, OdaSession
from oda.session.live_history import LiveHistory
from oda.testing import ModelServer, ScriptedModel
from oda.testing.script import Call, Error, Hang, Match, Script, Step, Text, ToolCalls
from tests.support.counted_reads import CountedReads

ROOT = Path(__file__).parents[2]
RESUME: dict[str, Any] = {
    "basics": {"name": "张三"},
    "work": [{"name": "腾讯", "summary": "写代码"}],
}
SUMMARY_REQUEST = Match(last_user="Summarise this conversation")
POLISH = "帮我润色第一段工作"


@asynccontextmanager
async def talking(
    data: Path, *steps: Step, configured: bool = True
) -> AsyncIterator[tuple[OdaSession, ModelServer]]:
    async with ModelServer() as model:
        model.play(Script(steps=steps, default=Text(text="好的。")))
        given: Any = (
            {"model": "openai/stub", "model_api_base": model.openai_base} if configured else {}
        )
        async with OdaContext.from_settings(
            agents_dir=ROOT / "agents",
            data_dir=data,
            retry={"initial_delay_s": 0.01, "max_retries": 1},
            **given,
        ) as oda:
            yield await oda.sessions.create("cv", state={"resume": RESUME}), model


async def by_rules(session: OdaSession, turns: int) -> None:
    """Turns of four messages each."""
    for number in range(turns):
        reply = await session.ask(f"把电话改成138{number:08d}")
        assert reply.ok and f"{number:08d}" in reply.text


def summaries(events: list[Event]) -> list[str]:
    found = (event.actions.compaction for event in events)
    contents = (summary.compacted_content for summary in found if summary)
    return ["".join(part.text or "" for part in content.parts or []) for content in contents]


def sent(model: ModelServer, number: int = -1) -> list[str]:
    """The texts of the messages of a request, without the system's."""
    return [message.text for message in model.requests[number].messages]


async def test_rules_alone_never_call_a_model(tmp_path: Path) -> None:
    async with talking(tmp_path) as (session, model):
        await by_rules(session, 30)
        assert model.received == 0
        told = summaries(await session.history())
        assert told and all(text.startswith(SUMMARY_MARK) for text in told)
        assert "- the person: 把电话改成13800000000" in told[0]
        assert max(map(len, told)) <= CvSettings().summary_chars + len(SUMMARY_MARK) + 1


async def test_without_a_model_nothing_fails(tmp_path: Path) -> None:
    async with talking(tmp_path, configured=False) as (session, _):
        await by_rules(session, 25)
        reply = await session.ask(POLISH)
        assert reply.ok and "ODA_MODEL" in reply.text


async def test_a_turn_loads_as_much_late_as_early(tmp_path: Path) -> None:
    """The latest summary always lies in the window, so one window is all that is ever loaded."""
    async with talking(tmp_path) as (session, _):
        sessions = session.agent().runner.session_service
        assert isinstance(sessions, LiveHistory)
        sessions.behind = counted = CountedReads(sessions.behind)
        await by_rules(session, 45)
        assert len(counted.reads) == 45
        assert counted.reads[-20:] == [100] * 20
        assert len(await session.history()) > 180


async def test_the_model_is_sent_a_window_and_what_fell_out_in_short(tmp_path: Path) -> None:
    async with talking(tmp_path) as (session, model):
        await by_rules(session, 40)
        await session.ask(POLISH)
        texts = sent(model)
        assert len(texts) <= 51
        assert texts[0].startswith(SUMMARY_MARK)
        assert "13800000010" in texts[0]
        assert texts[-1].endswith(POLISH)
        assert "腾讯" in texts[-1]
        assert sum(map(tokens_of, texts)) < 9_000
        paired(model)


def paired(model: ModelServer) -> None:
    """Each result of a tool in the latest request has its call before it."""
    called: set[str] = set()
    for message in model.requests[-1].messages:
        called |= {call.id for call in message.tool_calls}
        assert {result.id for result in message.tool_results} <= called


async def test_long_messages_fall_out_sooner(tmp_path: Path) -> None:
    async with talking(tmp_path) as (session, model):
        for number in range(6):
            await session.ask(f"帮我优化第{number}段：" + "很长的描述" * 500)
        texts = sent(model)
        assert sum(map(tokens_of, texts[1:])) <= 9_000
        assert texts[0].startswith(SUMMARY_MARK)
        assert "帮我优化第0段" in texts[0]


async def test_the_model_makes_the_summary_of_turns_that_it_has_answered(tmp_path: Path) -> None:
    summary = Text(match=SUMMARY_REQUEST, times=None, text="喜欢简短的句子。")
    async with talking(tmp_path, summary) as (session, model):
        for _ in range(32):
            await session.ask(POLISH)
        assert summaries(await session.history()) == [f"{SUMMARY_MARK}\n喜欢简短的句子。"]
        asked = [request for request in model.requests if "Summarise this" in str(request.messages)]
        assert len(asked) == 1
        assert sent(model)[0].startswith(f"{SUMMARY_MARK}\n喜欢简短的句子。")


async def test_a_summary_is_made_of_the_one_before(tmp_path: Path) -> None:
    first = Text(match=SUMMARY_REQUEST, text="喜欢简短的句子。")
    second = Text(match=SUMMARY_REQUEST, text="还是喜欢简短的句子。")
    async with talking(tmp_path, first, second) as (session, model):
        for _ in range(38):
            await session.ask(POLISH)
        assert len(summaries(await session.history())) == 2
        asked = [request for request in model.requests if "Summarise this" in str(request.messages)]
        assert "喜欢简短的句子。" in str(asked[1].messages)
        assert sent(model)[0].startswith(f"{SUMMARY_MARK}\n还是喜欢简短的句子。")


@pytest.mark.parametrize(
    "failing",
    [
        Error(match=SUMMARY_REQUEST, times=None, status=500),
        ToolCalls(match=SUMMARY_REQUEST, times=None, calls=(Call(name="CVUndo"),)),
        Text(match=SUMMARY_REQUEST, times=None, text="  "),
    ],
)
async def test_a_summary_that_fails_is_made_without_the_model(
    tmp_path: Path, failing: Step
) -> None:
    async with talking(tmp_path, failing) as (session, model):
        for number in range(32):
            assert (await session.ask(f"{POLISH}，第{number}次")).ok
        (told,) = summaries(await session.history())
        assert f"- the person: {POLISH}，第0次" in told
        assert sent(model)[-1].endswith("第31次")


async def test_a_summary_that_hangs_is_given_up() -> None:
    model = ScriptedModel(steps=(Hang(match=SUMMARY_REQUEST, times=None),), default=Text(text="好"))
    settings = CvSettings(summary_timeout_s=0.02, window_messages=6, summary_after=2)
    app = build_app(model, model_available=lambda: True, settings=settings)
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    await sessions.create_session(app_name="cv", user_id="u", session_id="s")
    for _ in range(6):
        message = Content(role="user", parts=[Part(text=POLISH)])
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            assert event.error_code is None
    session = await sessions.get_session(app_name="cv", user_id="u", session_id="s")
    assert session is not None
    told = summaries(session.events)[0]
    assert told.splitlines() == [SUMMARY_MARK, *[f"- the person: {POLISH}", "- you: 好"] * 2]


def test_all_limits_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "window_messages": 20,
        "window_tokens": 1000,
        "summary_after": 4,
        "summary_chars": 300,
        "summary_timeout_s": 2.5,
        "undo_edits": 7,
    }
    for name, value in given.items():
        monkeypatch.setenv(f"ODA_CV__{name.upper()}", str(value))
    assert CvSettings().model_dump() == given
