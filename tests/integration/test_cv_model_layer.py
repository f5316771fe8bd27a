"""Turns that the model answers, through an embedded context and a model over real HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event

from oda import OdaContext, OdaSession
from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Step, Text, ToolCalls

ROOT = Path(__file__).parents[2]
WORK = {"name": "腾讯", "position": "前端工程师", "startDate": "2021-07", "summary": "写代码"}
RESUME: dict[str, Any] = {"basics": {"name": "张三"}, "work": [WORK]}
POLISH = "帮我润色第一段工作，职位写技术负责人"


def edit(path: str, action: str, value: Any) -> ToolCalls:
    args = {"path": path, "action": action, "value": value}
    return ToolCalls(calls=(Call(name="CVEditor", args=args),))


@asynccontextmanager
async def talking(
    data: Path, *steps: Step, resume: dict[str, Any] | None = None
) -> AsyncIterator[tuple[OdaSession, ModelServer]]:
    """A session of the agent, and the model that answers it."""
    async with (
        ModelServer() as model,
        OdaContext.from_settings(
            agents_dir=ROOT / "agents",
            data_dir=data,
            model="openai/stub",
            model_api_base=model.openai_base,
            retry={"initial_delay_s": 0.01, "max_retries": 2},
        ) as oda,
    ):
        model.play(list(steps))
        yield await oda.sessions.create("cv", state={"resume": resume or RESUME}), model


async def state_of(session: OdaSession) -> dict[str, Any]:
    await session.refresh()
    return session.state.to_dict()


def sent(model: ModelServer, number: int = -1) -> str:
    """The texts of a request to the model."""
    return "\n".join(str(message) for message in model.requests[number].messages)


async def streamed(session: OdaSession, text: str) -> list[Event]:
    run_config = RunConfig(streaming_mode=StreamingMode.SSE)
    return [event async for event in session.stream(text, run_config=run_config)]


# --- the list of changes


async def test_a_reply_ends_with_what_has_changed(tmp_path: Path) -> None:
    steps = (edit("work[0].position", "update", "技术负责人"), Text(text="已更新。"))
    async with talking(tmp_path, *steps) as (session, _):
        reply = await session.ask(POLISH)
        assert reply.text == (
            "已更新。\n\n【本次修改】\n- 工作经历“腾讯”：职位：前端工程师 → 技术负责人"
        )
        turn = (await state_of(session))["cv_turn"]
        assert (turn["type"], turn["before"]) == ("tool_result", None)


async def test_in_the_language_of_the_person_and_of_all_edits_at_once(tmp_path: Path) -> None:
    steps = (
        edit("work[0].summary", "update", "Wrote code"),
        edit("work[0].summary", "update", "Built the front end"),
        edit("skills", "add", {"name": "React"}),
        Text(text="Done."),
    )
    async with talking(tmp_path, *steps) as (session, _):
        reply = await session.ask("Please polish my first job and add what I used: React")
        header, polished, added = reply.text.splitlines()[2:]
        assert header == "[What has changed]"
        assert polished.endswith(": 写代码 → Built the front end")
        assert added.endswith(": React")


async def test_a_reply_without_a_change_stays_as_it_is(tmp_path: Path) -> None:
    async with talking(tmp_path, Text(text="您想怎么改？")) as (session, _):
        assert (await session.ask("帮我润色一下")).text == "您想怎么改？"


async def test_what_was_taken_back_is_no_change(tmp_path: Path) -> None:
    undo = ToolCalls(calls=(Call(name="CVUndo", args={}),))
    steps = (edit("work[0].summary", "update", "好"), undo, Text(text="还是原来的好。"))
    async with talking(tmp_path, *steps) as (session, _):
        assert (await session.ask("帮我润色一下")).text == "还是原来的好。"


async def test_a_list_that_the_model_writes_itself_is_replaced_by_ours(tmp_path: Path) -> None:
    lie = "已更新。\n\n【本次修改】\n- 什么都改了"
    steps = (edit("work[0].position", "update", "技术负责人"), Text(text=lie), Text(text=lie))
    async with talking(tmp_path, *steps) as (session, model):
        reply = await session.ask(POLISH)
        assert reply.text.count("【本次修改】") == 1
        assert "什么都改了" not in reply.text
        assert (await session.ask("再润色一下")).text == "已更新。"
        assert "【本次修改】" not in sent(model)


async def test_it_is_said_once_in_a_stream_with_retries(tmp_path: Path) -> None:
    steps: tuple[Step, ...] = (
        edit("work[0].position", "update", "技术负责人"),
        Cut(text="已经更新了一部分"),
        Error(status=503),
        Text(text="已更新。"),
    )
    async with talking(tmp_path, *steps) as (session, _):
        events = await streamed(session, POLISH)
        said = [event for event in events if event.is_final_response() and not event.partial]
        texts = [part.text or "" for e in said if e.content for part in e.content.parts or []]
        assert "".join(texts).count("【本次修改】") == 1
        assert texts[-1].startswith("已更新。\n\n【本次修改】")


async def test_it_is_said_once_after_a_resume(tmp_path: Path) -> None:
    failing: list[Step] = [Error(status=503) for _ in range(3)]
    edited = edit("work[0].position", "update", "技术负责人")
    steps: list[Step] = [edited, *failing, Text(text="已更新。")]
    async with talking(tmp_path, *steps) as (session, _):
        failed = await session.ask(POLISH)
        assert failed.status == "failed"
        assert failed.invocation_id is not None
        events = [event async for event in session.resume(failed.invocation_id)]
        text = "".join(
            part.text or "" for e in events if e.content for part in e.content.parts or []
        )
        assert text.count("【本次修改】\n- 工作经历“腾讯”：职位：前端工程师 → 技术负责人") == 1


# --- what the model sees


async def test_the_model_sees_the_outline_what_is_unfinished_and_the_language(
    tmp_path: Path,
) -> None:
    steps = (Text(text="好"), Text(text="ok"))
    async with talking(tmp_path, *steps) as (session, model):
        await session.ask("添加一条工作经历，在华为")
        await session.ask("帮我润色一下")
        seen = sent(model)
        assert "work[0]: 腾讯 · 前端工程师 · 2021-07 – present (+ summary)" in seen
        assert 'Unfinished: add to work {"name": "华为"}; still needed: position' in seen
        assert "The person speaks Chinese." in seen
        await session.ask("Please improve my summary")
        assert "The person speaks English." in sent(model)


async def test_what_comes_before_the_latest_words_stays_the_same(tmp_path: Path) -> None:
    steps = (
        edit("work[0].summary", "update", "负责前端"),
        Text(text="好"),
        Text(text="好的"),
    )
    async with talking(tmp_path, *steps) as (session, model):
        await session.ask("帮我润色第一段工作")
        await session.ask("再润色一下")
        first, second, third = model.requests
        assert first.system == second.system == third.system
        assert first.messages[:-1] == third.messages[: len(first.messages) - 1]
        assert [str(m).count("<resume-outline>") for m in third.messages][-1] == 1
        assert str(third.messages).count("<resume-outline>") == 1


# --- nothing invented


async def test_what_nobody_has_said_is_refused(tmp_path: Path) -> None:
    steps = (
        edit("work", "add", {"company": "字节跳动", "position": "架构师", "startDate": "2019-03"}),
        Text(text="请问公司和时间？"),
    )
    async with talking(tmp_path, *steps) as (session, model):
        reply = await session.ask("帮我优化简历，润色工作经历")
        assert reply.text == "请问公司和时间？"
        state = await state_of(session)
        assert state["resume"]["work"] == RESUME["work"]
        assert state["cv_turn"]["type"] == "clarify"
        (result,) = state["cv_turn"]["results"]
        assert "字节跳动" in result["error"] and "2019-03" in result["error"]
        assert "不要编造" in sent(model)


async def test_what_the_person_said_earlier_is_written(tmp_path: Path) -> None:
    entry = {"name": "字节跳动", "position": "架构师", "startDate": "2019-03"}
    steps = (Text(text="好的，请继续"), edit("work", "add", entry), Text(text="已添加。"))
    async with talking(tmp_path, *steps) as (session, _):
        await session.ask("我想丰富一下简历，先润色思路：2019年3月我去了字节做架构师")
        reply = await session.ask("请完善并补充这一段")
        assert "已添加工作经历：字节跳动 · 架构师 · 2019-03 – 至今" in reply.text


@pytest.mark.parametrize(
    ("path", "action", "value"),
    [
        ("work[0].summary", "update", "性能提升 30%"),
        ("work[0]", "update", {"summary": "服务 500 万用户"}),
        ("work[0].highlights", "add", "Cut costs by 20 percent"),
        ("work[0]", "update", '{"endDate": "2023-06"}'),
        ("education", "add", [{"school": "清华大学", "major": "计算机"}]),
        ("basics", "update", {"email": "zhang@example.com"}),
        ("basics.phone", "update", "13800138000"),
        ("basics.profiles", "add", {"network": "GitHub", "url": "https://github.com/zhangsan"}),
        ("references", "add", {"name": "李四", "reference": "很好"}),
        ("work[0].summary", "update", "写代码，荣获公司创新奖"),
        ("work[0].position", "update", "Technical Director"),
        (
            "work[0].highlights",
            "add",
            "Wrote code as Technical Director, winning the innovation award",
        ),
        ("skills", "add", {"name": "Kubernetes"}),
        ("basics.name", "update", "Li Si"),
    ],
)
async def test_in_whatever_way_it_is_written(
    tmp_path: Path, path: str, action: str, value: Any
) -> None:
    steps = (edit(path, action, value), Text(text="请告诉我"))
    async with talking(tmp_path, *steps) as (session, _):
        await session.ask("帮我优化一下简历")
        state = await state_of(session)
        assert state["resume"] == RESUME
        assert "不要编造" in state["cv_turn"]["results"][0]["error"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("basics.name", "Zhang San"),
        ("work[0].name", "Tencent"),
        ("work[0].position", "Front-End Engineer"),
        ("work[0].summary", "Wrote code"),
    ],
)
async def test_a_translation_of_what_is_there_is_written(
    tmp_path: Path, path: str, value: str
) -> None:
    async with talking(tmp_path, edit(path, "update", value), Text(text="好")) as (session, _):
        await session.ask("帮我把简历优化成英文的")
        assert (await state_of(session))["cv_turn"]["results"][0]["value"] == value


async def test_what_was_taken_out_of_the_resume_may_come_back(tmp_path: Path) -> None:
    steps = (edit("work", "add", WORK), Text(text="已恢复。"))
    async with talking(tmp_path, *steps) as (session, _):
        await session.ask("删除第一段工作")
        assert "已恢复" in (await session.ask("帮我优化一下，把刚删的写回来")).text
        assert (await state_of(session))["resume"]["work"] == [WORK]


# --- nothing lost


async def test_an_unfinished_entry_outlives_turns_of_the_model(tmp_path: Path) -> None:
    other = {"name": "字节跳动", "position": "架构师"}
    steps = (
        Text(text="好"),
        edit("work", "add", other),
        Text(text="已添加"),
        edit("work", "add", {"name": "华为", "position": "研发"}),
        Text(text="已添加"),
    )
    async with talking(tmp_path, *steps) as (session, _):
        await session.ask("添加一条工作经历，在华为")
        unfinished = (await state_of(session))["cv_pending"]
        await session.ask("帮我润色一下")
        assert (await state_of(session))["cv_pending"] == unfinished
        await session.ask("帮我优化并补充在字节跳动做架构师的经历")
        assert (await state_of(session))["cv_pending"] == unfinished
        await session.ask("帮我优化并把华为那条写上，我做研发")
        state = await state_of(session)
        assert state["cv_pending"] == []
        assert state["cv_turn"]["pending_data"] is None
        assert [entry["name"] for entry in state["resume"]["work"]] == ["腾讯", "字节跳动", "华为"]


@pytest.mark.parametrize("status", [401, 503])
async def test_a_model_that_fails_loses_nothing(tmp_path: Path, status: int) -> None:
    failing = [Error(status=status) for _ in range(3)]
    async with talking(tmp_path, *failing) as (session, model):
        await session.ask("添加一条工作经历，在华为")
        before = await state_of(session)
        failed = await session.ask("帮我润色一下")
        assert failed.status == "failed" and failed.error is not None
        after = await state_of(session)
        assert (after["resume"], after["cv_pending"]) == (before["resume"], before["cv_pending"])
        done = await session.ask("职位是研发，2020年1月到2022年3月")
        assert "华为" in done.text
        model.play([Text(text="好")])
        assert (await session.ask("再润色一下")).text == "好"
        assert "帮我润色一下" in sent(model)
