"""The companion as clients meet it: WebSocket over a restart, steps, schedule, /v1, `oda chat`."""

import signal
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import pytest_asyncio

from tests.support.oda_command import Home
from tests.support.orchestrator_client import OrchestratorClient, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
STEPS = "/api/agents/companion"
POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"

BEFORE = {
    "你好": "chat/idle",
    "帮我一下": "chat/clarify",
    "我喜欢古诗": "chat/handoff_wait",
    "是的": "recite/listening",
    "春眠不觉晓，处处闻啼鸟": "recite/listening",
}
"""What a child says, and where that leads: its schedule has a poem."""
AFTER = {
    "夜来风雨声，花落知多少": "recite/done",
    "check my homework: 3+4=7, 47+38=75": "homework/tutoring",
    "hint": "homework/tutoring",
    "85": "homework/summary",
    "bye": "chat/idle",
}
"""The same conversation, after the server was started again."""

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told_before(serve_folder: Any, data: Path) -> list[Json]:
    """The first half of the conversation, over the WebSocket of a server that then ends."""
    server = await serve_folder(AGENTS, data)
    plan = {"items": [{"kind": "recite", "title": "春晓", "author": "孟浩然"}]}
    assert (await server.client.put("/api/companion/schedule", json=plan)).status_code == 200
    async with opened(server.url) as socket:
        responses = await said(socket, *BEFORE)
    await server.stop(signal.SIGKILL)
    return responses


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(serve_folder: Any, data: Path, told_before: list[Json]) -> Any:
    """The server that goes on with the data of the first one."""
    return await serve_folder(AGENTS, data, LIMITS__REQUESTS_PER_MINUTE="100000")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(server: Any) -> httpx.AsyncClient:
    http: httpx.AsyncClient = server.client
    return http


async def said(socket: OrchestratorClient, *messages: str) -> list[Json]:
    responses = []
    for message in messages:
        await socket.say(message, "talk")
        responses.append(await socket.response())
    return responses


def places(responses: list[Json]) -> list[str]:
    return [f"{one['scene']}/{one['phase']}" for one in responses]


async def test_ten_turns_over_three_scenes_with_a_restart_in_the_middle(
    server: Any, told_before: list[Json]
) -> None:
    assert places(told_before) == [*BEFORE.values()]
    async with opened(server.url) as socket:
        after = await said(socket, *AFTER)
    assert places(after) == [*AFTER.values()]
    recited, corrected, hint, solved, _ = after
    assert (recited["content"]["type"], recited["content"]["score"]) == ("card", 100)
    assert recited["device_actions"] == [{"type": "dance"}, {"type": "smile"}]
    assert [item["correct"] for item in corrected["content"]["items"]] == [True, False]
    assert "85" not in hint["content"]["text"]
    assert solved["content"]["items"][1]["solved"] is True


async def test_the_same_conversation_through_v1(client: httpx.AsyncClient) -> None:
    created = await client.post("/v1/apps/companion/sessions", json={"session_id": "v1"})
    assert created.status_code == 201
    for message, place in {**BEFORE, **AFTER}.items():
        turn = await client.post("/v1/apps/companion/sessions/v1/turns", json={"message": message})
        assert turn.status_code == 200, turn.text
        state = (await client.get("/v1/apps/companion/sessions/v1/state")).json()
        stored = state["orchestration"]
        assert f"{stored['active_scene']}/{stored['scene_state']['phase']}" == place


async def test_what_was_learnt_is_known_by_day_and_user(
    client: httpx.AsyncClient, server: Any
) -> None:
    mine, other = ({"X-Oda-User": name} for name in ("mei", "tom"))
    for passed in (True, False):
        record = {"title": "春晓", "score": 90.0, "passed": passed, "round": 1, "errors": []}
        saved = await client.post(f"{STEPS}/save-history", json=record, headers=mine)
        assert set(saved.json()) == {"id", "saved_at"}
    found = await client.post(f"{STEPS}/learning-progress", json={}, headers=mine)
    assert found.json() == {
        "subjects": [{"subject": "recitation", "attempts": 2, "correct": 1, "trend": "new"}]
    }
    nothing = await client.post(f"{STEPS}/learning-progress", json={"days": 7}, headers=other)
    assert nothing.json() == {"subjects": []}


async def test_a_schedule_belongs_to_a_user_and_a_day(client: httpx.AsyncClient) -> None:
    mine, other = ({"X-Oda-User": name} for name in ("lin", "ben"))
    items = [{"title": "静夜思", "text": POEM}, {"kind": "homework", "title": "口算"}]
    body = {"day": "2026-03-10", "items": items}
    await client.put("/api/companion/schedule", json=body, headers=mine)
    where = "/api/companion/schedule?day=2026-03-10"
    mine_then = (await client.get(where, headers=mine)).json()
    assert [item["title"] for item in mine_then["items"]] == ["静夜思", "口算"]
    assert (await client.get(where, headers=other)).json()["items"] == []
    today = (await client.get("/api/companion/schedule", headers=mine)).json()
    assert today == {"day": f"{datetime.now(ZoneInfo('Asia/Shanghai')):%Y-%m-%d}", "items": []}
    wrong = {"items": [{"kind": "dance", "title": "x"}]}
    refused = await client.put("/api/companion/schedule", json=wrong, headers=mine)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "items.0.kind")


