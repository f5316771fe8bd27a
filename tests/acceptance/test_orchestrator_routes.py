"""The doors of an orchestrator over HTTP: messages, streams, steps, and what is refused."""

import asyncio
import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.context import OdaContext
from oda.orchestration.state import TIME_ZONE_KEY
from oda.testing import ModelServer
from oda.testing.script import Error, Text
from tests.acceptance.test_openapi import explore

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

SCENES = Path(__file__).parents[1] / "support" / "scene_agents"
PROCESS = "/api/orchestrator/process"
STEPS = "/api/agents/butler"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
WAV = base64.b64encode(b"RIFF\x00\x00\x00\x00WAVE").decode()

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(shared_model: ModelServer, serve_folder: Any, data: Path) -> httpx.AsyncClient:
    """Of one server for all tests."""
    server = await serve_folder(
        SCENES,
        data,
        MODEL="gemini-stub",
        MODEL_API_BASE=shared_model.url,
        RETRY__MAX_RETRIES="2",
        LIMITS__REQUESTS_PER_MINUTE="1000000",
    )
    http: httpx.AsyncClient = server.client
    return http


def text(said: str) -> Json:
    return {"type": "text", "text": said}


async def say(client: httpx.AsyncClient, said: str | Json | list[Json], **fields: Any) -> Json:
    """Send a message; what is answered with 200."""
    body = {"input": text(said) if isinstance(said, str) else said, **fields}
    answer = await client.post(PROCESS, json=body)
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    return response


async def in_story(client: httpx.AsyncClient) -> str:
    """A new session that has come to the middle of the scene `story`."""
    response = await say(client, "story")
    assert (response["scene"], response["phase"]) == ("story", "telling")
    session_id: str = response["session_id"]
    return session_id


def told(stream: str) -> list[tuple[str, Json]]:
    """The events of a stream with their data."""
    lines = [line for line in stream.splitlines() if line and not line.startswith(":")]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return [(kind[7:], json.loads(data[6:])) for kind, data in pairs]


async def test_a_message_is_answered_with_the_whole_response(client: httpx.AsyncClient) -> None:
    answer = await client.post(PROCESS, json={"session_id": "mine", "input": text("hello")})
    response = answer.json()
    turn = (await client.get(answer.headers["Location"])).json()
    assert answer.status_code == 200
    assert response == {
        "success": True,
        "content": {"type": "text", "text": "You said: hello"},
        "trace_id": turn["trace_id"],
        "session_id": "mine",
        "scene": "chat",
        "phase": "idle",
        "suggested_actions": ["story"],
        "need_tts": False,
        "device_actions": [],
        "error": None,
        "processing_time_ms": response["processing_time_ms"],
        "timestamp": turn["finished_at"],
        "turn_id": turn["turn_id"],
    }
    assert response["processing_time_ms"] > 0
    assert turn["status"] == "succeeded"
    assert (await say(client, "again", session_id="mine"))["session_id"] == "mine"
    turns = (await client.get("/v1/apps/butler/sessions/mine/turns")).json()["turns"]
    assert len(turns) == 2
    first, second = [(await say(client, "hello"))["session_id"] for _ in range(2)]
    assert first != second


