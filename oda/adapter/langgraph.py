"""A compiled LangGraph graph behind the protocol, unchanged. Needs the extra `langgraph`."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from copy import deepcopy
from typing import Any, cast

from pydantic import JsonValue

from oda.adapter.base import Adapter, nothing_waits
from oda.adapter.protocol import AgentAction, AgentInput, AgentOutput, AgentStream
from oda.errors import ConfigurationError, NoContentError

try:
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel import Pregel
    from langgraph.types import Command

    from oda.adapter.langgraph_checkpoints import THREAD, Checkpoints
    from oda.adapter.langgraph_messages import MessageReader, messages_in, progress
except ImportError as error:
    raise ConfigurationError(
        "LangGraphAgent needs LangGraph, which is not installed.",
        remedy="pip install 'oda[langgraph]'",
    ) from error


class LangGraphAgent(Adapter):
    """Adapts a LangGraph graph and its state.

    Texts arrive as the models in its nodes write them (tag a model `nostream` to hide it), tool
    calls and results as messages of the kind `tool`, output of nodes to the stream writer as
    `progress`. The graph's checkpoints are kept in the exported state, whatever checkpointer it was
    compiled with, so all values in its state must be of LangGraph's safe types or of `types`; their
    size is up to the graph. A failed call leaves no trace.

    Where a node calls `interrupt(value)`, the value is the output's content. It is answered by
    `confirmed`: a bool, or with a payload `{"confirmed", "payload"}`; or by the next text.

    Args:
        graph: Compiled; it may be shared by any number of adapters.
        to_graph: The graph's input, out of an agent's and the workflow's state; by default a state
            with one user message.
        from_graph: The output, or its content, out of the graph's state; by default the text of the
            last message, or in a graph without messages the whole state.
        then: The action of an output that names none.
        on_interrupt: The action where a node interrupts.
        types: Additional classes of values in the graph's state.
    """

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        *,
        name: str | None = None,
        description: str = "",
        to_graph: Callable[[AgentInput, Any], Any] | None = None,
        from_graph: Callable[[Any], Any] | None = None,
        then: AgentAction = AgentAction.WAIT_INPUT,
        on_interrupt: AgentAction = AgentAction.REQUEST_CONFIRM,
        types: tuple[type, ...] = (),
    ) -> None:
        super().__init__(name or graph.name, description)
        self._graph = graph
        self._to_graph = to_graph or _as_message
        self._from_graph = from_graph or self._last_text
        self._then = then
        self._on_interrupt = on_interrupt
        self._checkpoints = Checkpoints(types)
        self._state: dict[str, JsonValue] = {}

    def export_state(self) -> dict[str, JsonValue]:
        return deepcopy(self._state)

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        """Become what `export_state` has described.

        Raises:
            ValidationError: it has not.
            ConfigurationError: the state holds classes that are not in `types`.
        """
        self._checkpoints.restored(state)
        self._state = deepcopy(dict(state))

    async def _run(self, input: AgentInput, state: Any) -> AgentStream:
        saver = self._checkpoints.restored(self._state)
        graph = self._graph.copy(update={"checkpointer": saver})
        config = _config(input)
        before = await graph.aget_state(config)
        told: Any
        if before.interrupts:
            told = Command(resume={asked.id: _answer(input) for asked in before.interrupts})
        elif input.answers:
            raise nothing_waits()
        else:
            told = self._to_graph(input, state)
        reader = MessageReader(before.values)
        async with aclosing(_happening(graph, told, config)) as stream:
            async for namespace, mode, value in stream:
                if mode == "messages":
                    for said in reader.piece(value[0]):
                        yield said
                elif mode == "custom":
                    yield progress(value)
                elif not namespace:
                    for said in reader.state(value):
                        yield said
        for said in reader.rest():
            yield said
        after = await graph.aget_state(config)
        state_after = self._checkpoints.exported(saver, waits=bool(after.next))
        output = self._interrupted(after) or self._output(after.values)
        self._state = state_after
        yield output

    def _interrupted(self, after: Any) -> AgentOutput | None:
        asked = [interrupt.value for interrupt in after.interrupts]
        if not asked:
            return None
        return AgentOutput(
            action=self._on_interrupt, content=asked[0] if asked[1:] == [] else asked
        )

    def _output(self, values: Any) -> AgentOutput:
        made = self._from_graph(values)
        if isinstance(made, AgentOutput):
            return made
        return AgentOutput(action=self._then, content=made)

    def _last_text(self, values: Any) -> Any:
        messages = messages_in(values)
        if not messages:
            return values
        last = messages[-1]
        if not isinstance(last, AIMessage) or not last.text:
            raise NoContentError(f"The graph {self.name!r} ended without an answer.")
        return str(last.text)


def _as_message(input: AgentInput, state: Any) -> Any:
    return {"messages": [HumanMessage(input.content)] if input.content else []}


def _answer(input: AgentInput) -> Any:
    if not input.answers:
        return input.content
    payload = input.context.get("payload")
    if payload is None:
        return input.confirmed
    return {"confirmed": input.confirmed, "payload": payload}


def _config(input: AgentInput) -> RunnableConfig:
    whose = {key: input.context[key] for key in ("user_id", "session_id") if key in input.context}
    return {"configurable": {**whose, "thread_id": THREAD}}


def _happening(
    graph: Pregel[Any, Any, Any, Any], told: Any, config: RunnableConfig
) -> AsyncGenerator[tuple[tuple[str, ...], str, Any], None]:
    """Stream the events of the graph and its subgraphs as (namespace, mode, data)."""
    stream = graph.astream(
        told, config, stream_mode=["messages", "values", "custom"], subgraphs=True
    )
    return cast(AsyncGenerator[tuple[tuple[str, ...], str, Any], None], stream)
