"""A running turn as a stream of `CHAT_EVENTS`."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.events import Event
from pydantic_core import to_json

from oda import Turn as TurnRecord
from oda.server import AppConversations, Frame

from ..dialogue.reporting import ToolResult
from ..memory import Turn, turn_in
from .models import ChatRequest, ChatResponse
from .opening import Opened
from .reply import conflict_in, response_to


async def frames(
    conversations: AppConversations, request: ChatRequest, opened: Opened, turn: TurnRecord
) -> AsyncIterator[Sequence[Frame]]:
    """Yield the frames of a turn; an empty batch is a heartbeat."""
    teller = _Teller()
    async with aclosing(conversations.follow(turn)) as happening:
        async for item in happening:
            if isinstance(item, TurnRecord):
                turn = item
            elif item is None:
                yield ()
            elif told := [_frame(kind, data) for kind, data in teller.tell(item)]:
                yield told
    response = await response_to(conversations, request, opened, turn, teller.said)
    if end := _end(response, request, opened, turn, has_spoken=teller.has_spoken):
        yield [end]
    yield [Frame(None, "done", response.model_dump_json().encode())]


class _Teller:
    """Tells the events of one turn."""

    def __init__(self) -> None:
        self.has_spoken = False
        """Whether a reply has been sent."""
        self.said: Turn | None = None
        """The latest state written by the turn, if any."""
        self._pieces = ""
        """Text of the model's current answer that has been sent in pieces."""
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
        said = turn_in([event], event.invocation_id)
        self.said = said or self.said
        kind = said.type if said and said.layer != "llm" else None
        if said and kind == "clarify":
            self.has_spoken = True
            yield "clarify", {"text": text, "missing_fields": said.missing_fields}
        elif kind != "error":
            self._is_withdrawn = self._is_withdrawn or not text.startswith(pieces)
            if rest := text.removeprefix(pieces):
                yield "text", self._text(rest)

    def _text(self, text: str) -> dict[str, Any]:
        self.has_spoken = True
        withdrawn, self._is_withdrawn = self._is_withdrawn, False
        return {"text": text, **({"replaces": True} if withdrawn else {})}


def _end(
    response: ChatResponse,
    request: ChatRequest,
    opened: Opened,
    turn: TurnRecord,
    *,
    has_spoken: bool,
) -> Frame | None:
    """Return the frame about the end of the turn, if anything remains to be sent."""
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
