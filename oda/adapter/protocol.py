"""The interface of agents for orchestrators. Source: seed `AgentAdapter`."""

from collections.abc import AsyncGenerator, Mapping
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue


class AgentAction(StrEnum):
    """The next step after an agent's output."""

    CONTINUE = "CONTINUE"
    """The same agent continues at once."""
    HANDOFF = "HANDOFF"
    """`next_agent` continues at once."""
    WAIT_INPUT = "WAIT_INPUT"
    """The user is to say something; the same agent gets it."""
    REQUEST_CONFIRM = "REQUEST_CONFIRM"
    """The user is asked to agree to `content`; the answer goes to the same agent."""
    FINISH = "FINISH"
    """The agent has done what it was asked for."""
    SWITCH_TASK = "SWITCH_TASK"
    """The user wants to be at `target`."""


class AgentInput(BaseModel):
    """The input of an agent."""

    model_config = ConfigDict(frozen=True)

    content: str = ""
    """Without a text the agent is to go on by itself."""
    context: Mapping[str, Any] = {}
    """Further data for the agent. After `REQUEST_CONFIRM`: `confirmed` (bool) and, if the user has
    sent something with it, `payload`. `user_id` and `session_id` identify the user it works for.
    """

    @property
    def answers(self) -> bool:
        """Whether the input answers a `REQUEST_CONFIRM`."""
        return self.context.get("confirmed") is not None

    @property
    def confirmed(self) -> bool:
        """Whether the user has agreed."""
        return bool(self.context.get("confirmed"))


class AgentMessage(BaseModel):
    """Something an agent has said on its way to its output."""

    model_config = ConfigDict(frozen=True)

    agent: str = ""
    content: str
    """A text; of a tool its name."""
    kind: Literal["text", "thought", "tool", "progress"] = "text"
    partial: bool = False
    """A piece of a text; the whole text follows."""
    data: JsonValue = None
    """For tools: `{"id", "args"}` of a call, `{"id", "result"}` of its result."""


class AgentOutput(BaseModel):
    """The output of an agent."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    thought: str = ""
    action: AgentAction = AgentAction.FINISH
    content: Any = None
    next_agent: str | None = None
    """With `HANDOFF`."""
    messages: tuple[AgentMessage, ...] = ()
    """All that it has said on the way; whole ones only."""
    target: str | None = None
    """With `SWITCH_TASK`."""


AgentStream = AsyncGenerator[AgentMessage | AgentOutput, None]


class Agent(Protocol):
    """One agent in one session; it may remember the conversation.

    If a session continues elsewhere, another instance is given the exported state.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def streams(self) -> bool:
        """Whether messages arrive while the agent works; otherwise they come with its output."""
        ...

    async def invoke(self, input: AgentInput, state: Any) -> AgentOutput:
        """Let the agent work; `state` is the workflow's, which it may read and change.

        Raises:
            Exception: the agent has failed. What it remembers is then not to be relied on; give it
                the state that it had before.
        """
        ...

    def stream(self, input: AgentInput, state: Any) -> AgentStream:
        """The same, as it happens; the last item is the output."""
        ...

    def export_state(self) -> dict[str, JsonValue]:
        """All that the agent must know to go on, as JSON."""
        ...

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        """Become what `export_state` has described; an empty state is that of the beginning."""
        ...

    def reset(self) -> None:
        """Forget everything."""
        ...
