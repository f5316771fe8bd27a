"""A client of the resume agent's own endpoint; it checks the shape of all that is answered."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import httpx

PATH = "/api/agent/cv-tools"
ALIAS = "/api/cv-agent/chat"
Form = Literal["json", "sse"]

_RESPONSE = {"session_id", "type", "reply", "tool_call", "tool_result", "metadata", "resume"}
_METADATA = {
    *("intent", "section", "confidence", "layer", "pending_data", "missing_fields"),
    *("resume_data_ignored", "version", "trace_id", "duration_ms"),
}
_TYPES = {"text", "tool_call", "tool_result", "clarify", "error"}
_EVENTS = {"tool_start", "tool_end", "text", "clarify", "error", "done"}


@dataclass(frozen=True)
class Told:
    """One event of a stream."""

    kind: str
    data: dict[str, Any]


async def say(
    client: httpx.AsyncClient, message: str, *, path: str = PATH, form: Form = "json", **body: Any
) -> dict[str, Any]:
    """Send a message that is served; the response."""
    sent = {"message": message, **body}
    if form == "sse":
        return (await stream(client, sent, path=path))[-1].data
    answer = await client.post(path, json=sent)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return checked(answer.json())


async def stream(
    client: httpx.AsyncClient, body: dict[str, Any], *, path: str = PATH
) -> list[Told]:
    """Send a message and read the stream to its end."""
    answer = await client.post(path, json=body, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = []
    for block in answer.text.strip().split("\n\n"):
        if block.startswith(":"):
            continue
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        told.append(Told(fields["event"], json.loads(fields["data"])))
    assert {item.kind for item in told} <= _EVENTS
    assert [item.kind for item in told].index("done") == len(told) - 1
    checked(told[-1].data)
    return told


def checked(response: dict[str, Any]) -> dict[str, Any]:
    """The response, which has exactly the fields of the specification."""
    metadata = response["metadata"]
    assert set(response) == _RESPONSE
    assert set(metadata) == _METADATA
    assert response["type"] in _TYPES
    assert isinstance(response["reply"], str) and response["reply"]
    assert isinstance(response["resume"], dict)
    if response["tool_call"] is not None:
        assert set(response["tool_call"]) == {"name", "params"}
        assert response["tool_call"]["name"] in {"CVReader", "CVEditor"}
        assert set(response["tool_call"]["params"]) <= {"path", "action", "value"}
    if response["tool_result"] is not None:
        given = set(response["tool_result"])
        failed = {"error"} if not response["tool_result"]["success"] else set()
        assert given == {"success", "path", "value"} | failed
    assert isinstance(metadata["intent"], str)
    assert 0 <= metadata["confidence"] <= 1
    assert metadata["layer"] in {"rules", "llm", "none"}
    assert isinstance(metadata["missing_fields"], list)
    assert isinstance(metadata["resume_data_ignored"], bool)
    assert type(metadata["version"]) is int
    assert len(metadata["trace_id"]) == 32
    assert metadata["duration_ms"] >= 0
    if metadata["version"]:
        assert response["resume"]["meta"]["version"] == metadata["version"]
    return response
