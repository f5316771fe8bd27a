"""A2A 1.0: the clients of `a2a-sdk` and ADK, and our adapter, talk to a real server."""

import asyncio
import re
import signal
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from a2a import types as a2a
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import new_data_part
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionResponse, Part

from oda.adapter import AgentAction, AgentInput
from oda.adapter.remote import RemoteAgent
from oda.agent.failure import ModelReportedError
from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Text, ToolCalls
from tests.support.keys import bearer, make_key
from tests.support.model_settings import openai

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

CARD = "/.well-known/agent-card.json"
PATIENCE_S = 30.0
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 3}),))


@pytest.fixture(scope="module")
def model_settings(shared_model: ModelServer) -> dict[str, str]:
    return openai(shared_model)


@dataclass
class Talk:
    """A client of the SDK, and what tests do with it."""

    client: Client
    http: httpx.AsyncClient

    async def stream(self, *parts: str | a2a.Part, **fields: Any) -> list[a2a.StreamResponse]:
        async with asyncio.timeout(PATIENCE_S):
            request = asked(*parts, **fields)
            return [response async for response in self.client.send_message(request)]

    async def task(self, *parts: str | a2a.Part, **fields: Any) -> a2a.Task:
        """Send a message, and return the task when it has ended or waits."""
        last = (await self.stream(*parts, **fields))[-1]
        task_id = last.task.id or last.status_update.task_id
        return await self.get(task_id)

    async def get(self, task_id: str, **fields: Any) -> a2a.Task:
        return await self.client.get_task(a2a.GetTaskRequest(id=task_id, **fields))

    async def ended(self, task_id: str) -> a2a.Task:
        async with asyncio.timeout(PATIENCE_S):
            while (task := await self.get(task_id)).status.state in (  # noqa: ASYNC110
                a2a.TaskState.TASK_STATE_SUBMITTED,
                a2a.TaskState.TASK_STATE_WORKING,
            ):
                await asyncio.sleep(0.05)
        return task


def asked(
    *parts: str | a2a.Part, now: bool = False, message_id: str = "", **fields: Any
) -> a2a.SendMessageRequest:
    message = a2a.Message(
        message_id=message_id or uuid.uuid4().hex,
        role=a2a.Role.ROLE_USER,
        parts=[a2a.Part(text=part) if isinstance(part, str) else part for part in parts],
        **fields,
    )
    configuration = a2a.SendMessageConfiguration(return_immediately=now)
    return a2a.SendMessageRequest(message=message, configuration=configuration)


@asynccontextmanager
async def talking(
    url: str, key: str = "", *, binding: str = "JSONRPC", streaming: bool = True
) -> AsyncIterator[Talk]:
    """A client of the SDK that has read the card."""
    async with httpx.AsyncClient(timeout=PATIENCE_S, headers=bearer(key) if key else {}) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming
        )
        yield Talk(ClientFactory(config).create(card), http)


@pytest_asyncio.fixture(loop_scope="module", params=["JSONRPC", "HTTP+JSON"])
async def talk(request: pytest.FixtureRequest, server: Any) -> AsyncIterator[Talk]:
    async with talking(f"{server.url}/a2a/calculator", binding=request.param) as talk:
        yield talk


def state(task: a2a.Task | a2a.TaskStatusUpdateEvent) -> str:
    return str(a2a.TaskState.Name(task.status.state)).removeprefix("TASK_STATE_")


def text(task: a2a.Task | a2a.TaskStatusUpdateEvent) -> str:
    return " ".join(part.text for part in task.status.message.parts if part.text)


def states(stream: list[a2a.StreamResponse]) -> list[str]:
    """The states that a stream tells, each once in a row."""
    told = [
        state(one.task if one.HasField("task") else one.status_update)
        for one in stream
        if one.HasField("task") or one.HasField("status_update")
    ]
    return [one for place, one in enumerate(told) if place == 0 or told[place - 1] != one]


