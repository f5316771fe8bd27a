"""Turns as spans and content: `?view=messages` on every stream, in lists and on the WebSocket."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
import websockets

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Text, ToolCalls
from tests.support.spans import assert_nested, names_of, outcomes, pieces_of, titled, whole_texts

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

VIEW = {"view": "messages"}
Frame = tuple[int | None, str, dict[str, Any]]


async def new_session(client: httpx.AsyncClient, app: str = "calculator") -> str:
    answer = await client.post(f"/v1/apps/{app}/sessions", json={})
    assert answer.status_code == 201, answer.text
    return f"/v1/apps/{app}/sessions/{answer.json()['session_id']}"


async def frames_of(answer: httpx.Response) -> AsyncIterator[Frame]:
    """(id, event, data) of each frame; the id is None where the frame has none."""
    frame: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            frame[name] = value
        elif frame:
            number = int(frame["id"]) if "id" in frame else None
            yield number, frame["event"], json.loads(frame["data"])
            frame = {}


async def stream(client: httpx.AsyncClient, method: str, url: str, **options: Any) -> list[Frame]:
    headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
    request = {"params": VIEW, "headers": headers, **options}
    async with client.stream(method, url, **request) as answer:
        assert answer.status_code == 200, await answer.aread()
        return [frame async for frame in frames_of(answer)]


async def say(client: httpx.AsyncClient, session: str, message: str = "hi") -> list[Frame]:
    return await stream(client, "POST", f"{session}/turns", json={"message": message})


def messages(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    return [data for _, kind, data in frames if kind not in ("turn", "done")]


def on(channel: str, frames: Sequence[Frame]) -> list[dict[str, Any]]:
    return [data for data in messages(frames) if data.get("channel") == channel]


def events_url(frames: Sequence[Frame]) -> str:
    return f"/v1/turns/{frames[-1][2]['turn_id']}/events"


async def test_a_turn_with_a_tool_and_streamed_text(server: Any, model: ModelServer) -> None:
    spoken = Text(text="It is five.", interval_s=0.2)  # no reader is slower than that
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), spoken])
    frames = await say(server.client, await new_session(server.client))
    told = messages(frames)
    assert_nested(told)
    assert frames[0][1] == "turn" and frames[-1][1] == "done"
    assert {kind for _, kind, _ in frames} <= {"turn", "span.start", "span.end", "content", "done"}
    assert names_of(told) == ["PROCEDURE", "STEP", "TOOL_CALLING", "STEP", "PLAIN"]
    assert titled(told, "STEP") == ["turn 1", "turn 2"]
    called, answered = (data["data"] for data in on("TOOL_CALLING", frames))
    assert (called["tool"], called["args"]) == ("add", {"a": 2, "b": 3})
    assert (answered["call_id"], answered["result"]) == (called["call_id"], {"sum": 5})
    *pieces, whole = on("PLAIN", frames)
    assert "".join(piece["text"] for piece in pieces) == whole["text"] == "It is five."
    assert [piece["delta"] for piece in pieces] == [True] * len(pieces)
    assert not whole["delta"]
    assert len({data["message_id"] for data in (*pieces, whole)}) == 1


async def test_numbers_are_those_of_the_log_and_stand_at_the_end_of_an_entry(server: Any) -> None:
    frames = await say(server.client, await new_session(server.client))
    numbers = [number for number, _, _ in frames if number is not None]
    as_events = await server.client.get(events_url(frames))
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= {entry["id"] for entry in as_events.json()["entries"]}
    assert frames[-1][0] == as_events.json()["last"]


async def test_reconnecting_at_any_position_goes_on_as_if_nothing_had_happened(
    server: Any, model: ModelServer
) -> None:
    model.play(
        [
            ToolCalls(text="let me see", calls=(Call(name="add", args={"a": 2, "b": 3}),)),
            Cut(text="half an", how="reset"),
            Text(text="Whole answer."),
        ]
    )
    session = await new_session(server.client)
    frames = await say(server.client, session)
    url = events_url(frames)
    live, frames = frames, await stream(server.client, "GET", url)
    assert_same_ids(live, frames)
    for position in range(frames[-1][0] or 0):
        seen = max(
            (n for n, frame in enumerate(frames, 1) if (frame[0] or 1e9) <= position), default=0
        )
        rest = await stream(server.client, "GET", url, headers={"Last-Event-ID": str(position)})
        assert rest == frames[seen:]
        listed = (await server.client.get(url, params={**VIEW, "after": position})).json()
        assert [(one["event"], one["data"]) for one in listed["entries"]] == [
            (kind, data) for _, kind, data in rest
        ]
        assert (listed["last"], listed["done"]) == (frames[-1][0], True)
    seen_all = {**VIEW, "after": frames[-1][0]}
    stream_of_all = {"Accept": "text/event-stream"}
    told = await server.client.get(url, params=seen_all, headers=stream_of_all)
    assert told.status_code == 204


def assert_same_ids(live: Sequence[Frame], afterwards: Sequence[Frame]) -> None:
    """Whoever reads the log afterwards is told of the same spans and messages as one who saw the
    previews as well, but for what was withdrawn."""
    told, later = messages(live), messages(afterwards)
    started = {one["span_id"]: one["name"] for one in told if one["type"] == "span.start"}
    for one in later:
        if one["type"] == "span.start":
            assert started[one["span_id"]] == one["name"]
    whole = {
        one["message_id"]: one for one in told if one["type"] == "content" and not one["delta"]
    }
    for one in later:
        if one["type"] == "content" and one["channel"] != "SYSTEM":
            assert whole[one["message_id"]]["text"] == one["text"]
            assert whole[one["message_id"]]["span_id"] == one["span_id"]


async def test_a_retry_in_mid_stream_withdraws_what_was_said(
    server: Any, model: ModelServer
) -> None:
    model.play([Error(status=429), Cut(text="half an", how="reset"), Text(text="Whole answer.")])
    frames = await say(server.client, await new_session(server.client))
    told = messages(frames)
    assert_nested(told)
    first, second = (data["data"] for data in on("SYSTEM", frames))
    assert (first["code"], first["withdrawn"]) == ("RETRY_ATTEMPT", [])
    assert first["detail"]["error"]["code"] == "rate_limited"
    (withdrawn,) = second["withdrawn"]
    assert "half an".startswith(pieces_of(told)[withdrawn])
    assert whole_texts(told) == ["Whole answer."]
    assert outcomes(told, "STEP") == ["interrupted", "ok"]


async def test_a_failure_is_told_once_and_closes_everything(
    server: Any, model: ModelServer
) -> None:
    model.play([Error(status=401)])
    frames = await say(server.client, await new_session(server.client))
    assert_nested(messages(frames))
    (why,) = on("SYSTEM", frames)
    assert why["data"]["code"] == "NON_RETRYABLE_ERROR"
    last = messages(frames)[-1]
    assert (last["name"], last["outcome"]) == ("PROCEDURE", "failed")
    assert last["error"]["code"] == frames[-1][2]["error"]["code"] == "authentication"


@pytest.mark.parametrize("approved", [True, False])
async def test_a_confirmation_is_a_question_inside_its_call(
    server: Any, model: ModelServer, approved: bool
) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),)), Text(text="Settled.")])
    before = await say(server.client, await new_session(server.client), "pay 9")
    waiting = before[-1]
    assert (waiting[0], waiting[1], waiting[2]["status"]) == (None, "done", "waiting_input")
    (asked,) = on("HITL", before)
    assert asked["data"] == waiting[2]["pending_input"][0]
    starts = {one["span_id"]: one for one in messages(before) if one["type"] == "span.start"}
    question = starts[asked["span_id"]]
    assert starts[question["parent_id"]]["detail"]["tool"] == "pay"
    after = await stream(
        server.client,
        "POST",
        f"/v1/turns/{waiting[2]['turn_id']}/input",
        json={"responses": [{"id": asked["data"]["id"], "confirmed": approved}]},
    )
    told = messages([*before, *after])
    assert_nested(told)
    ends = {one["span_id"]: one["outcome"] for one in told if one["type"] == "span.end"}
    assert ends[question["span_id"]] == "ok"
    assert ends[question["parent_id"]] == ("ok" if approved else "failed")
    assert_same_ids([*before, *after], await stream(server.client, "GET", events_url(after)))


async def test_a_waiting_turn_that_is_cancelled_withdraws_its_question(
    server: Any, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 9}),))])
    before = await say(server.client, await new_session(server.client), "pay 9")
    await server.client.post(f"/v1/turns/{before[-1][2]['turn_id']}/cancel")
    told = messages(await stream(server.client, "GET", events_url(before)))
    assert_nested(told)
    ends = {one["name"]: one["outcome"] for one in told if one["type"] == "span.end"}
    assert ends == dict.fromkeys(("HITL", "TOOL_CALLING", "STEP", "PROCEDURE"), "cancelled")


async def test_cancel_closes_what_is_open(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="wait_for_ever"),)), Hang()])
    session = await new_session(server.client)
    frames: list[Frame] = []
    async with server.client.stream(
        "POST",
        f"{session}/turns",
        json={"message": "wait"},
        params=VIEW,
        headers={"Accept": "text/event-stream"},
    ) as answer:
        async for frame in frames_of(answer):
            frames.append(frame)
            if frame[2].get("channel") == "TOOL_CALLING":
                url = answer.headers["location"]
                assert (await server.client.post(f"{url}/cancel")).status_code == 200
    told = messages(frames)
    assert_nested(told)
    assert frames[-1][2]["status"] == "cancelled"
    assert [data["data"]["code"] for data in on("SYSTEM", frames)] == ["CANCELLED"]
    assert {one["outcome"] for one in told if one["type"] == "span.end"} == {"cancelled"}


async def test_a_written_file_is_an_output(server: Any, model: ModelServer) -> None:
    call = Call(name="note", args={"name": "plan.txt", "text": "first"})
    model.play([ToolCalls(calls=(call,)), Text(text="Noted.")])
    frames = await say(server.client, await new_session(server.client, "keeper"))
    assert_nested(messages(frames))
    (output,) = on("OUTPUT", frames)
    assert output["data"] == {"artifact": "plan.txt", "version": 0}


async def test_the_socket_tells_the_same_as_the_stream(server: Any, model: ModelServer) -> None:
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 1, "b": 1}),)), Text(text="Two.")])
    session = await new_session(server.client)
    url = f"{server.url.replace('http', 'ws', 1)}{session}/ws?view=messages"
    frames: list[Frame] = []
    async with websockets.connect(url) as socket:
        await socket.send(json.dumps({"message": "1 + 1?"}))
        while not frames or frames[-1][1] != "done":
            one = json.loads(await socket.recv())
            frames.append((one.get("id"), one["event"], one["data"]))
        assert_nested(messages(frames))
        live, frames = frames, await stream(server.client, "GET", events_url(frames))
        assert_same_ids(live, frames)
        position = frames[1][0] or 0
        turn_id = frames[-1][2]["turn_id"]
        await socket.send(json.dumps({"follow": turn_id, "after": position}))
        rest: list[Frame] = []
        while not rest or rest[-1][1] != "done":
            one = json.loads(await socket.recv())
            rest.append((one.get("id"), one["event"], one["data"]))
        assert rest == frames[[number for number, _, _ in frames].index(position) + 1 :]


async def test_another_view_is_refused(server: Any) -> None:
    session = await new_session(server.client)
    answer = await server.client.post(
        f"{session}/turns", params={"view": "dreams"}, json={"message": "hi"}
    )
    assert answer.status_code == 422
    url = f"{server.url.replace('http', 'ws', 1)}{session}/ws?view=dreams"
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        async with websockets.connect(url):
            pass
    assert refused.value.response.status_code == 422