async def test_an_orchestrator_answers_under_its_name_too(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/orchestrator/butler/process", json={"input": text("hello")})
    assert answer.json()["content"]["text"] == "You said: hello"


async def test_a_stream_tells_steps_and_retries_and_ends_with_the_response(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session_id = await in_story(client)
    busy = Error(status=503)
    model.play([Text(text="Good."), busy, busy, Text(text="Once upon a time.")])
    answer = await client.post(
        PROCESS,
        json={"session_id": session_id, "input": text("cats")},
        headers={"Accept": "text/event-stream"},
    )
    events = told(answer.text)
    *progress, (last, response) = events
    assert {kind for kind, _ in progress} == {"progress"}
    assert last == "response"
    turn_id = answer.headers["Location"].removeprefix("/v1/turns/")
    assert {(one["turn_id"], one["session_id"]) for _, one in events} == {(turn_id, session_id)}
    accepted, praise, retry, story = [one for _, one in progress]
    assert accepted["kind"] == "accepted"
    assert (praise["step"], praise["attempts"], praise["fell_back"]) == ("praise", 1, None)
    assert (retry["kind"], retry["attempt"], retry["max_retries"]) == ("retry", 1, 2)
    assert retry["error"]["code"] == "overloaded"
    assert retry["delay_s"] > 0
    assert story["step"] == "tell-story"
    assert (response["success"], response["device_actions"]) == (True, [{"type": "bow"}])


async def test_a_step_that_falls_back_says_so(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session_id = await in_story(client)
    model.play([Error(status=400), Text(text="Once.")])
    answer = await client.post(
        PROCESS,
        json={"session_id": session_id, "input": text("cats")},
        headers={"Accept": "text/event-stream"},
    )
    steps = [(one["step"], one["fell_back"]) for _, one in told(answer.text) if "step" in one]
    assert steps == [("praise", "bad_request"), ("tell-story", None)]


async def test_a_turn_that_fails_leaves_scene_and_phase(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session_id = await in_story(client)
    model.play([Text(text="Good."), Error(status=503, times=None)])
    failed = await say(client, "cats", session_id=session_id)
    assert (failed["success"], failed["scene"], failed["phase"]) == (False, "story", "telling")
    assert failed["error"]["code"] == "overloaded"
    assert failed["error"]["remedy"] == "send it again"
    assert failed["content"]["text"].startswith("Sorry")
    model.play([Text(text="Good."), Text(text="Once.")])
    after = await say(client, "cats", session_id=session_id)
    assert (after["success"], after["content"]["text"]) == (True, "Once.")


async def test_a_mistake_in_a_scene_is_told_without_secrets(client: httpx.AsyncClient) -> None:
    answer = await client.post(PROCESS, json={"input": text("stumble")})
    assert answer.json()["error"]["code"] == "programming_error"
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("said", "code"), [("", "empty"), (" \n", "empty"), ("x" * 201, "too_long")]
)
async def test_a_message_that_is_rejected_is_served(
    client: httpx.AsyncClient, said: str, code: str
) -> None:
    session_id = await in_story(client)
    rejected = await say(client, said, session_id=session_id)
    assert (rejected["success"], rejected["error"]["code"]) == (False, code)
    assert (rejected["scene"], rejected["phase"]) == ("story", "telling")
    assert rejected["content"]["text"] == rejected["error"]["message"]
    in_chinese = await say(client, "讲个故事", session_id=f"{session_id}-{code}")
    again = await say(client, said, session_id=in_chinese["session_id"])
    if code == "empty":
        assert again["content"]["text"] == "我没有收到内容，请再说一遍。"


async def test_parts_are_put_together_and_what_is_not_understood_is_said(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Text(text="2 + 3")])
    picture = {"type": "image", "data": PNG}
    read = await say(client, [text("Look:"), picture])
    assert read["content"]["text"] == "You said: Look:\n2 + 3"
    sent = json.dumps([call.body for call in model.requests])
    assert "image/png" in sent
    assert PNG in sent
    spoken = await say(client, {"type": "audio", "data": WAV})
    assert (spoken["success"], spoken["need_tts"]) == (False, True)
    assert spoken["error"]["code"] == "not_configured"
    assert "ODA_TRANSCRIBE_MODEL" in spoken["error"]["remedy"]
    events = await client.get(f"/v1/apps/butler/sessions/{spoken['session_id']}/events")
    kept = events.json()["events"][0]["content"]["parts"][0]["inlineData"]
    assert kept == {"mimeType": "audio/wav", "data": WAV.replace("+", "-").replace("/", "_")}


WRONG: list[tuple[Any, str, str]] = [
    ({"input": {"type": "text"}}, "input.0.text.text", "Field required"),
    ({"input": {"type": "text", "text": 7}}, "input.0.text.text", "string"),
    ({"input": "hello"}, "input.0", "dictionary"),
    ({"input": []}, "input", "at least 1"),
    ({"input": [text("x")] * 21}, "input", "at most 20"),
    ({"input": {"type": "video", "url": "https://x.example"}}, "input.0", "'audio'"),
    ({"input": {"type": "image"}}, "input.0.image", "either data or url"),
    ({"input": {"type": "image", "data": "no!"}}, "input.0.image.data", "no base64"),
    (
        {"input": {"type": "image", "data": f"data:image/png;base64,{PNG}"}},
        "input.0.image.data",
        "alone",
    ),
    ({"input": {"type": "image", "data": ""}}, "input.0.image.data", "at least 1"),
    ({"input": {"type": "image", "url": "file:///etc/passwd"}}, "input.0.image.url", "http"),
    (
        {"input": {"type": "image", "data": PNG, "mime_type": "audio/wav"}},
        "input.0.image.mime_type",
        "image/",
    ),
    (
        {"input": {"type": "audio", "url": "https://x.example/a.wav"}},
        "input.0.audio.data",
        "required",
    ),
    ({"input": text("x"), "session_id": ""}, "session_id", "at least 1"),
    ({"input": text("x"), "user_id": 5}, "user_id", "string"),
    ({}, "input", "required"),
]


@pytest.mark.parametrize(("body", "field", "message"), WRONG)
async def test_a_malformed_message_is_refused_with_its_field(
    client: httpx.AsyncClient, body: Json, field: str, message: str
) -> None:
    refused = await client.post(PROCESS, json=body)
    assert refused.status_code == 422
    first = refused.json()["errors"][0]
    assert first["field"] == field
    assert message in first["message"]


async def test_what_is_no_message_at_all_is_refused(client: httpx.AsyncClient) -> None:
    for content, kind, status in (
        (b"{", "application/json", 400),
        (b'{"input": NaN}', "application/json", 400),
        (b"[" * 1000, "application/json", 400),
        (b'{"input": {"type": "text", "text": "x"}}', "text/plain", 415),
        (b"x" * (21 * 2**20), "application/json", 413),
    ):
        refused = await client.post(PROCESS, content=content, headers={"Content-Type": kind})
        assert (refused.status_code, refused.json()["status"]) == (status, status)
    named = await client.post(PROCESS, json={"input": text("x"), "session_id": "a/b"})
    assert (named.status_code, named.json()["code"]) == (422, "invalid_request")


async def test_text_that_no_store_takes_is_replaced(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        PROCESS,
        content=b'{"input": {"type": "text", "text": "a\\u0000\\ud800"}}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.json()["content"]["text"] == "You said: a\ufffd\ufffd"


async def test_an_open_server_takes_the_user_of_the_body(client: httpx.AsyncClient) -> None:
    await say(client, "story", user_id="anna", session_id="shared-name")
    bert = await say(client, "hello", user_id="bert", session_id="shared-name")
    assert bert["scene"] == "chat"
    anna = await client.get("/v1/apps/butler/sessions/shared-name", headers={"X-Oda-User": "anna"})
    assert anna.json()["user_id"] == "anna"
    for user_id, status in (("anna", 200), ("bert", 403)):
        answer = await client.post(
            PROCESS,
            json={"user_id": user_id, "input": text("hello")},
            headers={"X-Oda-User": "anna"},
        )
        assert answer.status_code == status
    wrong = await client.post(PROCESS, json={"user_id": "a/b", "input": text("hello")})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_request")


async def test_a_key_stands_for_one_turn(client: httpx.AsyncClient) -> None:
    async def send(said: str, key: str, **fields: Any) -> httpx.Response:
        body = {"input": text(said), **fields}
        return await client.post(PROCESS, json=body, headers={"Idempotency-Key": key})

    for fields in ({}, {"session_id": "keyed"}):
        key = f"key-{len(fields)}"
        once, again = await asyncio.gather(*(send("hello", key, **fields) for _ in range(2)))
        assert once.json() == again.json()
        replayed = [answer.headers.get("Idempotent-Replayed") for answer in (once, again)]
        assert sorted(replayed, key=str) == [None, "true"]
        other = await send("other", key, **fields)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")
    turns = (await client.get("/v1/apps/butler/sessions/keyed/turns")).json()["turns"]
    assert len(turns) == 1


async def test_messages_at_once_are_answered_in_a_row(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(say(client, f"number {n}", session_id="crowded") for n in range(8))
    )
    assert {one["content"]["text"] for one in answers} == {
        f"You said: number {n}" for n in range(8)
    }
    state = (await client.get("/v1/apps/butler/sessions/crowded/state")).json()
    assert state["orchestration"]["version"] == 8


async def test_steps_draw_from_the_day_of_who_calls_them(
    shared_model: ModelServer, model: ModelServer, serve_folder: Any, tmp_path: Path
) -> None:
    limited = await serve_folder(
        SCENES,
        tmp_path,
        MODEL="gemini-stub",
        MODEL_API_BASE=shared_model.url,
        DAY__MODEL_CALLS="2",
    )
    model.play([Text(text="Well told.")] * 24)
    answers = await asyncio.gather(
        *(limited.client.post(f"{STEPS}/tell-story", json={"text": "me"}) for _ in range(24))
    )
    assert len(model.requests) == 2
    assert Counter(answer.status_code for answer in answers) == {200: 2, 429: 22}
    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.json()["code"] for answer in refused} == {"daily_limit"}
    assert 0 < int(refused[0].headers["Retry-After"]) <= 86400
    by_rules = await limited.client.post(f"{STEPS}/praise", json={"text": "me"})
    assert (by_rules.status_code, by_rules.json()["by_model"]) == (200, False)
    made = await limited.client.post("/v1/apps/butler/sessions", json={})
    turn = await limited.client.post(
        f"/v1/apps/butler/sessions/{made.json()['session_id']}/turns", json={"message": "hello"}
    )
    assert (turn.status_code, turn.json()["code"]) == (429, "daily_limit")


async def test_a_step_is_called_by_itself(client: httpx.AsyncClient, model: ModelServer) -> None:
    before = len((await client.get("/v1/apps/butler/sessions")).json()["sessions"])
    echoed = await client.post(f"{STEPS}/echo", json={"text": "hello", "more": 1})
    assert (echoed.status_code, echoed.json()) == (200, {"text": "You said: hello"})
    model.play([Text(text="Well told.")])
    praised = await client.post(f"{STEPS}/praise", json={"text": "me"})
    assert praised.json() == {"text": "Well told.", "by_model": True}
    model.play([Error(status=400)])
    plain = await client.post(f"{STEPS}/praise", json={"text": "me"})
    assert plain.json() == {"text": "Well done.", "by_model": False}
    command = {"user_input": "story", "active_scene": "chat"}
    classified = await client.post(f"{STEPS}/classify-intent", json=command)
    assert (classified.json()["intent"], classified.json()["score"]) == ("story", 95)
    wrong = await client.post(f"{STEPS}/echo", json={"text": 5})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "text")
    assert len((await client.get("/v1/apps/butler/sessions")).json()["sessions"]) == before


async def test_a_step_knows_its_user_and_their_time(client: httpx.AsyncClient, data: Path) -> None:
    zone = {"X-Oda-User": "far-away"}
    await say(client, "hello", user_id="far-away", session_id="s")
    async with OdaContext.from_settings(agents_dir=SCENES, data_dir=data) as oda:
        session = await oda.sessions.get("butler", "far-away", "s")
        await session.state.set(TIME_ZONE_KEY, "Asia/Shanghai")
    told_time = await client.post(f"{STEPS}/tell-time", json={"text": ""}, headers=zone)
    known = told_time.json()
    assert (known["user_id"], known["session_id"]) == ("far-away", None)
    assert known["now"].endswith("+08:00")
    elsewhere = await client.post(f"{STEPS}/tell-time", json={"text": ""})
    assert elsewhere.json()["now"].endswith("+00:00")


@pytest.mark.parametrize(
    ("scripted", "status", "code"),
    [
        (Error(status=429, retry_after=40, times=None), 503, "rate_limited"),
        (Error(status=401), 502, "authentication"),
    ],
)
async def test_a_step_without_fallback_fails_with_a_problem(
    client: httpx.AsyncClient, model: ModelServer, scripted: Error, status: int, code: str
) -> None:
    model.play([scripted])
    failed = await client.post(f"{STEPS}/tell-story", json={"text": "cats"})
    problem = failed.json()
    assert failed.headers["content-type"] == "application/problem+json"
    assert (failed.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["retryable"] is (status == 503)
    if status == 503:
        assert 30 <= int(failed.headers["Retry-After"]) <= 40


async def test_a_mistake_of_a_step_is_no_stack_trace(client: httpx.AsyncClient) -> None:
    failed = await client.post(f"{STEPS}/stumble", json={"text": "x"})
    assert (failed.status_code, failed.json()["code"]) == (500, "internal_error")
    assert "secret" not in failed.text


async def test_the_app_says_which_model_it_uses(client: httpx.AsyncClient) -> None:
    (butler,) = (await client.get("/v1/apps")).json()["apps"]
    assert butler["model"] == {"state": "configured", "name": "gemini-stub"}


async def test_steps_are_tasks_in_the_message_protocol(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session_id = await in_story(client)
    model.play([Text(text="Good."), Text(text="Once.")])
    turn_id = (await say(client, "cats", session_id=session_id))["turn_id"]
    listed = await client.get(f"/v1/turns/{turn_id}/events", params={"view": "messages"})
    messages = [entry["data"] for entry in listed.json()["entries"]]
    started = [one for one in messages if one.get("type") == "span.start"]
    assert [(one["name"], one["title"]) for one in started] == [
        ("PROCEDURE", "butler"),
        ("TASK", "orchestrate"),
        ("TASK", "praise"),
        ("TASK", "tell_story"),
        ("STEP", "turn 1"),
        ("PLAIN", "text"),
    ]
    outputs = [one["data"]["output"] for one in messages if one.get("channel") == "OUTPUT"]
    assert outputs == [{"text": "Good.", "by_model": True}, {"text": "Once."}]


async def test_each_route_is_documented_with_its_own_models(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    operations = {
        path: operation["post"]
        for path, operation in document["paths"].items()
        if path.startswith("/api/") and "post" in operation
    }
    assert Counter(one["operationId"] for one in operations.values()).most_common(1)[0][1] == 1
    assert {tag for one in operations.values() for tag in one["tags"]} == {"butler"}
    praise = operations[f"{STEPS}/praise"]
    content = praise["responses"]["200"]["content"]["application/json"]["schema"]
    assert content == {"$ref": "#/components/schemas/Praise"}
    assert {"200", "401", "415", "422", "501", "502", "503"} <= set(praise["responses"])
    problem = document["components"]["schemas"]["Problem"]["properties"]
    assert set(problem) == {"code", "message", "remedy"}


async def test_the_routes_answer_as_their_document_says(client: httpx.AsyncClient) -> None:
    own = ("--include-path-regex", "^/api/", "--exclude-checks", "ignored_auth")
    mistaken = ("--exclude-path-regex", "stumble")
    await explore(str(client.base_url), "--phases", "fuzzing", "-n", "5", *own, *mistaken)
