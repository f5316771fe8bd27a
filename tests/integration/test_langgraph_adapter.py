"""LangGraph graphs of all kinds behind the protocol: what the common contract does not ask."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from oda.adapter import AgentAction, AgentInput, AgentMessage, AgentOutput, LangGraphAgent
from oda.adapter.usage import metered
from oda.errors import ConfigurationError, NoContentError
from oda.orchestration import StepContext

YES = AgentInput(context={"confirmed": True})
Messages = dict[str, list[Any]]


async def invoke(adapter: LangGraphAgent, text: str, **context: Any) -> AgentOutput:
    return await adapter.invoke(AgentInput(content=text, context=context), None)


def again(adapter: LangGraphAgent, other: LangGraphAgent) -> LangGraphAgent:
    other.load_state(json.loads(json.dumps(adapter.export_state())))
    return other


def graph_of(node: Any, state: Any = MessagesState) -> Any:
    return StateGraph(state).add_node("node", node).add_edge(START, "node").compile()


class Tally(TypedDict):
    words: Annotated[list[str], lambda before, new: before + new]
    count: int


def tally(state: Tally) -> dict[str, Any]:
    return {"count": len(state["words"])}


async def test_a_graph_with_a_state_of_its_own() -> None:
    def adapter() -> LangGraphAgent:
        return LangGraphAgent(
            graph_of(tally, Tally),
            name="tally",
            to_graph=lambda input, state: {"words": input.content.split() + state["also"]},
            from_graph=lambda values: AgentOutput(
                action=AgentAction.FINISH, content=values["count"]
            ),
        )

    first = adapter()
    told = AgentInput(content="one two")
    output = await first.invoke(told, {"also": ["three"]})
    assert (output.action, output.content) == (AgentAction.FINISH, 3)
    assert (await again(first, adapter()).invoke(told, {"also": []})).content == 5


async def test_a_state_without_messages_is_the_content() -> None:
    adapter = LangGraphAgent(
        graph_of(tally, Tally), to_graph=lambda input, state: {"words": [input.content]}
    )
    assert (await invoke(adapter, "one")).content == {"words": ["one"], "count": 1}


async def test_a_functional_graph() -> None:
    @entrypoint()
    def shout(text: str) -> str:
        return text.upper()

    adapter = LangGraphAgent(shout, to_graph=lambda input, state: input.content)
    assert (await invoke(adapter, "hi")).content == "HI"


async def test_a_subgraph_asks_and_goes_on_in_another_object() -> None:
    def ask(state: MessagesState) -> Messages:
        first = interrupt({"question": "really?"})
        second = interrupt("sure?")
        return {"messages": [AIMessage(f"{first}, {second}")]}

    def adapter() -> LangGraphAgent:
        return LangGraphAgent(graph_of(graph_of(ask)))

    waiting = adapter()
    asked = await invoke(waiting, "do it")
    assert (asked.action, asked.content) == (
        AgentAction.REQUEST_CONFIRM,
        {"question": "really?"},
    )
    waiting = again(waiting, adapter())
    assert (await waiting.invoke(YES, None)).content == "sure?"
    assert (await invoke(again(waiting, adapter()), "well, yes")).content == "True, well, yes"


async def test_several_interrupts_are_answered_together_with_a_payload() -> None:
    def ask(name: str) -> Any:
        return lambda state: {"messages": [AIMessage(f"{name}: {interrupt(name)}", name=name)]}

    graph = StateGraph(MessagesState).add_node("a", ask("a")).add_node("b", ask("b"))
    adapter = LangGraphAgent(
        graph.add_edge(START, "a").add_edge(START, "b").compile(),
        on_interrupt=AgentAction.WAIT_INPUT,
    )
    asked = await invoke(adapter, "go")
    assert (asked.action, asked.content) == (AgentAction.WAIT_INPUT, ["a", "b"])
    output = await invoke(adapter, "", confirmed=False, payload=7)
    answer = {"confirmed": False, "payload": 7}
    assert [message.content for message in output.messages] == [f"a: {answer}", f"b: {answer}"]


async def test_tools_thoughts_and_progress_are_told_apart() -> None:
    call = {"name": "add", "args": {"a": 1}, "id": "c1"}
    thinking: list[str | dict[Any, Any]] = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "wait"},
    ]

    def work(state: MessagesState) -> Messages:
        get_stream_writer()("adding")
        get_stream_writer()({"done": 0.5})
        return {
            "messages": [
                AIMessage(thinking, tool_calls=[call]),
                ToolMessage("1", name="add", tool_call_id="c1"),
                AIMessage("one"),
            ]
        }

    output = await invoke(LangGraphAgent(graph_of(work)), "1?")
    assert [(m.kind, m.content, m.data) for m in output.messages] == [
        ("progress", "adding", "adding"),
        ("progress", "", {"done": 0.5}),
        ("thought", "hm", None),
        ("text", "wait", None),
        ("tool", "add", {"id": "c1", "args": {"a": 1}}),
        ("tool", "add", {"id": "c1", "result": "1"}),
        ("text", "one", None),
    ]


async def test_what_models_write_streams_also_where_it_is_not_kept() -> None:
    async def work(state: Tally) -> dict[str, Any]:
        model = GenericFakeChatModel(messages=iter([AIMessage("let me count")]))
        await model.ainvoke(state["words"])
        return {"count": 1}

    adapter = LangGraphAgent(
        graph_of(work, Tally), to_graph=lambda input, state: {"words": [input.content]}
    )
    stream = adapter.stream(AgentInput(content="hi"), None)
    said = [item async for item in stream if isinstance(item, AgentMessage)]
    assert "".join(message.content for message in said if message.partial) == "let me count"
    assert [message.content for message in said if not message.partial] == ["let me count"]


USED = UsageMetadata(input_tokens=2, output_tokens=3, total_tokens=5)


class Counting(GenericFakeChatModel):
    """A model that tells with the last piece what it has used."""

    def _stream(self, *arguments: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        for text, used in (("hello ", None), ("you", USED)):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text, usage_metadata=used))


@pytest.mark.parametrize("streams", [True, False])
async def test_what_models_cost_is_told_once(streams: bool) -> None:
    async def work(state: MessagesState) -> Messages:
        if not streams:
            return {"messages": [AIMessage("hello you", usage_metadata=USED)]}
        return {"messages": [await Counting(messages=iter([])).ainvoke(state["messages"])]}

    paid = StepContext(user_id="ann", now=datetime.now(UTC))
    adapter = LangGraphAgent(graph_of(work))
    with metered(paid):
        await invoke(adapter, "hi")
        await invoke(again(adapter, LangGraphAgent(graph_of(work))), "hi again")
    assert [one.tokens.total_token_count for one in paid.used] == [5, 5]


async def test_the_graphs_own_checkpointer_is_left_alone() -> None:
    saver = InMemorySaver()
    graph = (
        StateGraph(MessagesState)
        .add_node("node", lambda state: {"messages": [AIMessage("ok")]})
        .add_edge(START, "node")
        .compile(checkpointer=saver)
    )
    await invoke(LangGraphAgent(graph), "hi")
    assert not list(saver.list(None))
    assert graph.checkpointer is saver


@dataclass
class Point:
    x: int


class Drawing(TypedDict):
    point: Point


def drawing(*types: type) -> LangGraphAgent:
    def move(state: Drawing) -> Drawing:
        return {"point": Point(state["point"].x + 1)}

    def begun(input: AgentInput, state: Any) -> Any:
        return {"point": Point(0)} if input.content == "new" else {}

    return LangGraphAgent(
        graph_of(move, Drawing),
        to_graph=begun,
        from_graph=lambda values: values["point"].x,
        types=types,
    )


async def test_only_named_classes_are_kept() -> None:
    adapter = drawing(Point)
    assert (await invoke(adapter, "new")).content == 1
    assert (await invoke(again(adapter, drawing(Point)), "move")).content == 2
    with pytest.raises(ConfigurationError, match=r"test_langgraph_adapter\.Point.*`types`"):
        await invoke(drawing(), "new")
    with pytest.raises(ConfigurationError, match=r"test_langgraph_adapter\.Point"):
        drawing().load_state(adapter.export_state())


async def test_a_forged_state_makes_no_objects() -> None:
    adapter = LangGraphAgent(graph_of(lambda state: {"messages": [AIMessage("ok")]}))
    await invoke(adapter, "hi")
    state: Any = adapter.export_state()
    state["checkpoints"][0]["checkpoint"] = ["pickle", "gASVAAAAAAAAAC4="]
    with pytest.raises(ValueError, match="'msgpack'"):
        adapter.load_state(state)
    with pytest.raises(ValueError, match="checkpoints"):
        adapter.load_state({"checkpoints": "nonsense"})


async def test_a_graph_that_says_nothing_has_failed() -> None:
    with pytest.raises(NoContentError):
        await invoke(LangGraphAgent(graph_of(lambda state: {})), "hi")


async def test_an_empty_input_adds_no_message() -> None:
    def count(state: MessagesState) -> Messages:
        told = [m for m in state["messages"] if isinstance(m, HumanMessage)]
        return {"messages": [AIMessage(str(len(told)))]}

    adapter = LangGraphAgent(graph_of(count))
    await invoke(adapter, "hi")
    assert (await invoke(adapter, "")).content == "1"


async def test_one_graph_serves_many_adapters_at_once() -> None:
    async def echo(state: MessagesState) -> Messages:
        await asyncio.sleep(0)
        return {"messages": [AIMessage(str(state["messages"][-1].content))]}

    graph = graph_of(echo)
    outputs = await asyncio.gather(*(invoke(LangGraphAgent(graph), str(n)) for n in range(10)))
    assert [output.content for output in outputs] == [str(n) for n in range(10)]


@pytest.mark.parametrize(
    ("library", "name", "extra"),
    [("langgraph.pregel", "LangGraphAgent", "langgraph"), ("a2a.types", "RemoteAgent", "a2a")],
)
def test_a_missing_library_is_named_by_its_extra(library: str, name: str, extra: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; from oda.adapter import {name}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert "ConfigurationError" in done.stderr.splitlines()[-1]
    assert f"pip install 'oda[{extra}]'" in done.stderr.splitlines()[-1]
