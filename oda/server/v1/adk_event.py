"""The JSON Schema of an ADK event as sent to clients: camelCase, null members left out.

It lists the members that clients of turns use; ADK's own schema has more, which are sent as well.
The types are for documentation only: events are sent as serialized by ADK.
"""

from typing import Any, Required

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

_open = with_config(ConfigDict(extra="allow", use_attribute_docstrings=True))


@_open
class AdkBlob(TypedDict, total=False):
    """Binary data in a message."""

    mimeType: str
    data: str
    """In base64 with the URL-safe alphabet."""
    displayName: str


@_open
class AdkFile(TypedDict, total=False):
    """A file stored elsewhere."""

    fileUri: str
    mimeType: str
    displayName: str


@_open
class AdkFunctionCall(TypedDict, total=False):
    """A call of a tool."""

    id: str
    name: str
    args: dict[str, Any]


@_open
class AdkFunctionResponse(TypedDict, total=False):
    """The result of a call."""

    id: str
    """The id of the call."""
    name: str
    response: dict[str, Any]


@_open
class AdkPart(TypedDict, total=False):
    """A piece of a message."""

    text: str
    thought: bool
    """True for a thought of the model, as opposed to its answer."""
    inlineData: AdkBlob
    fileData: AdkFile
    functionCall: AdkFunctionCall
    functionResponse: AdkFunctionResponse


@_open
class AdkContent(TypedDict, total=False):
    """A message."""

    role: str
    """`user` or `model`."""
    parts: list[AdkPart]


@_open
class AdkActions(TypedDict, total=False):
    """Side effects of an event."""

    stateDelta: dict[str, Any]
    artifactDelta: dict[str, int]
    """The new version number of each artifact written, by name."""
    transferToAgent: str
    escalate: bool


@_open
class AdkUsage(TypedDict, total=False):
    """Token usage of a model call."""

    promptTokenCount: int
    candidatesTokenCount: int
    totalTokenCount: int


@_open
class AdkEvent(TypedDict, total=False):
    """An event as serialized by ADK; null members are left out."""

    id: Required[str]
    author: Required[str]
    """`user`, the name of an agent, or `system` for notices of the runtime."""
    timestamp: Required[float]
    """In seconds since 1970."""
    invocationId: Required[str]
    """The id of the turn."""
    content: AdkContent
    partial: bool
    """True for a piece of a text; the whole text follows in a later event."""
    branch: str
    actions: AdkActions
    errorCode: str
    errorMessage: str
    finishReason: str
    usageMetadata: AdkUsage
    longRunningToolIds: list[str]
    """The ids of calls that wait for a person or for a long-running operation."""
    customMetadata: dict[str, Any]
    """Metadata from agents and the runtime: a retry notice has `attempt`, `delay_s` and `error`."""
    output: Any
