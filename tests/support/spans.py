"""What must hold of every turn's messages."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from google.adk.events import Event

from oda.message.protocol import TurnRecord, messages_of

Message = dict[str, Any]


def told_of(entries: Iterable[Event | TurnRecord]) -> list[Message]:
    """The messages of a log, as clients get them."""
    return [one.model_dump(mode="json") for one in messages_of(entries)]


def assert_nested(told: Sequence[Message], *, whole: bool = True) -> None:
    """Each span inside an open one, ended once after all inside it; content in open spans.

    Args:
        whole: Whether the turn is final, so that nothing may be open.
    """
    parents: dict[str, str | None] = {}
    opened: set[str] = set()
    for one in told:
        span_id = one["span_id"]
        if one["type"] == "span.start":
            assert span_id not in parents, one
            assert (one["parent_id"] in opened) if parents else one["parent_id"] is None, one
            parents[span_id] = one["parent_id"]
            opened.add(span_id)
        else:
            assert span_id in opened, one
        if one["type"] == "span.end":
            assert span_id not in {parents[other] for other in opened}, one
            opened.remove(span_id)
    assert not (whole and opened), opened
    times = [datetime.fromisoformat(one["timestamp"]) for one in told]
    assert times == sorted(times)


def names_of(told: Sequence[Message]) -> list[str]:
    """Names of the spans in the order in which they begin."""
    return [one["name"] for one in told if one["type"] == "span.start"]


def titled(told: Sequence[Message], name: str) -> list[str]:
    """Titles of the spans of a name."""
    return [one["title"] for one in told if one["type"] == "span.start" and one["name"] == name]


def outcomes(told: Sequence[Message], name: str) -> list[str]:
    """How the spans of a name have ended."""
    return [one["outcome"] for one in told if one["type"] == "span.end" and one["name"] == name]


def data_on(told: Sequence[Message], channel: str) -> list[dict[str, Any]]:
    """The data that was told on a channel."""
    return [one["data"] for one in told if one.get("channel") == channel]


def whole_texts(told: Sequence[Message]) -> list[str]:
    """The whole texts, of thoughts too."""
    return [one["text"] for one in told if one.get("channel") == "PLAIN" and not one["delta"]]


def pieces_of(told: Sequence[Message]) -> dict[str, str]:
    """What was streamed of each message, by its id."""
    pieces: dict[str, str] = {}
    for one in told:
        if one["type"] == "content" and one["delta"]:
            pieces[one["message_id"]] = pieces.get(one["message_id"], "") + one["text"]
    return pieces