async def called(model: ModelServer, times: int = 1) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(model.requests) < times:  # noqa: ASYNC110 - the model server tells nobody
            await asyncio.sleep(0.02)


# --- cards


async def test_the_card_names_both_bindings(server: Any) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, f"{server.url}/a2a/calculator").get_agent_card()
    url = f"{server.url}/a2a/calculator"
    interfaces = [
        (one.url, one.protocol_binding, one.protocol_version) for one in card.supported_interfaces
    ]
    assert interfaces == [(url, "JSONRPC", "1.0"), (url, "HTTP+JSON", "1.0")]
    assert (card.name, card.description) == ("calculator", "Adds and divides.")
    assert card.capabilities.streaming and card.capabilities.extended_agent_card
    assert not card.capabilities.push_notifications
    assert [skill.id for skill in card.skills] == ["calculator"]
    assert not card.security_schemes


async def test_the_root_has_a_card_where_one_app_is_meant(serve: Any, server: Any) -> None:
    assert (await server.client.get(CARD)).status_code == 404
    named = await serve(A2A_APP="calculator")
    card = (await named.client.get(CARD)).json()
    assert card["name"] == "calculator"
    again = await named.client.get(f"/a2a/calculator{CARD}")
    assert again.json() == card
    seen = {"If-None-Match": again.headers["ETag"]}
    assert (await named.client.get(CARD, headers=seen)).status_code == 304


async def test_an_app_that_is_not_there_has_no_card(server: Any) -> None:
    for method, path in (("GET", CARD), ("POST", ""), ("GET", "/tasks")):
        answer = await server.client.request(method, f"/a2a/nobody{path}")
        assert answer.status_code == 404, path


async def test_the_extended_card_needs_a_credential(serve: Any, tmp_path: Path) -> None:
    anna = await make_key(tmp_path / "data", "anna")
    server = await serve()
    card = (await server.client.get(f"/a2a/calculator{CARD}")).json()
    assert list(card["securitySchemes"]) == ["bearer"]
    for path in ("/extendedAgentCard", "/tasks"):
        assert (await server.client.get(f"/a2a/calculator{path}")).status_code == 401
    assert (await server.client.post("/a2a/calculator", json={})).status_code == 401
    async with talking(f"{server.url}/a2a/calculator", anna) as talk:
        extended = await talk.client.get_extended_agent_card(a2a.GetExtendedAgentCardRequest())
    assert {"agent.negotiator", "tool.add"} <= {skill.id for skill in extended.skills}


# --- turns


async def test_a_turn_with_a_tool_is_streamed(talk: Talk, model: ModelServer) -> None:
    model.play([ADD, Text(text="Five.")])
    stream = await talk.stream("2 + 3?")
    assert stream[0].HasField("task")
    assert states(stream)[-2:] == ["WORKING", "COMPLETED"]
    data = [
        part.data.struct_value["name"]
        for one in stream
        for part in one.status_update.status.message.parts
        if part.HasField("data")
    ]
    assert data == ["add", "add"]
    assert text(stream[-1].status_update) == "Five."
    task = await talk.get(stream[0].task.id)
    assert (state(task), text(task)) == ("COMPLETED", "Five.")
    assert [part.text for message in task.history for part in message.parts] == ["2 + 3?"]
    assert not (await talk.get(task.id, history_length=0)).history


async def test_a_message_is_answered_when_the_turn_ends_or_at_once(
    server: Any, model: ModelServer
) -> None:
    model.play([Text(text="One."), Text(text="Two.")])
    async with talking(f"{server.url}/a2a/calculator", streaming=False) as talk:
        [answer] = await talk.stream("1?")
        assert (state(answer.task), text(answer.task)) == ("COMPLETED", "One.")
        [begun] = await talk.stream("2?", now=True, context_id=answer.task.context_id)
        assert begun.task.context_id == answer.task.context_id
        assert text(await talk.ended(begun.task.id)) == "Two."
    assert [m.text for m in model.requests[-1].messages if m.role == "user"] == ["1?", "2?"]


