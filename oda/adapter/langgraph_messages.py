"""Messages of a LangGraph graph while it runs. Needs the extra `langgraph`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.genai.types import GenerateContentResponseUsageMetadata
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from oda.adapter import usage
from oda.adapter.protocol import AgentMessage
from oda.message.storable import storable


def messages_in(values: Any) -> Sequence[BaseMessage]:
    """Return the conversation in a graph's state; empty if there is none."""
    found = values.get("messages") if isinstance(values, Mapping) else None
    return [message for message in found or () if isinstance(message, BaseMessage)]


class MessageReader:
    """Assembles messages from their pieces, and yields each message once.

    Args:
        values: The graph's state before it runs.
    """

    def __init__(self, values: Any) -> None:
        self._told = {_key(*one) for one in enumerate(messages_in(values))}
        self._begun: dict[str, AIMessageChunk] = {}

    def piece(self, message: BaseMessage) -> Iterator[AgentMessage]:
        """Yield the text that a model writes; other messages come with the state."""
        if not isinstance(message, AIMessageChunk):
            return
        yield from _said(message, partial=True)
        key = message.id or ""
        begun = self._begun.get(key)
        self._begun[key] = message if begun is None else begun + message
        if message.chunk_position == "last":
            yield from self._whole(key, self._begun[key])

    def state(self, values: Any) -> Iterator[AgentMessage]:
        """Yield the new messages in the graph's state."""
        for number, message in enumerate(messages_in(values)):
            if (key := _key(number, message)) not in self._told:
                yield from self._whole(key, message)

    def rest(self) -> Iterator[AgentMessage]:
        """Yield messages that have begun, but were neither completed nor found in the state."""
        for key, message in list(self._begun.items()):
            yield from self._whole(key, message)

    def _whole(self, key: str, message: BaseMessage) -> Iterator[AgentMessage]:
        self._told.add(key)
        self._begun.pop(key, None)
        if isinstance(message, AIMessage):
            usage.count(_tokens(message), message.response_metadata.get("model_name"))
        yield from _said(message, partial=False)


def progress(value: Any) -> AgentMessage:
    """Return the message for a node's output to LangGraph's stream writer."""
    content = value if isinstance(value, str) else ""
    return AgentMessage(content=content, kind="progress", data=storable(value))


def _key(number: int, message: BaseMessage) -> str:
    return message.id or f"#{number}"


def _said(message: BaseMessage, *, partial: bool) -> Iterator[AgentMessage]:
    if isinstance(message, ToolMessage):
        data = {"id": message.tool_call_id, "result": storable(message.content)}
        yield AgentMessage(content=message.name or "", kind="tool", data=data)
    if not isinstance(message, AIMessage):
        return
    for block in message.content_blocks:
        if block["type"] == "reasoning" and (thought := block.get("reasoning")):
            yield AgentMessage(content=thought, kind="thought", partial=partial)
    if message.text:
        yield AgentMessage(content=str(message.text), partial=partial)
    for call in () if partial else message.tool_calls:
        data = {"id": call["id"], "args": storable(call["args"])}
        yield AgentMessage(content=call["name"], kind="tool", data=data)


def _tokens(message: AIMessage) -> GenerateContentResponseUsageMetadata | None:
    if (used := message.usage_metadata) is None:
        return None
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=used["input_tokens"],
        candidates_token_count=used["output_tokens"],
        total_token_count=used["total_tokens"],
    )
