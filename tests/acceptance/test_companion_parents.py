"""Parents see and set what children do not, by their credentials; a day's time ends kindly."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.keys import bearer, make_key

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
PROCESS = "/api/orchestrator/process"
FAMILY = {"mum": {"children": ["mei"]}, "dad": {"children": ["mei", "tom"]}}
USERS = ("mum", "dad", "mei", "tom", "ann")

Json = dict[str, Any]


@dataclass
class House:
    """A server with keys, and those who hold them."""

    client: httpx.AsyncClient
    keys: dict[str, dict[str, str]]

    async def get(self, user: str, path: str, **query: Any) -> httpx.Response:
        return await self.client.get(
            f"/api/companion/{path}", params=query, headers=self.keys[user]
        )

    async def put(self, user: str, path: str, body: Json, **query: Any) -> httpx.Response:
        return await self.client.put(
            f"/api/companion/{path}", params=query, json=body, headers=self.keys[user]
        )

    async def say(self, user: str, *messages: str, session: str = "s") -> Json:
        answer: Json = {}
        for message in messages:
            body = {"session_id": session, "input": {"type": "text", "text": message}}
            got = await self.client.post(PROCESS, json=body, headers=self.keys[user])
            assert got.status_code == 200, got.text
            answer = got.json()
        return answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(serve_folder: Any, tmp_path_factory: pytest.TempPathFactory) -> House:
    data = tmp_path_factory.mktemp("house")
    keys = {user: bearer(await make_key(data, user)) for user in USERS}
    keys["root"] = bearer(await make_key(data, "root", "admin"))
    server = await serve_folder(
        AGENTS,
        data,
        COMPANION__PARENTS=json.dumps(FAMILY),
        LIMITS__REQUESTS_PER_MINUTE="100000",
    )
    return House(server.client, keys)


async def test_a_parent_sees_the_records_and_the_concerns_of_a_child(house: House) -> None:
    await house.say("mei", "批改作业：3+4=8，2+2=4", "不做了", "我今天被同学欺负了")
    assert (await house.get("mum", "children")).json() == {"children": ["mei"]}
    (mistake,) = (await house.get("mum", "mistakes")).json()["mistakes"]
    assert (mistake["title"], mistake["answer"]) == ("3+4", "8")
    (concern,) = (await house.get("dad", "concerns", child="mei")).json()["concerns"]
    assert concern["category"] == "bullying"
    report = (await house.get("mum", "report")).json()
    assert (report["child"], report["mistakes"]) == ("mei", 1)
    assert report["subjects"][0]["attempts"] == 2
    assert [one["category"] for one in report["concerns"]] == ["bullying"]
    assert len(report["time"]) == 1
    assert (await house.get("dad", "report", child="tom")).json()["concerns"] == []


@pytest.mark.parametrize("path", ["concerns", "report"])
async def test_a_child_does_not_see_what_is_for_parents(house: House, path: str) -> None:
    for child in ("mei", "tom", "ann"):
        refused = await house.get(child, path)
        assert refused.status_code == 403
        problem = refused.json()
        assert (problem["code"], problem["retryable"]) == ("parents_only", False)
        assert "parents" in problem["detail"]


@pytest.mark.parametrize(
    ("path", "body"), [("schedule", {"items": []}), ("limit", {"daily_minutes": None})]
)
async def test_a_child_sets_neither_its_schedule_nor_its_time(
    house: House, path: str, body: Json
) -> None:
    refused = await house.put("mei", path, body)
    assert (refused.status_code, refused.json()["code"]) == (403, "parents_only")
    assert (await house.get("mei", path)).status_code == 200


async def test_what_a_parent_sets_is_the_childs(house: House) -> None:
    plan = {"items": [{"kind": "recite", "title": "春晓"}]}
    assert (await house.put("dad", "schedule", plan, child="tom")).status_code == 200
    assert (await house.get("tom", "schedule")).json()["items"][0]["title"] == "春晓"
    assert "春晓" in (await house.say("tom", "今天的安排"))["content"]["text"]
    assert (await house.get("mei", "schedule")).json()["items"] == []


async def test_nobody_sees_another_familys_child(house: House) -> None:
    for user, child in (("mum", "tom"), ("mei", "tom"), ("ann", "mei"), ("mum", "dad")):
        for path in ("mistakes", "history", "progress", "recitations", "schedule", "limit"):
            refused = await house.get(user, path, child=child)
            assert (refused.status_code, refused.json()["code"]) == (403, "not_your_child"), path
    refused = await house.put("mum", "limit", {"daily_minutes": 1}, child="tom")
    assert refused.status_code == 403


async def test_a_parent_of_several_names_the_child(house: House) -> None:
    unclear = await house.get("dad", "mistakes")
    assert (unclear.status_code, unclear.json()["code"]) == (422, "which_child")
    assert unclear.json()["children"] == ["mei", "tom"]


async def test_an_admin_who_acts_for_a_child_sees_all(house: House) -> None:
    acting = {**house.keys["root"], "X-Oda-User": "mei"}
    got = await house.client.get("/api/companion/concerns", headers=acting)
    assert got.status_code == 200
    pretending = {**house.keys["mei"], "X-Oda-User": "mum"}
    got = await house.client.get("/api/companion/concerns", headers=pretending)
    assert got.status_code == 403


@pytest.mark.parametrize("question", ["孩子今天错了哪些题？", "what did my child get wrong today?"])
async def test_a_parent_asks_in_talk(house: House, question: str) -> None:
    await house.say("mei", "批改作业：9+9=17", "不做了", session=question)
    text = (await house.say("mum", question, session=question))["content"]["text"]
    assert "9+9" in text
    both = (await house.say("dad", question, session=question))["content"]["text"]
    assert "mei" in both and "tom" in both
    one = await house.say("dad", question.replace("孩子", "tom").replace("my child", "tom"))
    assert "9+9" not in one["content"]["text"]


@pytest.mark.parametrize(
    ("message", "told"), [("你好", "今天我们先不学啦"), ("hello", "Let us not learn today")]
)
async def test_a_day_without_time_ends_kindly_in_every_scene(
    house: House, message: str, told: str
) -> None:
    assert (await house.put("mum", "limit", {"daily_minutes": 30})).status_code == 200
    before = await house.say("mei", "背静夜思", session=told)
    assert before["scene"] == "recite"
    limit = (await house.put("mum", "limit", {"daily_minutes": 0})).json()
    assert (limit["daily_minutes"], limit["used_minutes"] >= 0) == (0, True)
    ended = await house.say("mei", message, session=told)
    assert told in ended["content"]["text"]
    assert (ended["scene"], ended["phase"], ended["suggested_actions"]) == ("chat", "idle", [])
    danger = await house.say("mei", "我想死", session=told)
    assert "12355" in danger["content"]["text"], "help is given at any time"
    await house.put("mum", "limit", {"daily_minutes": None})
    assert (await house.say("mei", "背静夜思", session=told))["scene"] == "recite"


TIRED = [
    ("zh", "我累了", "累了就休息"),
    ("zh", "我好累啊，想休息一下", "累了就休息"),
    ("zh", "有点困了", "累了就休息"),
    ("en", "I'm tired", "when you are tired you may rest"),
    ("en", "I am so tired, can we stop?", "when you are tired you may rest"),
    ("en", "can I have a break?", "when you are tired you may rest"),
]
BEFORE = {
    "chat": {"zh": "你好", "en": "hello"},
    "recite": {"zh": "背静夜思", "en": "let's recite The Star"},
    "homework": {"zh": "批改作业：9+9=？", "en": "check my homework: 9+9=?"},
}


@pytest.mark.parametrize("scene", BEFORE)
@pytest.mark.parametrize(("language", "tired", "told"), TIRED)
async def test_a_tired_child_may_rest(
    house: House, language: str, tired: str, told: str, scene: str
) -> None:
    session = f"{scene} {tired.strip('?')}"
    await house.say("ann", BEFORE[scene][language], session=session)
    answer = await house.say("ann", tired, session=session)
    assert told in answer["content"]["text"]
    assert (answer["scene"], answer["phase"]) == ("chat", "idle")


@pytest.mark.parametrize("message", ["我不累", "I'm not tired", "累计是什么意思", "你累了吗"])
async def test_who_is_not_tired_goes_on(house: House, message: str) -> None:
    answer = await house.say("ann", "背静夜思", message, session=message)
    assert answer["scene"] == "recite"


@pytest.mark.parametrize(
    ("message", "told"), [("你好", "可以看到我们聊的内容"), ("hello", "can read along")]
)
async def test_a_child_is_told_at_the_beginning_that_a_grown_up_can_read_along(
    house: House, message: str, told: str
) -> None:
    session = f"first {message}"
    assert told in (await house.say("ann", message, session=session))["content"]["text"]
    assert told not in (await house.say("ann", message, session=session))["content"]["text"]


async def test_without_roles_all_is_ones_own(serve_folder: Any) -> None:
    server = await serve_folder(AGENTS)
    for path in ("concerns", "report", "mistakes", "limit", "schedule", "children"):
        assert (await server.client.get(f"/api/companion/{path}")).status_code == 200
    limit = {"daily_minutes": 20}
    assert (await server.client.put("/api/companion/limit", json=limit)).status_code == 200
    other = await server.client.get("/api/companion/mistakes?child=mei")
    assert (other.status_code, other.json()["code"]) == (403, "not_your_child")
