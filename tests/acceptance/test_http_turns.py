"""Turns over HTTP: plain, streamed, asynchronous; retries, failures, cancel, busy sessions."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Text, ToolCalls
from tests.support.model_settings import openai

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

STREAM = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def model_settings(shared_model: ModelServer) -> dict[str, str]:
    return openai(shared_model)


async def new_session(client: httpx.AsyncClient, **body: Any) -> str:
    answer = await client.post("/v1/apps/calculator/sessions", json=body)
    assert answer.status_code == 201, answer.text
    sid: str = answer.json()["session_id"]
    return f"/v1/apps/calculator/sessions/{sid}"


async def say(client: httpx.AsyncClient, session: str, message: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"{session}/turns", json={"message": message, **body})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


Frame = tuple[int | None, str, dict[str, Any]]


async def stream(client: httpx.AsyncClient, method: str, url: str, **options: Any) -> list[Frame]:
    """All (id, event, data) of a stream; previews have no id."""
    headers = {**STREAM, **options.pop("headers", {})}
    async with client.stream(method, url, headers=headers, **options) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [frame async for frame in frames_of(answer)]


async def follow(client: httpx.AsyncClient, url: str) -> AsyncGenerator[Frame, None]:
    async with client.stream("GET", url, headers=STREAM) as answer:
        async for frame in frames_of(answer):
            yield frame


async def frames_of(answer: httpx.Response) -> AsyncIterator[Frame]:
    frame: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            frame[name] = value
        elif frame:
            number = int(frame["id"]) if "id" in frame else None
            yield number, frame["event"], json.loads(frame["data"])
            frame = {}


_UNTIL_CLOSED = """url => new Promise(resolve => {
    const told = {streams: 0, done: 0};
    const source = new EventSource(url);
    source.onopen = () => told.streams += 1;
    source.addEventListener("done", () => told.done += 1);
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve(told); };
    setTimeout(() => { source.close(); resolve("it was never closed"); }, 20000);
})"""


async def follow_lines(client: httpx.AsyncClient, url: str) -> AsyncIterator[str]:
    async with client.stream("GET", url, headers=STREAM) as answer:
        async for line in answer.aiter_lines():
            yield line


def texts(events: list[dict[str, Any]]) -> list[str]:
    return [
        part["text"]
        for event in events
        if not event.get("partial")
        for part in event.get("content", {}).get("parts", [])
        if "text" in part
    ]


def codes(events: list[dict[str, Any]]) -> list[str]:
    return [event["errorCode"] for event in events if "errorCode" in event]


async def test_a_plain_turn_calls_the_tool_and_answers(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Text(text="Five.")])
    session = await new_session(server.client)
    result = await say(server.client, session, "2 + 3?")
    turn = result["turn"]
    assert (turn["status"], turn["attempts"], turn["error"]) == ("succeeded", 1, None)
    assert result["reply"] == turn["reply"] == "Five."
    assert turn["usage"]["model_calls"] == 2
    assert turn["usage"]["input_tokens"] > 0
    assert turn["usage"]["output_tokens"] > 0
    assert turn["created_at"] <= turn["started_at"] <= turn["finished_at"]
    state = (await server.client.get(f"{session}/state")).json()
    assert state == {"sums": 1}
    assert (await server.client.get(session)).json()["turns"] == 1


async def test_a_stream_has_growing_ids_the_record_first_and_done_last(
    server: Any, model: ModelServer
) -> None:
    model.play([Text(text="one two three")])
    session = await new_session(server.client)
    frames = await stream(server.client, "POST", f"{session}/turns", json={"message": "count"})
    numbers = [number for number, _, _ in frames if number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    kinds = [kind for _, kind, _ in frames]
    assert kinds[0] == "turn" and kinds[-1] == "done" and kinds.count("done") == 1
    partial = [data for number, _, data in frames if number is None]
    assert all(part["partial"] for part in partial)
    assert "".join(part["content"]["parts"][0]["text"] for part in partial) == "one two three"
    assert frames[-1][2]["status"] == "succeeded"
    assert frames[-1][2]["reply"] == "one two three"


async def test_a_reader_who_comes_back_gets_the_text_so_far_as_one_piece(
    server: Any, model: ModelServer
) -> None:
    model.play([Cut(text="one two three", how="stall")])
    session = await new_session(server.client)
    accepted = await server.client.post(
        f"{session}/turns",
        json={"message": "count", "stream_tokens": True},
        headers={"Prefer": "respond-async"},
    )
    url = accepted.headers["location"]
    try:
        async with asyncio.timeout(20):
            said = ""
            async for frame in follow(server.client, f"{url}/events"):
                if frame[0] is None:
                    said += frame[2]["content"]["parts"][0]["text"]
                if said == "one two three":
                    break
            seen = 0
            data: dict[str, Any] = {}
            async for number, _, data in follow(server.client, f"{url}/events"):  # noqa: B007
                if number is None:
                    break
                seen = number
            assert data["partial"] and data["customMetadata"]["replacesPartial"] is True
            assert [part["text"] for part in data["content"]["parts"]] == ["one two three"]
            again = follow(server.client, f"{url}/events?after={seen}")
            assert (await anext(again))[2]["content"] == data["content"]
            await again.aclose()
    finally:
        await server.client.post(f"{url}/cancel")
    listed = (await server.client.get(f"{url}/events")).json()["entries"]
    assert not [entry for entry in listed if entry["data"].get("partial")]


async def test_previews_can_be_left_out_of_a_stream(server: Any, model: ModelServer) -> None:
    model.play([Text(text="one two three")])
    session = await new_session(server.client)
    frames = await stream(
        server.client, "POST", f"{session}/turns?partials=false", json={"message": "count"}
    )
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))
    assert frames[-1][2]["reply"] == "one two three"


async def test_stream_tokens_false_leaves_partial_text_out(server: Any) -> None:
    session = await new_session(server.client)
    frames = await stream(
        server.client, "POST", f"{session}/turns", json={"message": "hi", "stream_tokens": False}
    )
    assert not [data for _, kind, data in frames if kind == "event" and data.get("partial")]
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))


async def test_a_client_sees_two_retries_and_then_the_answer(
    server: Any, model: ModelServer
) -> None:
    model.play([Error(status=429), Cut(text="half an", how="reset"), Text(text="Whole answer.")])
    session = await new_session(server.client)
    frames = await stream(server.client, "POST", f"{session}/turns", json={"message": "hi"})
    events = [data for _, kind, data in frames if kind == "event"]
    assert codes(events) == ["RETRY_ATTEMPT", "RETRY_ATTEMPT"]
    retries = [event["customMetadata"] for event in events if "errorCode" in event]
    assert [retry["attempt"] for retry in retries] == [1, 2]
    assert [retry.get("discard_partial") for retry in retries] == [None, True]
    assert frames[-1][2]["attempts"] == 3
    assert frames[-1][2]["reply"] == "Whole answer."
    assert "Retry" not in str(model.requests[-1].body)
    assert [m.text for m in model.requests[-1].messages if m.role == "user"] == ["hi"]


async def test_a_failed_turn_is_served_and_says_why(server: Any, model: ModelServer) -> None:
    model.play([Error(status=401)])
    session = await new_session(server.client)
    result = await say(server.client, session, "hi")
    assert result["turn"]["status"] == "failed"
    assert result["turn"]["error"]["code"] == "authentication"
    assert result["turn"]["error"]["retryable"] is False
    assert result["reply"] == ""
    assert codes(result["events"]) == ["NON_RETRYABLE_ERROR"]
    after = await say(server.client, session, "and now?")
    assert after["turn"]["status"] == "succeeded"


async def test_retries_end_with_one_escalating_event(serve: Any, model: ModelServer) -> None:
    server = await serve(
        **openai(model),
        RETRY__MAX_RETRIES="2",
        RETRY__INITIAL_DELAY_S="0.01",
    )
    model.play([Error(status=503, times=None)])
    result = await say(server.client, await new_session(server.client), "hi")
    assert codes(result["events"]) == ["RETRY_ATTEMPT", "RETRY_ATTEMPT", "MAX_RETRIES_EXCEEDED"]
    last = result["events"][-1]
    assert last["errorMessage"] == "Agent execution failed after 2 retry attempts"
    assert last["actions"]["escalate"] is True
    assert result["turn"]["attempts"] == 3
    assert result["turn"]["error"]["retryable"] is True


async def test_a_failing_tool_is_an_answer_to_the_model(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="divide", args={"a": 1, "b": 0}),)), Text(text="No.")])
    result = await say(server.client, await new_session(server.client), "1/0?")
    assert result["reply"] == "No."
    results = model.requests[-1].messages[-1].tool_results
    assert "division by zero" in results[0].content


async def test_respond_async_answers_at_once_and_the_turn_goes_on(
    server: Any, model: ModelServer
) -> None:
    model.play([Text(text="Later.", delay_s=0.3)])
    session = await new_session(server.client)
    answer = await server.client.post(
        f"{session}/turns", json={"message": "hi"}, headers={"Prefer": "respond-async"}
    )
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "respond-async"
    where = answer.headers["location"]
    assert where == f"/v1/turns/{answer.json()['turn_id']}"
    frames = await stream(server.client, "GET", f"{where}/events")
    assert frames[-1][2]["reply"] == "Later."
    assert (await server.client.get(where)).json() == frames[-1][2]


async def test_reconnecting_at_any_position_gives_the_rest_and_nothing_twice(server: Any) -> None:
    session = await new_session(server.client)
    frames = await stream(server.client, "POST", f"{session}/turns", json={"message": "a b c"})
    events = f"/v1/turns/{frames[-1][2]['turn_id']}/events"
    frames = [frame for frame in frames if frame[0] is not None]
    for position in range(len(frames)):
        rest = await stream(server.client, "GET", events, headers={"Last-Event-ID": str(position)})
        assert rest == frames[position:]
        by_query = await server.client.get(events, params={"after": position})
        assert [entry["id"] for entry in by_query.json()["entries"]] == [f[0] for f in rest]
    assert (await server.client.get(events)).json()["done"] is True


async def test_who_has_seen_the_end_is_told_to_stop(server: Any) -> None:
    session = await new_session(server.client)
    frames = await stream(server.client, "POST", f"{session}/turns", json={"message": "a b c"})
    events, last = f"/v1/turns/{frames[-1][2]['turn_id']}/events", frames[-1][0] or 0
    for view in ("events", "messages"):
        for seen in (last, last + 1):
            told = await server.client.get(
                events, params={"view": view}, headers={**STREAM, "Last-Event-ID": str(seen)}
            )
            assert (told.status_code, told.content) == (204, b"")
    listed = (await server.client.get(events, params={"after": last})).json()
    assert (listed["entries"], listed["done"]) == ([], True)


@pytest.mark.browser
async def test_event_source_stops_after_done(server: Any, browser: Browser) -> None:
    session = await new_session(server.client)
    frames = await stream(server.client, "POST", f"{session}/turns", json={"message": "a b c"})
    events = f"/v1/turns/{frames[-1][2]['turn_id']}/events"
    page = await browser.new_page()
    await page.goto(f"{server.url}/v1/apps")
    told = await page.evaluate(_UNTIL_CLOSED, events)
    assert told == {"streams": 1, "done": 1}


async def test_a_client_that_leaves_does_not_stop_the_turn(server: Any, model: ModelServer) -> None:
    model.play([Text(chunks=("still ", "here"), interval_s=0.4)])
    session = await new_session(server.client)
    async with server.client.stream(
        "POST", f"{session}/turns", json={"message": "hi"}, headers=STREAM
    ) as answer:
        turn = answer.headers["location"]
        await anext(answer.aiter_bytes())
    frames = await stream(server.client, "GET", f"{turn}/events")
    assert frames[-1][2]["reply"] == "still here"


async def test_cancel_ends_a_hanging_turn_and_the_next_one_works(
    server: Any, model: ModelServer
) -> None:
    model.play([Hang()])
    session = await new_session(server.client)
    turn = (
        await server.client.post(
            f"{session}/turns", json={"message": "hang"}, headers={"Prefer": "respond-async"}
        )
    ).headers["location"]
    await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
    cancelled = await server.client.post(f"{turn}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    again = await server.client.post(f"{turn}/cancel")
    assert again.json() == cancelled.json()
    assert (await say(server.client, session, "next"))["turn"]["status"] == "succeeded"


async def test_cancel_in_a_tool_tells_the_model_in_the_next_turn(
    server: Any, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="wait_for_ever", args={}),)), Text(text="Go on.")])
    session = await new_session(server.client)
    frames: list[Any] = []

    async def follow() -> None:
        frames.extend(
            await stream(server.client, "POST", f"{session}/turns", json={"message": "wait"})
        )

    task = asyncio.create_task(follow())
    await model.wait_until(lambda s: s.received == 1 and s.in_flight == 0, timeout_s=10)
    turns = f"{session}/turns"
    tid = (await server.client.get(turns)).json()["turns"][0]["turn_id"]
    async with asyncio.timeout(10):
        async for line in follow_lines(server.client, f"/v1/turns/{tid}/events"):
            if "wait_for_ever" in line and '"partial":true' not in line:
                break
    await server.client.post(f"/v1/turns/{tid}/cancel")
    await asyncio.wait_for(task, 10)
    assert frames[-1][2]["status"] == "cancelled"
    await say(server.client, session, "go on")
    sealed = [r for m in model.requests[-1].messages for r in m.tool_results]
    assert len(sealed) == 1
    assert "cancelled" in sealed[0].content


@pytest.mark.parametrize("count", [6])
async def test_messages_to_one_session_are_answered_in_order(
    server: Any, model: ModelServer, count: int
) -> None:
    model.play([Text(text="ok", delay_s=0.02, times=None)])
    session = await new_session(server.client)
    accepted = [
        (
            await server.client.post(
                f"{session}/turns",
                json={"message": f"message {n}"},
                headers={"Prefer": "respond-async"},
            )
        ).headers["location"]
        for n in range(count)
    ]
    for turn in accepted:
        await stream(server.client, "GET", f"{turn}/events")
    said = [
        part["text"]
        for event in (await server.client.get(f"{session}/events")).json()["events"]
        if event["author"] == "user"
        for part in event["content"]["parts"]
    ]
    assert said == [f"message {n}" for n in range(count)]
    listed = (await server.client.get(f"{session}/turns", params={"limit": 4})).json()
    assert [t["turn_id"] for t in listed["turns"]] == [
        turn.rsplit("/", 1)[1] for turn in reversed(accepted[2:])
    ]


async def test_a_busy_session_rejects_or_interrupts_as_asked(
    server: Any, model: ModelServer
) -> None:
    model.play([Hang()])
    session = await new_session(server.client)
    first = (
        await server.client.post(
            f"{session}/turns", json={"message": "one"}, headers={"Prefer": "respond-async"}
        )
    ).headers["location"]
    await model.wait_until(lambda s: s.in_flight == 1, timeout_s=10)
    assert (await server.client.get(session)).json()["busy"] is True
    refused = await server.client.post(
        f"{session}/turns", json={"message": "two", "on_busy": "reject"}
    )
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/session-busy"
    assert refused.json()["retryable"] is True
    result = await say(server.client, session, "three", on_busy="interrupt")
    assert result["turn"]["status"] == "succeeded"
    assert (await server.client.get(first)).json()["status"] == "cancelled"


async def test_a_full_queue_is_429_with_retry_after(serve: Any, model: ModelServer) -> None:
    server = await serve(**openai(model), SESSION__MAX_QUEUED="1")
    model.play([Hang(times=None)])
    session = await new_session(server.client)
    answers = [
        await server.client.post(
            f"{session}/turns", json={"message": "x"}, headers={"Prefer": "respond-async"}
        )
        for _ in range(3)
    ]
    assert [a.status_code for a in answers] == [202, 202, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert answers[-1].json()["code"] == "overloaded"
    assert (await server.client.delete(session)).status_code == 204


async def test_another_agent_of_the_app_answers_when_named(server: Any, model: ModelServer) -> None:
    session = await new_session(server.client)
    result = await say(server.client, session, "hi", agent="negotiator")
    assert result["turn"]["agent"] == "negotiator"
    assert {event["author"] for event in result["events"]} == {"negotiator"}
    missing = await server.client.post(f"{session}/turns", json={"message": "x", "agent": "nobody"})
    assert missing.status_code == 404


async def test_limits_of_a_turn_end_it_with_the_reason(server: Any, model: ModelServer) -> None:
    loop = ToolCalls(calls=(Call(name="add", args={"a": 1, "b": 1}),), times=None)
    model.play([loop])
    session = await new_session(server.client)
    result = await say(server.client, session, "for ever", limits={"model_calls": 3})
    assert result["turn"]["status"] == "failed"
    assert result["turn"]["error"]["code"] == "limit_exceeded"
    assert result["turn"]["usage"]["model_calls"] == 3


async def test_metadata_comes_back_with_the_turn(server: Any) -> None:
    result = await say(
        server.client, await new_session(server.client), "hi", metadata={"ticket": 7}
    )
    assert result["turn"]["metadata"] == {"ticket": 7}


async def test_parts_are_taken_as_adk_takes_them(server: Any, model: ModelServer) -> None:
    session = await new_session(server.client)
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    answer = await server.client.post(
        f"{session}/turns", json={"message": {"parts": [{"text": "what is this?"}, image]}}
    )
    assert answer.json()["turn"]["status"] == "succeeded"
    assert "image/png" in str(model.requests[-1].body)


async def test_adks_own_routes_run_through_the_same_retry(server: Any, model: ModelServer) -> None:
    assert "calculator" in (await server.client.get("/list-apps")).json()
    created = await server.client.post("/apps/calculator/users/local/sessions", json={})
    sid = created.json()["id"]
    model.play([Error(status=500), Text(text="Back again.")])
    body = {
        "appName": "calculator",
        "userId": "local",
        "sessionId": sid,
        "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
    }
    events = (await server.client.post("/run", json=body)).json()
    assert codes(events) == ["RETRY_ATTEMPT"]
    assert texts(events)[-1] == "Back again."
    model.play([Error(status=429), Text(text="Streamed.")])
    async with server.client.stream("POST", "/run_sse", json={**body, "streaming": True}) as sse:
        lines = [
            json.loads(line[6:]) async for line in sse.aiter_lines() if line.startswith("data")
        ]
    assert codes(lines) == ["RETRY_ATTEMPT"]
    assert texts(lines)[-1] == "Streamed."
    history = (await server.client.get(f"/v1/apps/calculator/sessions/{sid}/events")).json()
    said = [e for e in history["events"] if e["author"] == "user"]
    assert len(said) == 2


async def test_sessions_outlive_the_server(serve: Any, model: ModelServer) -> None:
    settings = openai(model)
    first = await serve(**settings)
    session = await new_session(first.client, state={"k": "v"})
    await say(first.client, session, "remember me")
    assert await first.stop() == 0
    second = await serve(**settings)
    assert (await second.client.get(f"{session}/state")).json() == {"k": "v"}
    await say(second.client, session, "who am I?")
    assert [m.text for m in model.requests[-1].messages if m.role == "user"] == [
        "remember me",
        "who am I?",
    ]
    assert (await second.client.get(session)).json()["turns"] == 2


@pytest.mark.parametrize("approved", [True, False])
async def test_a_turn_waits_for_a_person_and_goes_on_when_answered(
    server: Any, model: ModelServer, approved: bool
) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    session = await new_session(server.client)
    waiting = (await say(server.client, session, "pay 9"))["turn"]
    assert waiting["status"] == "waiting_input"
    (asked,) = waiting["pending_input"]
    assert asked["name"] == "adk_request_confirmation"
    assert asked["args"]["originalFunctionCall"]["args"] == {"amount": 9}
    turn = f"/v1/turns/{waiting['turn_id']}"
    stranger = await server.client.post(
        f"{turn}/input", json={"responses": [{"id": "other", "confirmed": True}]}
    )
    assert (stranger.status_code, stranger.json()["code"]) == (409, "conflict")
    answer = await server.client.post(
        f"{turn}/input", json={"responses": [{"id": asked["id"], "confirmed": approved}]}
    )
    settled = answer.json()
    assert (settled["turn"]["status"], settled["reply"]) == ("succeeded", "Settled.")
    results = [r.content for m in model.requests[-1].messages for r in m.tool_results]
    assert ("paid" in results[-1]) is approved
    twice = await server.client.post(
        f"{turn}/input", json={"responses": [{"id": asked["id"], "confirmed": True}]}
    )
    assert twice.status_code == 409
    frames = await stream(server.client, "GET", f"{turn}/events")
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))


async def test_a_waiting_turn_can_be_cancelled(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    waiting = (await say(server.client, await new_session(server.client), "pay 9"))["turn"]
    cancelled = await server.client.post(f"/v1/turns/{waiting['turn_id']}/cancel")
    assert cancelled.json()["status"] == "cancelled"