async def test_what_was_begun_here_is_read_elsewhere_and_back(
    server: Any, talk: Talk, model: ModelServer
) -> None:
    model.play([Text(text="Hello."), Text(text="Again.")])
    task = await talk.task("hi")
    turn = (await server.client.get(f"/v1/turns/{task.id}")).json()
    assert (turn["session_id"], turn["reply"]) == (task.context_id, "Hello.")
    session = f"/v1/apps/calculator/sessions/{task.context_id}"
    other = await server.client.post(f"{session}/turns", json={"message": "and now?"})
    there = await talk.get(other.json()["turn"]["turn_id"])
    assert (there.context_id, text(there)) == (task.context_id, "Again.")


async def test_retries_are_told_and_withdrawn_text_is_not_in_the_task(
    talk: Talk, model: ModelServer
) -> None:
    model.play([Error(status=429), Cut(text="half an", how="reset"), Text(text="Whole answer.")])
    stream = await talk.stream("hi")
    codes = [
        one.status_update.status.message.metadata["code"]
        for one in stream
        if "code" in one.status_update.status.message.metadata
    ]
    assert codes == ["RETRY_ATTEMPT", "RETRY_ATTEMPT"]
    assert "half an" not in str(stream)
    assert text(await talk.get(stream[0].task.id)) == "Whole answer."


async def test_a_failed_turn_is_a_failed_task(talk: Talk, model: ModelServer) -> None:
    model.play([Error(status=401)])
    stream = await talk.stream("hi")
    assert states(stream)[-1] == "FAILED"
    status = stream[-1].status_update.status
    assert status.message.metadata["code"] == "authentication"
    assert text(stream[-1].status_update)
    assert "Traceback" not in str(stream)


async def test_the_same_message_is_the_same_task(talk: Talk, model: ModelServer) -> None:
    model.play([Text(text="Once.")])
    first = await talk.task("hi", message_id=(key := uuid.uuid4().hex))
    again = await talk.task("hi", message_id=key)
    assert again == first
    in_context = await talk.task("hi", message_id=key, context_id=first.context_id)
    assert in_context.id == first.id
    assert len(model.requests) == 1
    with pytest.raises(InvalidParamsError):
        await talk.task("something else", message_id=key)
    at_once = uuid.uuid4().hex
    tasks = await asyncio.gather(*(talk.task("ho", message_id=at_once) for _ in range(4)))
    assert len({task.id for task in tasks}) == 1


# --- questions


@pytest.mark.parametrize(
    ("answer", "confirmed"),
    [
        (lambda _: "yes", True),
        (lambda _: "No.", False),
        (lambda id_: new_data_part({"responses": [{"id": id_, "confirmed": True}]}), True),
    ],
)
async def test_a_question_is_answered(
    talk: Talk, model: ModelServer, answer: Callable[[str], Any], confirmed: bool
) -> None:
    model.play([PAY, Text(text="Done.")])
    stream = await talk.stream("pay 3")
    assert states(stream)[-1] == "INPUT_REQUIRED"
    asks = stream[-1].status_update.status.message
    assert asks.parts[0].text
    question = asks.parts[-1].data.struct_value
    turn_id = stream[0].task.id
    said, key = answer(question["id"]), uuid.uuid4().hex
    answered = await talk.stream(said, task_id=turn_id, message_id=key)
    assert answered[0].task.id == turn_id
    assert states(answered)[-1] == "COMPLETED"
    assert text(answered[-1].status_update) == "Done."
    results = str(model.requests[-1].messages[-1].tool_results)
    assert ("paid" in results) is confirmed
    repeated = await talk.stream(said, task_id=turn_id, message_id=key)
    assert [state(one.task) for one in repeated] == ["COMPLETED"]
    with pytest.raises(UnsupportedOperationError):
        await talk.stream("yes", task_id=turn_id)


