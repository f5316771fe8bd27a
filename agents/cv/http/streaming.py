"""A turn as it happens, in the words of resumes.

tool_start  {"id", "name", "params"}
tool_end    {"id", "name", "success", "path", "value", "error"?}
text        {"text"}: the next piece of what is said; rules say all in one. With "replaces": true
            it stands for the pieces before, since the model has begun again
clarify     {"text", "missing_fields"}: the reply is a question
error       {"text", "code"}: the reply is that something went wrong; "version" with a conflict
done        the response, as it is without a stream; always the last
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.events import Event
from pydantic_core import to_json

from oda import Turn as TurnRecord
from oda.server import AppConversations, Frame

from ..dialogue.reporting import ToolResult
from ..memory import TURN_KEY
from .models import ChatRequest, ChatResponse
from .opening import Opened
from .reply import conflict_in, response_to


async def frames(
    conversations: AppConversations, request: ChatRequest, opened: Opened, turn: TurnRecord
) -> AsyncIterator[Sequence[Frame]]:
    """All that is told of a turn; nothing now and then, as a heartbeat."""
    teller = _Teller()
    async with aclosing(conversations.follow(turn)) as happening:
        async for item in happening:
            if isinstance(item, TurnRecord):
                turn = item
            elif item is None:
                yield ()
            elif told := [_frame(kind, data) for kind, data in teller.tell(item)]:
                yield told
    response = await response_to(conversations, request, opened, turn)
    if end := _end(response, request, opened, turn, has_spoken=teller.has_spoken):
        yield [end]
    yield [Frame(None, "done", response.model_dump_json().encode())]


class _Teller:
    """Tells the events of one turn."""

    def __init__(self) -> None:
        self.has_spoken = False
        """Whether a reply has been told."""
        self._pieces = ""
        """Text of the present answer of the model that has been told in pieces."""
        self._is_withdrawn = False

    def tell(self, event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
        if event.author == "system":
            self._is_withdrawn = self._is_withdrawn or bool(self._pieces)
            self._pieces = ""
            return
        if event.author == "user":
            return
        yield from self._speak(event)
        if event.partial:
            return
        for call in event.get_function_calls():
            yield "tool_start", {"id": call.id, "name": call.name, "params": call.args or {}}
        for response in event.get_function_responses():
            answer = response.response or {}
            result = ToolResult.model_validate({"success": "error" not in answer, **answer})
            told = result.model_dump(mode="json", exclude={"undone"})
            if result.error is None:
                del told["error"]
            yield "tool_end", {"id": response.id, "name": response.name, **told}

    def _speak(self, event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
        parts = (event.content.parts if event.content else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        if event.partial:
            self._pieces += text
            if text:
                yield "text", self._text(text)
            return
        pieces, self._pieces = self._pieces, ""
        kind, missing = _said_as(event)
        if kind == "clarify":
            self.has_spoken = True
            yield "clarify", {"text": text, "missing_fields": missing}
        elif kind != "error":
            self._is_withdrawn = self._is_withdrawn or not text.startswith(pieces)
            if rest := text.removeprefix(pieces):
                yield "text", self._text(rest)

    def _text(self, text: str) -> dict[str, Any]:
        self.has_spoken = True
        withdrawn, self._is_withdrawn = self._is_withdrawn, False
        return {"text": text, **({"replaces": True} if withdrawn else {})}


def _said_as(event: Event) -> tuple[str | None, list[str]]:
    """What kind of reply the rules say that an event is, and what they ask for."""
    turn = event.actions.state_delta.get(TURN_KEY)
    if not isinstance(turn, dict) or turn.get("layer") == "llm":
        return None, []
    return turn.get("type"), list(turn.get("missing_fields") or ())


def _end(
    response: ChatResponse,
    request: ChatRequest,
    opened: Opened,
    turn: TurnRecord,
    *,
    has_spoken: bool,
) -> Frame | None:
    """What has not been told of how the turn ended."""
    if response.type == "error" and not (has_spoken and turn.status == "succeeded"):
        conflict = conflict_in(response, request, opened, turn)
        code = conflict.code if conflict else turn.error.code if turn.error else "not_possible"
        version = {"version": response.metadata.version} if conflict else {}
        return _frame("error", {"text": response.reply, "code": code, **version})
    if response.type == "clarify" and not has_spoken:
        missing = response.metadata.missing_fields
        return _frame("clarify", {"text": response.reply, "missing_fields": missing})
    return None


def _frame(kind: str, data: dict[str, Any]) -> Frame:
    return Frame(None, kind, to_json(data))
