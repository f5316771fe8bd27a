"""Talk with a model as a client gets it: word by word, in one call, and never unsafe words."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer, Script
from oda.testing.script import Call, Error, Text, ToolCalls

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
PROCESS = "/api/orchestrator/process"

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> Any:
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, model: ModelServer, tmp_path_factory: Any) -> httpx.AsyncClient:
    server = await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("data"),
        MODEL="gemini-stub",
        MODEL_API_BASE=model.url,
        LIMITS__REQUESTS_PER_MINUTE="100000",
    )
    http: httpx.AsyncClient = server.client
    return http


async def heard(client: httpx.AsyncClient, session: str, message: str) -> list[Json]:
    """All that is told of a turn, in order: progress, then the response."""
    body = {"session_id": session, "input": {"type": "text", "text": message}}
    headers = {"X-Oda-User": session, "Accept": "text/event-stream"}
    got = await client.post(PROCESS, json=body, headers=headers)
    assert got.status_code == 200, got.text
    lines = [line.removeprefix("data:") for line in got.text.splitlines() if line[:5] == "data:"]
    return [json.loads(line) for line in lines]


def words(told: list[Json]) -> list[str]:
    return [one["text"] for one in told if one.get("kind") == "words"]


def text_of(told: list[Json]) -> str:
    text: str = told[-1]["content"]["text"]
    return text


async def test_sentences_are_told_while_the_answer_is_written(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    answer = "小猫真可爱。它叫什么名字？你每天喂它吗"
    chunks = ("小猫真", "可爱。", "它叫什么名字？", "你每天喂它吗")
    model.play([Text(text=answer, chunks=chunks, interval_s=0.3)])
    told = await heard(client, "stream", "我家有一只猫")
    assert words(told) == ["小猫真可爱。", "它叫什么名字？"]
    assert text_of(told).startswith(answer)
    assert model.received == 1


async def test_asides_are_streamed_too_and_lead_back(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    before = model.received
    model.play([Text(text="It is frozen dew. Pretty, is it not?")])
    await heard(client, "aside", "let's recite Humpty Dumpty")
    told = await heard(client, "aside", "what is frost, is it like snow?")
    assert "".join(words(told)) == "It is frozen dew. Pretty, is it not?"
    assert text_of(told).endswith('Let us go on with "Humpty Dumpty"!')
    assert model.received == before + 1


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("好呀。别告诉妈妈，我们见个面吧。明天三点。", ["好呀。"]),
        ("别告诉妈妈，我们见个面吧。好呀。", []),
        ("Sure. Just kill yourself. It is easy. Bye.", ["Sure. "]),
        ("你真笨，怎么这都不会", []),
    ],
)
async def test_unsafe_words_are_never_shown(
    client: httpx.AsyncClient, model: ModelServer, answer: str, shown: list[str]
) -> None:
    for chunks in (tuple(answer), (answer,)):
        session = f"unsafe-{len(chunks)}-{len(answer)}"
        model.play([Text(text=answer, chunks=chunks)])
        told = await heard(client, session, "我家有一只猫")
        assert "".join(words(told)) == ("".join(shown) if len(chunks) > 1 else "")
        for unsafe in ("见个面", "kill yourself", "真笨"):
            assert unsafe not in str(told)
        got = await client.get(
            f"/v1/apps/companion/sessions/{session}/events", headers={"X-Oda-User": session}
        )
        assert got.status_code == 200
        assert "见个面" not in got.text
        assert "kill yourself" not in got.text
        assert told[-1]["success"]


async def test_notation_for_programs_is_not_for_a_child(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Text(text='{"reply": "hi. there. you"}'), Text(text="你好呀。今天开心吗？")])
    told = await heard(client, "data", "我家有一只猫")
    assert text_of(told).startswith("你好呀。今天开心吗？")
    assert "{" not in "".join(words(told))


async def test_a_failure_is_retried_as_everywhere_and_the_child_is_answered_in_the_end(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Error(status=503), Text(text="我在呢。")])
    told = await heard(client, "retry", "我家有一只猫")
    assert [one["kind"] for one in told if "kind" in one].count("retry") == 1
    assert text_of(told).startswith("我在呢。")
    model.play(Script(default=Error(status=503, times=None)))
    told = await heard(client, "down", "我家有一只猫")
    assert [one["kind"] for one in told if "kind" in one].count("retry") == 3
    assert told[-1]["success"]
    assert "走神" in text_of(told)


async def test_words_that_lead_elsewhere_are_unsafe_in_no_slot(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    unsafe = {"activity": "recite", "sure": 90, "title": "别告诉妈妈，我们见个面吧"}
    asks = {"question": "别告诉妈妈，我们见个面吧？"}
    model.play(
        [
            ToolCalls(calls=(Call(name="go_to", args=unsafe),)),
            ToolCalls(calls=(Call(name="ask_what_is_meant", args=asks),)),
        ]
    )
    for message in ("要不我来一段", "就是那个那个嘛"):
        assert "见个面" not in str(await heard(client, "slots", message))


async def test_the_stream_of_v1_has_the_same_words(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    answer = "小猫真可爱。它叫什么名字？"
    model.play([Text(text=answer, chunks=tuple(answer))])
    await client.post("/v1/apps/companion/sessions", json={"session_id": "v1"})
    got = await client.post(
        "/v1/apps/companion/sessions/v1/turns",
        json={"message": "我家有一只猫"},
        headers={"Accept": "text/event-stream"},
    )
    assert "小猫真可爱。" in got.text
    assert "REPLACED" not in got.text
