"""The OpenAI face, spoken to by OpenAI's own client."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Text, ToolCalls
from tests.support.model_settings import openai as openai_model

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

APP = "calculator"


@pytest.fixture(scope="module")
def model_settings(shared_model: ModelServer) -> dict[str, str]:
    return openai_model(shared_model)


@pytest_asyncio.fixture(loop_scope="module")
async def client(server: Any) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", timeout=30) as client:
        yield client


def pays(amount: int) -> ToolCalls:
    return ToolCalls(calls=(Call(name="pay", args={"amount": amount}),))


async def events_of(stream: Any) -> list[Any]:
    return [event async for event in stream]


def assert_numbered(events: list[Any]) -> None:
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))


async def test_models_are_apps(client: AsyncOpenAI) -> None:
    assert APP in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve(APP)).id == APP
    with pytest.raises(openai.NotFoundError) as told:
        await client.models.retrieve("nobody")
    assert told.value.code == "model_not_found"
    assert told.value.request_id


async def test_a_response_with_a_tool_of_the_server(
    client: AsyncOpenAI, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Text(text="Five.")])
    response = await client.responses.create(model=APP, input="2 + 3?", metadata={"k": "v"})
    assert (response.status, response.output_text) == ("completed", "Five.")
    call, said = response.output
    assert call.type == "mcp_call"
    assert (call.name, call.arguments, call.status) == ("add", '{"a": 2, "b": 3}', "completed")
    assert said.type == "message"
    assert response.metadata == {"k": "v"}
    assert response.usage is not None
    assert response.usage.total_tokens > 0
    again = await client.responses.retrieve(response.id)
    assert again.model_dump() == response.model_dump()
    items = await client.responses.input_items.list(response.id)
    assert items.data[0].content[0].text == "2 + 3?"  # type: ignore[union-attr,index]


async def test_a_conversation_goes_on(client: AsyncOpenAI, model: ModelServer) -> None:
    model.play([Text(text="one"), Text(text="two"), Text(text="three")])
    first = await client.responses.create(model=APP, input="a", conversation="talk-1")
    second = await client.responses.create(model=APP, input="b", previous_response_id=first.id)
    third = await client.responses.create(model=APP, input="c", conversation="talk-1")
    assert second.previous_response_id == first.id
    assert [each.conversation and each.conversation.id for each in (first, second, third)] == [
        "talk-1"
    ] * 3
    asked = [m.text for m in model.requests[-1].messages if m.role == "user"]
    assert asked == ["a", "b", "c"]


async def test_a_stream_can_be_read_again_from_each_of_its_events(
    client: AsyncOpenAI, model: ModelServer
) -> None:
    model.play(
        [ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Text(text="one two three")]
    )
    live = await events_of(await client.responses.create(model=APP, input="x", stream=True))
    assert_numbered(live)
    assert [event.type for event in (live[0], live[1], live[-1])] == [
        "response.created",
        "response.in_progress",
        "response.completed",
    ]
    assert live[0].response.output == []
    response_id = live[0].response.id
    pieces = [event for event in live if event.type == "response.output_text.delta"]
    assert "".join(event.delta for event in pieces) == "one two three"
    assert pieces[-1].sequence_number % 1_000_000 == len("one two three")
    for place, event in enumerate(live):
        rest = await events_of(
            await client.responses.retrieve(
                response_id, stream=True, starting_after=event.sequence_number
            )
        )
        said = [e.delta for e in live[place + 1 :] if e.type == "response.output_text.delta"]
        read = [e.delta for e in rest if e.type == "response.output_text.delta"]
        assert "".join(read) == "".join(said)
        others = [e for e in live[place + 1 :] if e.type != "response.output_text.delta"]
        assert [e for e in rest if e.type != "response.output_text.delta"] == others


async def test_a_withdrawn_text_ends_as_incomplete(client: AsyncOpenAI, model: ModelServer) -> None:
    model.play([Cut(text="half an answer"), Text(text="whole")])
    live = await events_of(await client.responses.create(model=APP, input="x", stream=True))
    assert_numbered(live)
    ends = [e.item.status for e in live if e.type == "response.output_item.done"]
    assert ends == ["incomplete", "completed"]
    assert live[-1].response.output_text == "whole"


async def test_a_failure_is_a_response(client: AsyncOpenAI, model: ModelServer) -> None:
    model.play([Error(status=400, message="no")])
    response = await client.responses.create(model=APP, input="x")
    assert response.status == "failed"
    assert response.error is not None
    assert response.error.code == "server_error"


@pytest.mark.parametrize("approve", [True, False])
async def test_an_approval_is_answered_by_a_new_response(
    client: AsyncOpenAI, model: ModelServer, approve: bool
) -> None:
    model.play([pays(9), Text(text="Settled.")])
    asking = await client.responses.create(model=APP, input="pay 9")
    assert asking.status == "completed"
    asked = asking.output[-1]
    assert asked.type == "mcp_approval_request"
    assert (asked.name, asked.arguments) == ("pay", '{"amount": 9}')
    answer: Any = {
        "type": "mcp_approval_response",
        "approval_request_id": asked.id,
        "approve": approve,
    }
    settled = await client.responses.create(
        model=APP, input=[answer], previous_response_id=asking.id
    )
    assert (settled.status, settled.output_text) == ("completed", "Settled.")
    assert settled.id != asking.id
    assert settled.previous_response_id == asking.id
    call = settled.output[0]
    assert call.type == "mcp_call"
    assert call.status == ("completed" if approve else "failed")
    assert call.approval_request_id == asked.id
    assert (await client.responses.retrieve(asking.id)).output == asking.output
    told = await client.responses.input_items.list(settled.id)
    assert told.data[0].type == "mcp_approval_response"
    with pytest.raises(openai.ConflictError) as refused:
        await client.responses.create(model=APP, input=[answer], previous_response_id=asking.id)
    assert refused.value.response.headers["x-should-retry"] == "false"


async def test_in_the_background_and_cancelled(client: AsyncOpenAI, model: ModelServer) -> None:
    model.play([Hang()])
    begun = await client.responses.create(model=APP, input="x", background=True)
    assert begun.status in ("queued", "in_progress")
    assert (await client.responses.cancel(begun.id)).status == "cancelled"
    last = (await events_of(await client.responses.retrieve(begun.id, stream=True)))[-1]
    assert last.response.status == "cancelled"


async def test_the_same_key_is_the_same_response(client: AsyncOpenAI, model: ModelServer) -> None:
    model.play([Text(text="once"), Text(text="twice")])
    key = {"Idempotency-Key": "k1"}
    first = await client.responses.create(model=APP, input="x", extra_headers=key)
    again = await client.responses.create(model=APP, input="x", extra_headers=key)
    assert (again.id, again.output_text) == (first.id, "once")
    with pytest.raises(openai.UnprocessableEntityError):
        await client.responses.create(model=APP, input="y", extra_headers=key)


async def test_a_deleted_response_is_gone_and_a_strangers_was_never_there(
    client: AsyncOpenAI, model: ModelServer
) -> None:
    model.play([Text(text="hello")])
    response = await client.responses.create(model=APP, input="x")
    stranger = client.with_options(default_headers={"X-Oda-User": "eve"})
    for call in (stranger.responses.retrieve, stranger.responses.cancel):
        with pytest.raises(openai.NotFoundError):
            await call(response.id)
    with pytest.raises(openai.NotFoundError):
        await stranger.responses.create(model=APP, input="y", previous_response_id=response.id)
    await client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(response.id)


async def test_what_is_refused_has_its_status(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as told:
        await client.responses.create(model="nobody", input="x")
    assert told.value.param == "model"
    with pytest.raises(openai.UnprocessableEntityError):
        await client.responses.create(model=APP, input="x", top_logprobs=3)
    with pytest.raises(openai.UnprocessableEntityError):
        await client.responses.create(model=APP, input=" ", stream=True)