async def test_what_answers_nothing_is_refused(talk: Talk, model: ModelServer) -> None:
    model.play([PAY, Text(text="Done.")])
    task = await talk.task("pay 3")
    with pytest.raises(InvalidParamsError):
        await talk.stream("perhaps", task_id=task.id)
    with pytest.raises(UnsupportedOperationError):
        part = new_data_part({"responses": [{"id": "nobody", "confirmed": True}]})
        await talk.stream(part, task_id=task.id)
    with pytest.raises(InvalidParamsError):
        await talk.stream("yes", task_id=task.id, context_id="another")
    assert state(await talk.get(task.id)) == "INPUT_REQUIRED"
    assert state(await talk.client.cancel_task(a2a.CancelTaskRequest(id=task.id))) == "CANCELED"


# --- clients that leave, servers that die


async def test_a_client_comes_back_to_a_task_as_it_is(talk: Talk, model: ModelServer) -> None:
    model.play([Hang()])
    request = asked("hang")
    async for response in talk.client.send_message(request):
        task_id = response.task.id
        break
    await called(model)
    subscribed = talk.client.subscribe(a2a.SubscribeToTaskRequest(id=task_id))
    first = await anext(subscribed)
    assert (first.task.id, state(first.task)) == (task_id, "WORKING")
    cancelled = await talk.client.cancel_task(a2a.CancelTaskRequest(id=task_id))
    assert state(cancelled) == "CANCELED"
    async with asyncio.timeout(PATIENCE_S):
        rest = [one async for one in subscribed]
    assert states(rest)[-1] == "CANCELED"
    with pytest.raises(TaskNotCancelableError):
        await talk.client.cancel_task(a2a.CancelTaskRequest(id=task_id))
    with pytest.raises(UnsupportedOperationError):
        await anext(talk.client.subscribe(a2a.SubscribeToTaskRequest(id=task_id)))


