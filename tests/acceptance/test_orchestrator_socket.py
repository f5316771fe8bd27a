"""The WebSocket of an orchestrator: order, claims, heartbeats, reconnects, restarts, nonsense."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.exceptions import InvalidStatus

from oda.testing import ModelServer
from oda.testing.script import Error, Hang, Text
from tests.support.orchestrator_client import LIMIT_S, OrchestratorClient, opened, text

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

SCENES = Path(__file__).parents[1] / "support" / "scene_agents"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(shared_model: ModelServer, serve_folder: Any) -> Any:
    """One server for all tests that need none of their own."""
    return await serve_folder(
        SCENES,
        MODEL="gemini-stub",
        MODEL_API_BASE=shared_model.url,
        LIMITS__SOCKET_MESSAGES_PER_MINUTE="100000",
    )


async def in_story(client: OrchestratorClient, session_id: str) -> None:
    """Come to the middle of the scene `story`."""
    await client.say("story", session_id)
    assert (await client.response())["phase"] == "telling"


async def test_a_message_is_answered_with_progress_and_the_flat_response(
    server: Any, model: ModelServer
) -> None:
    async with opened(server.url) as client:
        await in_story(client, "flat")
        model.play([Text(text="Good."), Error(status=503), Error(status=503), Text(text="Once.")])
        await client.say("cats", "flat", request_id="r-1")
        accepted, praise, retry, story, response = await client.until("response")
    messages = (accepted, praise, retry, story, response)
    assert {one["request_id"] for one in messages} == {"r-1"}
    assert {one["session_id"] for one in messages} == {"flat"}
    assert len({one["turn_id"] for one in messages}) == 1
    assert [one["kind"] for one in (accepted, praise, retry, story)] == [
        "accepted",
        "step",
        "retry",
        "step",
    ]
    assert (praise["step"], story["step"]) == ("praise", "tell-story")
    assert retry["error"]["code"] == "overloaded"
    assert (response["success"], response["content"]["text"]) == (True, "Once.")
    assert response["device_actions"] == [{"type": "bow"}]
    assert response["processing_time_ms"] > 0
    turn = (await server.client.get(f"/v1/turns/{response['turn_id']}")).json()
    assert (turn["trace_id"], turn["finished_at"]) == (response["trace_id"], response["timestamp"])


async def test_messages_are_answered_in_order_also_of_several_sessions(
    server: Any, model: ModelServer
) -> None:
    async with opened(server.url) as client:
        await in_story(client, "slow")
        model.play([Text(text="Good."), Hang()])
        await client.say("cats", "slow", request_id=1)
        slow = await client.begun()
        await client.say("hello", "quick", request_id=2)
        await client.send(input={"type": "text"}, request_id=3)
        await client.say("again", "quick", request_id=4)
        await has_answered(server, "quick", 2)
        await server.client.post(f"/v1/turns/{slow}/cancel")
        told = await client.until("error")
        told += await client.until("response")
    assert [one["request_id"] for one in told] == sorted(one["request_id"] for one in told)
    ends = [one for one in told if one["type"] != "progress"]
    assert [(one["type"], one.get("success"), one["request_id"]) for one in ends] == [
        ("response", False, 1),
        ("response", True, 2),
        ("error", None, 3),
        ("response", True, 4),
    ]


async def has_answered(server: Any, session_id: str, messages: int) -> None:
    """Wait until so many turns of a session have succeeded."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            listed = await server.client.get(f"/v1/apps/butler/sessions/{session_id}/turns")
            turns = listed.json().get("turns", ())
            if sum(turn["status"] == "succeeded" for turn in turns) == messages:
                return
            await asyncio.sleep(0.02)


async def test_the_newest_socket_of_a_session_wins(server: Any, model: ModelServer) -> None:
    async with opened(server.url) as older, opened(server.url) as newer:
        await in_story(older, "contested")
        model.play([Text(text="Good."), Text(text="Once.", delay_s=0.3)])
        await older.say("cats", "contested")
        turn_id = await older.begun()
        await newer.send(session_id="contested", follow=turn_id)
        taken = (await older.until("error"))[-1]
        assert (taken["status"], taken["code"]) == (409, "session_taken")
        assert taken["session_id"] == "contested"
        code, reason = await older.closed()
        assert code == 4409
        assert "another" in reason.lower()
        assert (await newer.response())["content"]["text"] == "Once."
        async with opened(server.url) as newest:
            await newest.say("stop", "contested")
            assert (await newest.response())["scene"] == "chat"
            assert (await newer.closed())[0] == 4409


async def test_sessions_of_one_name_of_two_users_are_two(server: Any) -> None:
    async with opened(server.url) as anna, opened(server.url) as bert:
        for client, user_id in ((anna, "anna"), (bert, "bert")):
            await client.say("hello", "ours", user_id=user_id)
            await client.response()
        await anna.say("hello", "ours", user_id="anna")
        assert (await anna.response())["success"]


async def test_pings_are_sent_and_answered(server: Any) -> None:
    async with opened(server.url) as client:
        for _ in range(2):
            assert await client.next(pings=True) == {"type": "ping"}
            await client.send(type="pong")
        await client.send(type="ping", request_id="p")
        assert await client.next() == {"type": "pong", "request_id": "p"}


