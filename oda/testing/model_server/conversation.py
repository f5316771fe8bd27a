"""Model calls and answers in one form for all protocols."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import from_json, to_json

from oda.testing.script import Usage

JsonObject = dict[str, Any]
ProtocolName = Literal["openai", "gemini", "anthropic"]
Role = Literal["user", "assistant", "tool"]
Finish = Literal["stop", "tool_calls", "length", "blocked", "prompt_blocked", "bad_tool_call"]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call of the model; `args` is the raw text where it is not a JSON object."""

    id: str
    name: str
    args: JsonObject | str

    @property
    def arguments(self) -> str:
        """The arguments as text."""
        return self.args if isinstance(self.args, str) else to_json(self.args).decode()


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """The answer of a tool, as the text that the model is shown.

    `name` is empty if the protocol does not transmit it.
    """

    id: str
    name: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the conversation, without system messages.

    A message that carries tool results has the role `tool` in every protocol.
    """

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """A model call as its protocol states it; `raw_messages` are still in the protocol's form."""

    model: str
    stream: bool
    system: str
    tools: tuple[str, ...]
    raw_messages: tuple[JsonObject, ...]
    stream_usage: bool = True
    """Whether a streamed answer should end with token counts."""
    has_schema: bool = False
    """Whether the provider's parameter for the form of the answer is given."""
    answer_tool: str | None = None
    """The tool that must be called with the answer, where the protocol gives its form so."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer of the model."""

    id: str
    usage: Usage
    finish: Finish | None
    """None: the answer breaks off, in the middle of its last tool call if it has any."""
    chunks: tuple[str, ...] = ()
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.chunks)

    def streamed_arguments(self, call: ToolCall) -> tuple[str, ...]:
        """The argument text of one of `calls` in the pieces in which it is streamed."""
        middle = len(call.arguments) // 2
        first, second = call.arguments[:middle], call.arguments[middle:]
        broken_off = self.finish is None and call is self.calls[-1]
        return (first,) if broken_off else (first, second)


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """A model call that the server has received."""

    protocol: ProtocolName
    model: str
    path: str
    stream: bool
    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    """Names of the tools offered."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: JsonObject
    received_at: float
    """Seconds on the monotonic clock."""


def args_of(text: str) -> JsonObject | str:
    """Tool arguments from their JSON text; the text itself where it is no JSON object."""
    try:
        args = from_json(text)
    except ValueError:
        return text
    return args if isinstance(args, dict) else text
