"""A child talks while it does homework: answers are taken, remarks are not, and nothing shifts."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
PROCESS = "/api/orchestrator/process"
PAGE = "批改作业：\n1. 8+7=\n2. 太阳是什么颜色？\n3. 9-4="
ENGLISH_PAGE = "check my homework:\n1. 8+7=\n2. What color is the sun?\n3. 9-4="

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, tmp_path_factory: Any) -> httpx.AsyncClient:
    server = await serve_folder(
        AGENTS, tmp_path_factory.mktemp("data"), LIMITS__REQUESTS_PER_MINUTE="100000"
    )
    http: httpx.AsyncClient = server.client
    return http


async def say(client: httpx.AsyncClient, session: str, *messages: str) -> list[Json]:
    answers = []
    for message in messages:
        body = {"session_id": session, "input": {"type": "text", "text": message}}
        got = await client.post(PROCESS, json=body, headers={"X-Oda-User": session})
        assert got.status_code == 200, got.text
        answers.append(got.json())
    return answers


def given(answer: Json) -> list[str | None]:
    return [item["answer"] for item in answer["content"]["items"]]


async def test_remarks_between_answers_shift_nothing(client: httpx.AsyncClient) -> None:
    *talk, last = await say(
        client,
        "zh",
        PAGE,
        *("今天好热", "为什么要算这个？", "我今天得了15颗星", "嗯……15", "我喜欢恐龙"),
        *("妈妈叫我吃饭", "应该是红色吧", "我家有3只猫", "老师，是5"),
    )
    assert {one["phase"] for one in talk} == {"correcting"}
    for remark, question in ((1, "8+7"), (3, "8+7"), (5, "太阳"), (6, "太阳"), (8, "9-4")):
        text = talk[remark]["content"]["text"]
        assert question in text.splitlines()[-1]
        assert "我听到啦" in text
    assert "答不上来" in talk[2]["content"]["text"]
    assert given(last) == ["15", "红色", "5"]
    assert last["content"]["score"] == 100


async def test_remarks_in_english(client: httpx.AsyncClient) -> None:
    *talk, last = await say(
        client,
        "en",
        ENGLISH_PAGE,
        *("it's so hot today", "I have 3 cats", "it's 15, right?", "my pencil broke"),
        *("I think it's yellow", "mom is calling me", "um, 5?"),
    )
    assert {one["phase"] for one in talk} == {"correcting"}
    assert "8+7" in talk[1]["content"]["text"]
    assert given(last) == ["15", "yellow", "5"]


async def test_what_may_be_an_answer_is_asked_about(client: httpx.AsyncClient) -> None:
    page = "批改作业：\n1. 用“高兴”造句。\n2. 8+7="
    asked, taken, last = (await say(client, "ask", page, "我今天很高兴", "是的", "15"))[1:]
    assert "“我今天很高兴”是你的答案吗" in asked["content"]["text"]
    assert asked["suggested_actions"] == ["是的", "不是"]
    assert "8+7" in taken["content"]["text"]
    assert given(last) == ["我今天很高兴", "15"]
    _, no, answered = (await say(client, "no", page, "我今天很高兴", "不是", "15还是16"))[1:]
    assert "造句" in no["content"]["text"]
    assert answered["phase"] == "correcting"


async def test_an_item_may_be_named(client: httpx.AsyncClient) -> None:
    *_, last = await say(client, "named", PAGE, "第三题是5", "1. 15\n2. 红色")
    assert given(last) == ["15", "红色", "5"]


@pytest.mark.parametrize(
    ("session", "page", "remarks", "answer"),
    [
        ("t-zh", "8+7=14\n9-4=6", ["我家有3只猫", "这道题好难啊", "你几岁了？"], "呃 十五"),
        ("t-en", "8+7=14\n9-4=6", ["I have 3 cats", "this is hard", "how old are you?"], "it's 15"),
    ],
)
async def test_remarks_while_a_mistake_is_put_right(
    client: httpx.AsyncClient, session: str, page: str, remarks: list[str], answer: str
) -> None:
    first, *aside, right = await say(client, session, page, *remarks, answer)
    assert first["phase"] == "tutoring"
    kind = ("你已经很努力啦", "you are trying hard")
    assert any(words in aside[1]["content"]["text"] for words in kind)
    for one in aside:
        assert (one["phase"], "8+7" in one["content"]["text"]) == ("tutoring", True)
    assert "9-4" in right["content"]["text"]
    (last,) = await say(client, session, "第2题是5")
    assert [item["solved"] for item in last["content"]["items"]] == [True, True]
