"""What every agent looks like to those who orchestrate agents. Source: seed `AgentAdapter`."""

from collections.abc import AsyncGenerator, Mapping
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue


class AgentAction(StrEnum):
    """What is to happen after an agent has spoken."""

    CONTINUE = "CONTINUE"
    """The same agent goes on at once."""
    HANDOFF = "HANDOFF"
    """`next_agent` goes on at once."""
    WAIT_INPUT = "WAIT_INPUT"
    """The user is to say something; the same agent gets it."""
    REQUEST_CONFIRM = "REQUEST_CONFIRM"
    """The user is to agree to `content` or not; the same agent is told."""
    FINISH = "FINISH"
    """The agent has done what it was asked for."""
    SWITCH_TASK = "SWITCH_TASK"
    """The user wants to be at `target`."""


class AgentInput(BaseModel):
    """What an agent is told."""

    model_config = ConfigDict(frozen=True)

    content: str = ""
    """Without a text the agent is to go on by itself."""
    context: Mapping[str, Any] = {}
    """Whatever else it should know. After `REQUEST_CONFIRM`: `confirmed` (bool) and, if the user
    has sent something with it, `payload`. `user_id` and `session_id` tell for whom it works."""

    @property
    def answers(self) -> bool:
        """Whether it answers a `REQUEST_CONFIRM`."""
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
    """Of a tool: `{"id", "args"}` of a call, `{"id", "result"}` of its result."""


class AgentOutput(BaseModel):
    """What an agent came to."""

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
    """One agent in one session: it may remember what was said.

    A session that goes on elsewhere has another instance, which is given the exported state.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def streams(self) -> bool:
        """Whether messages come while the agent works; else they come with its output."""
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
