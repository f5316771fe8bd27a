"""Scripts of model answers: a list of steps, one for each model call, as JSON or Python.

The same script can be played over HTTP by `ModelServer` and in process by `ScriptedModel`.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, model_validator
from pydantic_core import to_json

_WORD = re.compile(r"\s*\S+\s*")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cue:
    """The facts of a model call by which a step is chosen."""

    model: str
    system: str
    last_user: str
    """The newest text of the user, tool results not counted."""
    after_tool: bool
    """Whether the newest message carries tool results."""
    has_schema: bool = False
    """Whether the call has the provider's parameter for the form of the answer."""


class Match(_Value):
    """Which model calls a step answers; what is left out matches every call."""

    last_user: str | None = None
    """Substring of the user's last text."""
    after_tool: bool | None = None
    """Only directly after a tool result (true), or never then (false)."""
    model: str | None = None
    """The exact model name on the wire."""
    system: str | None = None
    """Substring of the system text; tells agents apart that share a model."""
    has_schema: bool | None = None
    """Only calls with the provider's parameter for the form of the answer, or only those without.
    An error step with it is a server that refuses the parameter."""

    def fits(self, cue: Cue) -> bool:
        return (
            (self.last_user is None or self.last_user in cue.last_user)
            and (self.after_tool is None or self.after_tool == cue.after_tool)
            and (self.model is None or self.model == cue.model)
            and (self.system is None or self.system in cue.system)
            and (self.has_schema is None or self.has_schema == cue.has_schema)
        )


class Usage(_Value):
    """Token counts reported with an answer."""

    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    cached_tokens: NonNegativeInt = 0
    """The part of `prompt_tokens` that came from a cache."""


class BaseStep(_Value):
    """Fields common to all steps."""

    match: Match = Match()
    times: Annotated[int, Field(ge=1)] | None = 1
    """How many calls this step answers; None: every one that matches, for ever."""
    delay_s: NonNegativeFloat = 0.0
    """Seconds before the first byte."""


class _Answer(BaseStep):
    usage: Usage | None = None
    """None: estimated from the length of request and answer."""


class _Spoken(_Answer):
    text: str = ""
    chunks: tuple[str, ...] = ()
    """How the text is cut for streaming; left out: word by word."""
    thinking: str = ""
    """Reasoning shown before the text, in the provider's own form."""
    interval_s: NonNegativeFloat = 0.0
    """Seconds between chunks; without streaming the answer comes after the sum of them."""

    @model_validator(mode="before")
    @classmethod
    def _fill_text_or_chunks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        chunks, text = data.get("chunks"), data.get("text")
        if chunks and text is None:
            return {**data, "text": "".join(chunks)}
        if text and not chunks:
            return {**data, "chunks": words_of(text)}
        return data

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if "".join(self.chunks) != self.text:
            raise ValueError(f"chunks {self.chunks!r} do not add up to text {self.text!r}")
        return self


class Text(_Spoken):
    """A plain text answer."""

    type: Literal["text"] = "text"


class Json(_Answer):
    """A JSON answer, by the provider's own means where the call asks for a form by them."""

    type: Literal["json"] = "json"
    value: Any
    before: str = ""
    """Prose, or the opening of a code fence, with which it is a text whatever the call asks for."""
    after: str = ""

    @property
    def text(self) -> str:
        return f"{self.before}{to_json(self.value).decode()}{self.after}"


class Echo(_Answer):
    """A text answer that repeats the user's last text after a prefix."""

    type: Literal["echo"] = "echo"
    prefix: str = "You said: "


class Call(_Value):
    """A tool call that the model makes."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None
    """None: a new one that no other call has."""


class ToolCalls(_Spoken):
    """Tool calls, after some text if there is any."""

    type: Literal["tool_calls"] = "tool_calls"
    calls: tuple[Call, ...] = Field(min_length=1)


class MaxTokens(_Spoken):
    """A text answer that ends because the token limit was reached."""

    type: Literal["max_tokens"] = "max_tokens"


class Blocked(_Spoken):
    """An answer stopped by a safety filter (finish reason, not an HTTP error)."""

    type: Literal["blocked"] = "blocked"
    prompt: bool = False
    """The prompt was blocked rather than the answer; only Gemini can tell."""


class Empty(_Answer):
    """A regular end without any content."""

    type: Literal["empty"] = "empty"


class Error(BaseStep):
    """An HTTP error with the provider's own error body."""

    type: Literal["error"] = "error"
    status: Annotated[int, Field(ge=400, le=599)]
    message: str | None = None
    """None: the provider's usual words for `code`, or for `status`."""
    code: str | None = None
    """`context_length_exceeded`, `content_policy_violation` and `insufficient_quota` are put in
    each provider's own words; other codes are passed on as they are."""
    error_type: str | None = None
    """Replaces the provider's type (OpenAI, Anthropic) or status word (Gemini)."""
    retry_after: NonNegativeFloat | None = None
    """Seconds for the Retry-After header."""
    headers: dict[str, str] = Field(default_factory=dict)
    after_chunks: tuple[str, ...] = ()
    """When streaming: start with 200 and this text, then report the error inside the stream."""


class Hang(BaseStep):
    """The request is taken and never answered."""

    type: Literal["hang"] = "hang"


class Disconnect(BaseStep):
    """The connection ends before any byte of an answer."""

    type: Literal["disconnect"] = "disconnect"
    how: Literal["close", "reset"] = "close"


class Cut(_Spoken):
    """An answer that starts well and does not come to its end.

    Streamed: all chunks are sent, and tool calls up to the middle of their arguments. Not streamed:
    half of the body.
    """

    type: Literal["cut"] = "cut"
    calls: tuple[Call, ...] = ()
    how: Literal["close", "reset", "end", "stall"] = "close"
    """The TCP connection is closed (as when a server dies) or reset; or the HTTP body ends in good
    order without the rest; or it stays open and nothing more comes."""

    @model_validator(mode="after")
    def _has_a_start(self) -> Self:
        if not self.text and not self.calls:
            raise ValueError("a cut answer needs text, chunks or calls to be cut from")
        return self


class Malformed(BaseStep):
    """A 200 that cannot be read.

    `json`: the body, or an event of the stream, is half a JSON document. `html`: a web page, as a
    proxy sends it. `tool_arguments`: a tool call whose arguments are not JSON (Gemini reports such
    calls itself, as finish reason MALFORMED_FUNCTION_CALL).
    """

    type: Literal["malformed"] = "malformed"
    kind: Literal["json", "html", "tool_arguments"] = "json"
    tool: str = "tool"
    """Name of the tool for `tool_arguments`."""


Step = (
    Text
    | Json
    | Echo
    | ToolCalls
    | MaxTokens
    | Blocked
    | Empty
    | Error
    | Hang
    | Disconnect
    | Cut
    | Malformed
)


class Script(_Value):
    """Steps in order; each model call takes the first unused one that matches it."""

    steps: tuple[Annotated[Step, Field(discriminator="type")], ...] = ()
    default: Annotated[Step, Field(discriminator="type")] = Echo()
    """Answers every call that no step is left for."""


def words_of(text: str) -> tuple[str, ...]:
    """The text cut behind each word; joined again it is the same text."""
    return tuple(_WORD.findall(text)) or ((text,) if text else ())