async def test_pings_come_while_a_turn_is_long(server: Any, model: ModelServer) -> None:
    async with opened(server.url) as client:
        await in_story(client, "patient")
        model.play([Text(text="Good."), Hang()])
        await client.say("cats", "patient")
        turn_id = await client.begun()
        await model.wait_until(lambda one: one.in_flight == 1, timeout_s=10)
        while (await client.next(pings=True))["type"] != "ping":
            pass
        await client.send(type="ping")
        await client.until("pong")
        await server.client.post(f"/v1/turns/{turn_id}/cancel")
        cancelled = await client.response()
    assert (cancelled["success"], cancelled["error"]["code"]) == (False, "cancelled")
    assert (cancelled["scene"], cancelled["phase"]) == ("story", "telling")


async def test_a_client_that_drops_out_follows_its_turn(server: Any, model: ModelServer) -> None:
    async with opened(server.url) as client:
        await in_story(client, "dropped")
        model.play([Text(text="Good."), Text(text="Once.", delay_s=0.3)])
        await client.say("cats", "dropped", idempotency_key="d")
        turn_id = await client.begun()
        client.connection.transport.abort()
    async with opened(server.url) as client:
        await client.send(session_id="dropped", follow=turn_id, request_id="f")
        told = await client.until("response")
        assert [one.get("step") for one in told[1:-1]] == ["praise", "tell-story"]
        assert (told[-1]["content"]["text"], told[-1]["request_id"]) == ("Once.", "f")
        await client.send(session_id="dropped", follow=turn_id)
        again = await client.response()
        assert {**again, "request_id": "f"} == told[-1]
        await client.say("cats", "dropped", idempotency_key="d")
        assert (await client.response())["turn_id"] == turn_id


NONSENSE: list[tuple[str | bytes, int]] = [
    ("", 400),
    ("nonsense", 400),
    ('{"input": NaN}', 400),
    ("[" * 100_000, 400),
    (b'{"input": "binary"}', 400),
    ("[]", 400),
    ("{}", 422),
    ('{"input": "hello"}', 422),
    ('{"input": []}', 422),
    ('{"input": {"type": "image", "data": "?"}}', 422),
    ('{"input": {"type": "text", "text": "x"}, "session_id": "a/b"}', 422),
    ('{"input": {"type": "text", "text": "x"}, "user_id": "a/b"}', 422),
    ('{"input": {"type": "text", "text": "x"}, "idempotency_key": ""}', 422),
    ('{"input": {"type": "text", "text": "x"}, "request_id": {}}', 422),
    ('{"type": "pang"}', 422),
    ('{"follow": "turn_unknown"}', 422),
    ('{"follow": 7, "session_id": "s"}', 422),
    ('{"follow": "turn_unknown", "session_id": "s"}', 404),
]


async def test_nonsense_is_answered_with_a_problem_and_the_socket_stays_open(server: Any) -> None:
    async with opened(server.url) as client:
        for sent, status in NONSENSE:
            await client.connection.send(sent)
            problem = await client.error()
            assert problem["status"] == status, (sent[:60], problem)
            assert {"title", "detail", "instance", "code", "trace_id"} <= problem.keys()
        await client.say("")
        assert (await client.response())["error"]["code"] == "empty"
        await client.say("hi")
        assert (await client.response())["success"]


async def test_turns_of_others_and_of_other_sessions_are_not_there(server: Any) -> None:
    async with opened(server.url) as client:
        await client.say("hello", "theirs", user_id="anna")
        theirs = (await client.response())["turn_id"]
        await client.say("hello", "first")
        first = (await client.response())["turn_id"]
        for fields in (
            {"session_id": "theirs", "follow": theirs},
            {"session_id": "theirs", "follow": theirs, "user_id": "bert"},
            {"session_id": "second", "follow": first},
        ):
            await client.send(**fields)
            assert (await client.error())["status"] == 404
        await client.send(session_id="theirs", follow=theirs, user_id="anna")
        assert (await client.response())["turn_id"] == theirs


async def test_pages_of_other_origins_are_refused(server: Any) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with opened(server.url, origin="https://evil.example"):
            pass
    assert refused.value.response.status_code == 403


async def test_a_killed_server_goes_on_with_the_turn_and_the_client_gets_its_response(
    serve: Any, model: ModelServer
) -> None:
    settings = {"MODEL": "gemini-stub", "MODEL_API_BASE": model.url}
    first = await serve(agents=SCENES, **settings)
    async with opened(first.url) as client:
        await in_story(client, "survivor")
        model.play([Text(text="Good."), Hang()])
        await client.say("cats", "survivor")
        turn_id = await client.begun()
        assert (await client.next())["step"] == "praise"
        await model.wait_until(lambda one: one.in_flight == 1, timeout_s=10)
        await first.stop(signal.SIGKILL)
    model.reset()
    model.play([Text(text="Once upon a time.")])
    second = await serve(agents=SCENES, **settings)
    async with opened(second.url) as client:
        await client.send(session_id="survivor", follow=turn_id)
        *progress, response = await client.until("response")
        assert [one["step"] for one in progress if "step" in one] == ["praise", "tell-story"]
        assert (response["success"], response["content"]["text"]) == (True, "Once upon a time.")
        assert len(model.requests) == 1  # the praise was not asked for again
        await client.say("stop", "survivor")
        assert (await client.response())["scene"] == "chat"
    turn = (await second.client.get(f"/v1/turns/{turn_id}")).json()
    assert (turn["status"], turn["attempts"]) == ("succeeded", 2)


async def test_a_large_picture_comes_over_the_socket(server: Any, model: ModelServer) -> None:
    model.play([Text(text="a cat")])
    data = "iVBORw0KGgoA" + "A" * (1 << 20)
    async with opened(server.url) as client:
        await client.send(input=[text("Look:"), {"type": "image", "data": data}])
        assert (await client.response())["content"]["text"] == "You said: Look:\na cat"
    assert data in json.dumps([call.body for call in model.requests])