STEP_CALLS: list[tuple[str, Json, Json]] = [
    (
        "classify-intent",
        {"user_input": "我要背诵《静夜思》", "active_scene": "chat"},
        {"intent": "recite", "score": 95, "slots": {"title": "静夜思"}},
    ),
    ("chat", {"user_input": "你好", "session_id": "s"}, {"decision": None}),
    (
        "clarify",
        {"user_input": "help me", "session_id": "s"},
        {"suggested_actions": ["Let's recite", "Check my homework", "Let's chat"]},
    ),
    (
        "confirm-handoff",
        {"user_input": "好的，走吧", "session_id": "s", "pending_switch": {"target": "recite"}},
        {"decision": "confirm"},
    ),
    (
        "confirm-handoff",
        {"user_input": "不，谢谢", "session_id": "s", "pending_switch": {"target": "recite"}},
        {"decision": "deny"},
    ),
    (
        "confirm-handoff",
        {"user_input": "月亮", "session_id": "s", "pending_switch": {"target": "recite"}},
        {"decision": "unclear"},
    ),
    (
        "analyze-idle-intent",
        {"user_input": "我准备好了", "learning_schedule": {"items": [{"title": "春晓"}]}},
        {"wants_recitation": True, "title": "春晓"},
    ),
    (
        "check-is-recitation-content",
        {"expected_text": POEM, "user_text": "这是什么意思"},
        {"is_recitation": False},
    ),
    (
        "compare-and-evaluate",
        {"expected_text": POEM, "user_text": POEM, "language": "zh"},
        {"score": 100.0, "passed": True, "errors": []},
    ),
    (
        "generate-memory-tips",
        {
            "errors": [
                {"type": "wrong", "expected": "明", "actual": "看", "position": 2},
            ],
            "expected_text": POEM,
        },
        {"tips": ["“床前明月光”这一句里是“明”，不是“看”。"]},
    ),
    ("generate-standard-answer", {"title": "春晓"}, {"source": "library", "confidence": 1.0}),
    (
        "generate-standard-answer",
        {"title": "没有人知道的诗", "author": "无名", "language": "zh"},
        {"text": "", "confidence": 0.0},
    ),
    (
        "homework-correct",
        {"subject": "math", "text": "3+4=7\n2x+3=7, x=3"},
        {"score": 50},
    ),
    ("homework-correct", {"image": "aGVsbG8="}, {"items": [], "score": None}),
    ("homework-tutor", {"question": "47+38", "hint_level": 3}, {"reveals_answer": True}),
    ("homework-summary", {"session_id": "nobody"}, {"strengths": [], "to_practise": []}),
    ("learning-progress", {"subject": "history", "days": 3}, {"subjects": []}),
]


@pytest.mark.parametrize(("step", "request_", "answer"), STEP_CALLS)
async def test_a_step_over_http(
    client: httpx.AsyncClient, step: str, request_: Json, answer: Json
) -> None:
    got = await client.post(f"{STEPS}/{step}", json=request_)
    assert got.status_code == 200, got.text
    assert {name: got.json()[name] for name in answer} == answer


@pytest.mark.parametrize(
    ("step", "request_", "status"),
    [
        ("chat", {}, 422),
        ("compare-and-evaluate", {"expected_text": "……", "user_text": "x"}, 422),
        ("homework-tutor", {"question": "1+1", "hint_level": 4}, 422),
        ("homework-correct", {}, 422),
        ("homework-correct", {"text": "\n".join(f"{n}+1={n}" for n in range(300))}, 422),
        ("homework-correct", {"image": "not base64!"}, 422),
        ("save-history", {"title": "x", "score": 101, "passed": True, "round": 1}, 422),
        ("learning-progress", {"days": 0}, 422),
    ],
)
async def test_a_request_that_cannot_be_served_is_a_problem(
    client: httpx.AsyncClient, step: str, request_: Json, status: int
) -> None:
    got = await client.post(f"{STEPS}/{step}", json=request_)
    assert (got.status_code, got.headers["content-type"]) == (status, "application/problem+json")


async def test_a_conversation_on_the_terminal(tmp_path: Path) -> None:
    lines = "我要背《静夜思》\n床前明月光，疑是地上霜\n举头望明月，低头思故乡\n5×6=31\n30\n再见\n"
    ended = await Home(tmp_path).run("chat", "companion", "--agents", str(AGENTS), stdin=lines)
    assert ended.code == 0, ended.stderr
    for shown in ("静夜思", "2句", "100分", "5×6", "改对", "再见"):
        assert shown in ended.stdout
