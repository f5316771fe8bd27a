"""Base class of adapters, which implements `invoke` by `stream`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from pydantic import JsonValue

from oda.adapter.protocol import AgentInput, AgentMessage, AgentOutput, AgentStream
from oda.errors import ConflictError


class Adapter(ABC):
    """Base class of wrapped agents. Subclasses yield messages as they arise.

    Args:
        name: Used by other agents to hand over to it.
        description: Its purpose; read by models and people.
    """

    streams = True

    def __init__(self, name: str, description: str = "") -> None:
        self.name = name
        self.description = description

    async def invoke(self, input: AgentInput, state: Any) -> AgentOutput:
        async with aclosing(self.stream(input, state)) as items:
            return [item async for item in items if isinstance(item, AgentOutput)][-1]

    async def stream(self, input: AgentInput, state: Any) -> AgentStream:
        said: list[AgentMessage] = []
        async with aclosing(self._run(input, state)) as items:
            async for item in items:
                if isinstance(item, AgentOutput):
                    yield item.model_copy(update={"messages": item.messages or tuple(said)})
                    return
                message = item if item.agent else item.model_copy(update={"agent": self.name})
                if not message.partial:
                    said.append(message)
                yield message
        raise RuntimeError(f"the agent {self.name!r} ended without an output")

    @abstractmethod
    def _run(self, input: AgentInput, state: Any) -> AgentStream:
        """Yield messages, then the output."""

    @abstractmethod
    def export_state(self) -> dict[str, JsonValue]:
        """All that the agent must know to go on, as JSON."""

    @abstractmethod
    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        """Become what `export_state` has described."""

    def reset(self) -> None:
        """Forget everything."""
        self.load_state({})


def nothing_waits() -> ConflictError:
    """Return the error for an answer when no question is open."""
    return ConflictError(
        "Nothing waits for a confirmation.", remedy="it may have been answered already"
    )