async def test_a_task_goes_on_after_its_server_was_killed(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    settings = {**openai(model), "TURN__GRACE_S": "0.5"}
    model.play([ADD, Hang()])
    first = await serve(**settings)
    key = uuid.uuid4().hex
    async with talking(f"{first.url}/a2a/calculator") as talk:
        async for response in talk.client.send_message(asked("2 + 3?", message_id=key)):
            task = response.task
            break
        await called(model, 2)
    await first.stop(signal.SIGKILL)
    model.play([Text(text="Five.")])
    second = await serve(**settings)
    async with talking(f"{second.url}/a2a/calculator") as talk:
        assert text(await talk.ended(task.id)) == "Five."
        again = await talk.task("2 + 3?", message_id=key)
    assert (again.id, again.context_id) == (task.id, task.context_id)


# --- files


async def test_files_are_parts_in_both_directions(server: Any, model: ModelServer) -> None:
    note = ToolCalls(calls=(Call(name="note", args={"name": "a.txt", "text": "milk"}),))
    model.play([note, Text(text="Noted.")])
    async with talking(f"{server.url}/a2a/keeper") as talk:
        picture = a2a.Part(raw=b"\x89PNG", media_type="image/png", filename="a.png")
        stream = await talk.stream("note this", picture)
        made = [one.artifact_update for one in stream if one.HasField("artifact_update")]
        assert [(one.artifact.name, one.artifact.parts[0].text) for one in made] == [
            ("a.txt", "milk")
        ]
        task = await talk.get(stream[0].task.id)
        assert [one.artifact_id for one in task.artifacts] == ["a.txt"]
        assert task.history[0].parts[1].raw == b"\x89PNG"
        listed = a2a.ListTasksRequest(context_id=task.context_id, include_artifacts=True)
        [found] = (await talk.client.list_tasks(listed)).tasks
        assert [one.name for one in found.artifacts] == ["a.txt"]


# --- lists


async def test_tasks_are_listed_in_pages(talk: Talk, model: ModelServer) -> None:
    model.play([Text(text="a"), Text(text="b"), Error(status=401)])
    first = await talk.task("1")
    tasks = [first, *[await talk.task(n, context_id=first.context_id) for n in ("2", "3")]]
    found, token, totals = [], "", set()
    while True:
        wanted = a2a.ListTasksRequest(context_id=first.context_id, page_size=2, page_token=token)
        page = await talk.client.list_tasks(wanted)
        found += [task.id for task in page.tasks]
        totals.add(page.total_size)
        if not (token := page.next_page_token):
            break
    assert found == [task.id for task in reversed(tasks)]
    assert totals == {3}
    failed = a2a.ListTasksRequest(
        context_id=first.context_id, status=a2a.TaskState.TASK_STATE_FAILED
    )
    assert [one.id for one in (await talk.client.list_tasks(failed)).tasks] == [tasks[2].id]
    late = a2a.ListTasksRequest(context_id=first.context_id)
    late.status_timestamp_after.CopyFrom(tasks[1].status.timestamp)
    assert len((await talk.client.list_tasks(late)).tasks) == 2
    for wrong in ({"page_token": "???"}, {"page_size": 101}, {"history_length": -1}):
        with pytest.raises(InvalidParamsError):
            await talk.client.list_tasks(a2a.ListTasksRequest(**wrong))


# --- refusals


async def test_what_another_user_has_does_not_exist(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    keys = [await make_key(tmp_path / "data", user) for user in ("anna", "bert")]
    server = await serve(**openai(model))
    url = f"{server.url}/a2a/calculator"
    model.play([Text(text="Hello."), PAY])
    async with (
        talking(url, keys[0]) as anna,
        talking(url, keys[1]) as bert,
        talking(url, keys[1], binding="HTTP+JSON") as bert_too,
    ):
        ended = await anna.task("hi")
        waiting = await anna.task("pay", context_id=ended.context_id)
        for talk in (bert, bert_too):
            with pytest.raises(TaskNotFoundError):
                await talk.stream("hi", context_id=ended.context_id)
            with pytest.raises(TaskNotFoundError):
                await talk.stream("yes", task_id=waiting.id)
            with pytest.raises(TaskNotFoundError):
                await talk.get(ended.id)
            with pytest.raises(TaskNotFoundError):
                await talk.client.cancel_task(a2a.CancelTaskRequest(id=waiting.id))
            with pytest.raises(TaskNotFoundError):
                subscribe = a2a.SubscribeToTaskRequest(id=waiting.id)
                await anext(talk.client.subscribe(subscribe))
            mine = a2a.ListTasksRequest(context_id=ended.context_id)
            assert not (await talk.client.list_tasks(mine)).tasks
        assert state(await anna.get(waiting.id)) == "INPUT_REQUIRED"


async def test_refusals_have_their_status(server: Any) -> None:
    url = "/a2a/calculator"
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    for path in ("message:send", "message:stream"):
        missing = {"message": {**message, "contextId": "nowhere"}}
        answer = await server.client.post(f"{url}/{path}", json=missing)
        assert answer.status_code == 404, answer.text
        error = answer.json()["error"]
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")
        assert error["details"][0]["reason"] == "TASK_NOT_FOUND"
        for body in ({}, {"message": {**message, "parts": []}}, {"message": 3}):
            assert (await server.client.post(f"{url}/{path}", json=body)).status_code == 400
        text = await server.client.post(f"{url}/{path}", content=b"{}")
        assert text.status_code == 415
    large = {"message": {**message, "parts": [{"text": "x" * (2 << 20)}]}}
    assert (await server.client.post(f"{url}/message:send", json=large)).status_code == 413
    deep = b'{"message": ' + b"[" * 200 + b"]" * 200 + b"}"
    headers = {"Content-Type": "application/json"}
    answer = await server.client.post(f"{url}/message:send", content=deep, headers=headers)
    assert answer.status_code == 400


async def test_overload_has_its_status_in_both_bindings(serve: Any, model: ModelServer) -> None:
    model.play([Hang()])
    server = await serve(**openai(model), SESSION__MAX_QUEUED="1")
    async with talking(f"{server.url}/a2a/calculator", streaming=False) as talk:
        [first] = await talk.stream("1", now=True)
        context = first.task.context_id
        await talk.stream("2", now=True, context_id=context)
        message = {"role": "ROLE_USER", "parts": [{"text": "3"}], "contextId": context}
        asked = {"message": {**message, "messageId": "three"}}
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": asked}
        for path, body in (("/message:stream", asked), ("", rpc)):
            answer = await server.client.post(f"/a2a/calculator{path}", json=body)
            assert answer.status_code == 429
            assert int(answer.headers["Retry-After"]) > 0
            assert "error" in answer.json()
        await talk.client.cancel_task(a2a.CancelTaskRequest(id=first.task.id))


async def test_push_notifications_are_not_supported(talk: Talk) -> None:
    config = a2a.TaskPushNotificationConfig(task_id="t", url="https://example.com")
    with pytest.raises(PushNotificationNotSupportedError):
        await talk.client.create_task_push_notification_config(config)


async def test_nonsense_is_an_error_of_the_protocol(server: Any) -> None:
    for body, code in (
        ({"jsonrpc": "2.0", "id": 1, "method": "Nothing"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 3}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}, -32001),
        ([], -32600),
    ):
        answer = await server.client.post("/a2a/calculator", json=body)
        assert answer.json()["error"]["code"] == code
        assert not re.search(r"Traceback|/site-packages/", answer.text)


# --- other clients


async def test_adks_remote_agent_talks_and_is_asked(server: Any, model: ModelServer) -> None:
    model.play([ADD, Text(text="Five."), PAY, Text(text="Paid.")])
    remote = RemoteA2aAgent(name="remote", agent_card=f"{server.url}/a2a/calculator{CARD}")
    runner = InMemoryRunner(remote, app_name="here")
    session = await runner.session_service.create_session(app_name="here", user_id="u")

    async def said(*parts: Part) -> list[Any]:
        message = Content(role="user", parts=list(parts))
        async with asyncio.timeout(PATIENCE_S):
            run = runner.run_async(user_id="u", session_id=session.id, new_message=message)
            return [event async for event in run]

    def words(event: Any) -> list[str]:
        return [part.text for part in event.content.parts if part.text and not part.thought]

    assert words((await said(Part(text="2 + 3?")))[-1]) == ["Five."]
    asks = (await said(Part(text="pay 3")))[-1]
    [question] = [call for call in asks.get_function_calls() if "confirm" in call.name]
    assert question.id in asks.long_running_tool_ids
    agreed = FunctionResponse(id=question.id, name=question.name, response={"confirmed": True})
    assert words((await said(Part(function_response=agreed)))[-1]) == ["Paid."]
    assert "paid" in str(model.requests[-1].messages[-1].tool_results)
    assert next(m.text for m in model.requests[-1].messages if m.role == "user") == "2 + 3?"


async def test_our_adapter_talks_is_asked_and_hears_of_failures(
    server: Any, model: ModelServer
) -> None:
    model.play([Text(text="Hello."), PAY, Text(text="Not paid."), Error(status=401)])
    remote = RemoteAgent(f"{server.url}/a2a/calculator", name="remote")
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert (await remote.invoke(AgentInput(content="hi"), None)).content == "Hello."
            asks = await remote.invoke(AgentInput(content="pay 3"), None)
            assert asks.action == AgentAction.REQUEST_CONFIRM
            refused = await remote.invoke(AgentInput(context={"confirmed": False}), None)
            assert refused.content == "Not paid."
            with pytest.raises(ModelReportedError):
                await remote.invoke(AgentInput(content="fail"), None)
    finally:
        await remote.aclose()
