"""A turn's log as the events of a response. Reads only its input."""

from typing import Any, TypeVar

from google.adk.events import Event
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseCreatedEvent,
    ResponseFailedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseInProgressEvent,
    ResponseMcpCallArgumentsDeltaEvent,
    ResponseMcpCallArgumentsDoneEvent,
    ResponseMcpCallCompletedEvent,
    ResponseMcpCallFailedEvent,
    ResponseMcpCallInProgressEvent,
    ResponseOutputItem,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseQueuedEvent,
    ResponseStatus,
    ResponseStreamEvent,
    ResponseTextDeltaEvent,
    ResponseTextDoneEvent,
)
from openai.types.responses.response_output_item import McpCall
from pydantic import BaseModel

from oda.agent.notices import is_notice
from oda.agent.outcome import OpenQuestion
from oda.agent.resume import is_error, text_of
from oda.server.openai.ids import QuestionId, ResponseId
from oda.server.openai.items import (
    ASKS_A_PERSON,
    as_json,
    asked,
    ended_call,
    is_approval,
    message,
    output_text,
    server_call,
    waits_for_call,
)
from oda.server.openai.response import given, response_of, status_of
from oda.turn.log import Entry, Preview, is_marked
from oda.turn.record import Turn

E = TypeVar("E", bound=BaseModel)

PLACES = 1_000_000
"""Sequence numbers of one log entry."""
_WITHDRAWN = PLACES - 10
"""Place of the end of a text that an entry withdraws: after all of its characters."""
_Stream = tuple[str, str | None]


class ResponseEncoder:
    """Encodes one response: a turn's log from its beginning, or from an answer, to where it rests.

    It is fed with the whole log. An entry leads to the same events whatever previews came before
    it, except that its text is sent in as many pieces as were seen. The numbers of the events of
    entry `n` begin at `n * PLACES`; a piece of text has the number of its entry plus the
    characters of the text so far. What announces a text comes before its entry, so it is numbered
    after the events of the entry before.

    Args:
        seen: The last sequence number that the reader has; nothing up to it is sent again.
    """

    def __init__(self, response_id: ResponseId, *, seen: int = -1) -> None:
        self.id = response_id
        self.ended = False
        """Whether the last event of the response has been encoded."""
        self.exists = response_id.after == 0
        """Whether there is such a response, as far as the log has been read."""
        self.output: list[ResponseOutputItem] = []
        self._seen = seen
        self._next = 0
        self._last = 0
        """Number of the last entry."""
        self._told: list[ResponseStreamEvent] = []
        self._turn: Turn | None = None
        self._status: ResponseStatus = "in_progress"
        self._previous: str | None = None
        self.begun = False
        """Whether the log has anything of the response."""
        self._running = False
        self._last_rest = 0
        """Number of the entry before `after` at which the turn waited; 0 if there is none."""
        self._turn_waits = False
        """Whether the response has ended with questions, and nothing has happened since."""
        self._read_before = 0
        """Characters of the open text that the reader has from an earlier connection."""
        self._text = ""
        """What has been sent of the open text."""
        self._open: _Stream | None = None
        self._skipped: set[_Stream] = set()
        """Streams whose previews are not shown until their texts are complete."""
        self._calls: dict[str, tuple[int, McpCall]] = {}
        """Open calls of this response, with their places in the output."""
        self._known: dict[str, tuple[str, str]] = {}
        """Name and arguments of all calls of the turn."""
        self._approvals: dict[str, str] = {}
        """Ids of approvals, by the call that each is about."""

    def feed(self, item: Entry | Preview) -> list[ResponseStreamEvent]:
        """The events that come of the next item of the log."""
        if isinstance(item, Preview):
            if self.begun and not self.ended:
                self._show(item.data)
        elif isinstance(item.data, Turn):
            self._become(item.number, item.data)
        else:
            self._happen(item.number, item.data)
        if isinstance(item, Entry):
            self._last = item.number
        told, self._told = self._told, []
        return told

    @property
    def response(self) -> Response:
        """The response as it is now."""
        return self._snapshot(self._status)

    # --- the record of the turn

    def _become(self, number: int, turn: Turn) -> None:
        if number <= self.id.after or self._turn is None:
            self._previous = self._previous or given(turn).get("previous_response_id")
        if number <= self.id.after:
            self._notice_question(number, turn)
            return
        if self.ended:
            if self._status == "completed" and turn.final and self._turn_waits:
                self._turn, self._status = turn, status_of(turn)  # ended while it was waiting
            else:
                self._turn_waits = False
            return
        self._turn = turn
        self._withdraw(number)
        self._begin(number, turn)
        if turn.ended:
            self._end(number, turn)

    def _notice_question(self, number: int, turn: Turn) -> None:
        """Remember what was asked before this response."""
        if turn.status != "waiting_input":
            return
        if number == self.id.after:
            self.exists = True
            self._previous = str(ResponseId(turn.turn_id, self._last_rest))
        self._last_rest = number
        self._note_approvals(turn.turn_id, turn.pending_input)

    def _note_approvals(self, turn_id: str, questions: list[OpenQuestion]) -> None:
        for question in questions:
            if call_id := waits_for_call(question):
                self._approvals[call_id] = QuestionId(turn_id, question["id"]).of_approval

    def _begin(self, number: int, turn: Turn) -> None:
        waits = turn.status == "queued"
        if not self.begun:
            self.begun = True
            self._enter(number)
            in_background = bool(given(turn).get("background")) and waits
            first: ResponseStatus = "queued" if in_background else "in_progress"
            self._status = first
            self._tell(ResponseCreatedEvent, "response.created", response=self._snapshot(first))
            if in_background:
                self._tell(ResponseQueuedEvent, "response.queued", response=self._snapshot(first))
        if not waits and not self._running:
            self._running = True
            self._enter(number)
            self._status = "in_progress"
            now = self._snapshot("in_progress")
            self._tell(ResponseInProgressEvent, "response.in_progress", response=now)

    def _end(self, number: int, turn: Turn) -> None:
        self._enter(number)
        for index, call in self._calls.values():
            self._done(index, call.model_copy(update={"status": "incomplete"}))
        self._calls.clear()
        if turn.status == "waiting_input":
            self._turn_waits = True
            self._note_approvals(turn.turn_id, turn.pending_input)
            for question in turn.pending_input:
                self._ask(turn, question)
        self._status = status_of(turn)
        now = self._snapshot(self._status)
        if self._status == "completed":
            self._tell(ResponseCompletedEvent, "response.completed", response=now)
        elif self._status == "failed":
            self._tell(ResponseFailedEvent, "response.failed", response=now)
        else:  # there is no event for a cancelled response; its status says it
            self._tell(ResponseIncompleteEvent, "response.incomplete", response=now)
        self.ended = True

    def _ask(self, turn: Turn, question: OpenQuestion) -> None:
        item = asked(turn.turn_id, turn.app, question, self._item_id("fc"))
        if is_approval(question) or not isinstance(item, ResponseFunctionToolCall):
            self._done(self._add(item), item)
            return
        begun = item.model_copy(update={"arguments": "", "status": "in_progress"})
        index, where = self._add(begun), {"item_id": item.id}
        self._tell(
            ResponseFunctionCallArgumentsDeltaEvent,
            "response.function_call_arguments.delta",
            **where,
            output_index=index,
            delta=item.arguments,
        )
        self._tell(
            ResponseFunctionCallArgumentsDoneEvent,
            "response.function_call_arguments.done",
            **where,
            output_index=index,
            name=item.name,
            arguments=item.arguments,
        )
        self._done(index, item)

    # --- ADK events

    def _happen(self, number: int, event: Event) -> None:
        shown = self.begun and number > self.id.after and not self.ended
        if is_notice(event):
            discards = bool((event.custom_metadata or {}).get("discard_partial"))
            if shown:
                self._withdraw(number, announce=discards)
                self._skipped.clear()
            return
        if event.author == "user" or event.partial or is_error(event):
            return
        if shown and (text := text_of(event)):
            self._complete(number, event, text)
        elif shown and self._open == _stream_of(event) and event.get_function_calls():
            self._withdraw(number)
        self._skipped.discard(_stream_of(event))
        for call in event.get_function_calls():
            call_id, name = call.id or call.name or "", call.name or ""
            long_running = call_id in (event.long_running_tool_ids or ())
            if long_running or name.startswith(ASKS_A_PERSON) or call_id in self._known:
                continue
            self._known[call_id] = name, as_json(call.args or {})
            if shown:
                self._enter(number)
                self._call(call_id)
        asked_about = {
            *event.actions.requested_tool_confirmations,
            *event.actions.requested_auth_configs,
        }
        for response in event.get_function_responses():
            call_id = response.id or response.name or ""
            if shown and call_id in self._known and call_id not in asked_about:
                self._enter(number)
                self._answer(call_id, response.response or {})

    def _call(self, call_id: str) -> None:
        assert self._turn is not None
        name, arguments = self._known[call_id]
        call = server_call(self._item_id("mcp"), self._turn.app, name, arguments)
        if call_id in self._approvals:
            call = call.model_copy(update={"approval_request_id": self._approvals[call_id]})
        index = self._add(call.model_copy(update={"arguments": ""}))
        self._calls[call_id] = index, call
        where: dict[str, Any] = {"item_id": call.id, "output_index": index}
        self._tell(ResponseMcpCallInProgressEvent, "response.mcp_call.in_progress", **where)
        self._tell(
            ResponseMcpCallArgumentsDeltaEvent,
            "response.mcp_call_arguments.delta",
            **where,
            delta=arguments,
        )
        self._tell(
            ResponseMcpCallArgumentsDoneEvent,
            "response.mcp_call_arguments.done",
            **where,
            arguments=arguments,
        )
        self.output[index] = call

    def _answer(self, call_id: str, result: dict[str, Any]) -> None:
        if call_id not in self._calls:  # asked in an earlier response, and approved for this one
            self._call(call_id)
        index, call = self._calls.pop(call_id)
        ended = ended_call(call, result)
        where: dict[str, Any] = {"item_id": call.id, "output_index": index}
        if ended.status == "completed":
            self._tell(ResponseMcpCallCompletedEvent, "response.mcp_call.completed", **where)
        else:
            self._tell(ResponseMcpCallFailedEvent, "response.mcp_call.failed", **where)
        self._done(index, ended)

    # --- texts

    def _show(self, event: Event) -> None:
        """Send what a preview adds to the text of its agent."""
        stream, piece = _stream_of(event), text_of(event)
        if not piece or stream in self._skipped:
            return
        if self._open not in (None, stream):  # one text at a time; this one comes as a whole
            self._skipped.add(stream)
            return
        if self._open is None:
            self._announce(stream)
        so_far = piece if is_marked(event) else self._text + piece
        if not so_far.startswith(self._text):
            self._skipped.add(stream)
            self._withdraw(self._last + 1)
            return
        self._stream_to(so_far, self._last + 1)

    def _complete(self, number: int, event: Event, text: str) -> None:
        if self._open is not None and not (
            self._open == _stream_of(event) and text.startswith(self._text)
        ):
            self._skipped.add(self._open)
            self._withdraw(number)
        if self._open is None:
            self._announce(_stream_of(event))
        self._stream_to(text, number)
        self._next = max(self._next, number * PLACES + len(text) + 1)
        item = message(self._item_id("msg", -1), text, "completed")
        index, self._open = len(self.output) - 1, None
        where: dict[str, Any] = {"item_id": item.id, "output_index": index, "content_index": 0}
        self._tell(
            ResponseTextDoneEvent, "response.output_text.done", **where, text=text, logprobs=[]
        )
        part = output_text(text)
        self._tell(ResponseContentPartDoneEvent, "response.content_part.done", **where, part=part)
        self._done(index, item)

    def _announce(self, stream: _Stream) -> None:
        """Send that a text begins."""
        self._open, self._text = stream, ""
        item = message(self._item_id("msg"), None, "in_progress")
        index = self._add(item)
        where: dict[str, Any] = {"item_id": item.id, "output_index": index, "content_index": 0}
        part = output_text("")
        self._tell(ResponseContentPartAddedEvent, "response.content_part.added", **where, part=part)
        in_text = (self._next - 1) // PLACES < self._seen // PLACES <= self._last + 1
        self._read_before = self._seen % PLACES if in_text else 0

    def _stream_to(self, so_far: str, number: int) -> None:
        """Send an open text up to `so_far`, without what the reader has."""
        known = max(len(self._text), min(self._read_before, len(so_far)))
        self._text = so_far
        if piece := so_far[known:]:
            self._next = max(self._next, number * PLACES + len(so_far))
            self._tell(
                ResponseTextDeltaEvent,
                "response.output_text.delta",
                item_id=self._item_id("msg", -1),
                output_index=len(self.output) - 1,
                content_index=0,
                delta=piece,
                logprobs=[],
            )

    def _withdraw(self, number: int, *, announce: bool = False) -> None:
        """End the open text as void; with `announce` also if nothing of it was seen here."""
        if self._open is None and not announce:
            return
        if self._open is None:
            self._announce(("", None))
        self._open, self._text = None, ""
        self._next = max(self._next, number * PLACES + _WITHDRAWN)
        index = len(self.output) - 1
        self._done(index, message(self._item_id("msg", -1), None, "incomplete"))

    # --- inside

    def _item_id(self, kind: str, place: int = 0) -> str:
        """Id of the next item of the output, or with -1 of the last one."""
        return f"{kind}_{self.id.base}_{len(self.output) + place}"

    def _add(self, item: ResponseOutputItem) -> int:
        index = len(self.output)
        self.output.append(item)
        self._tell(
            ResponseOutputItemAddedEvent,
            "response.output_item.added",
            item=item,
            output_index=index,
        )
        return index

    def _done(self, index: int, item: ResponseOutputItem) -> None:
        self.output[index] = item
        self._tell(
            ResponseOutputItemDoneEvent, "response.output_item.done", item=item, output_index=index
        )

    def _enter(self, number: int) -> None:
        """Number what follows as events of an entry."""
        self._next = max(self._next, number * PLACES)

    def _tell(self, kind: type[E], event_type: str, /, **fields: Any) -> None:
        number = self._next
        self._next += 1
        if number > self._seen:
            event: Any = kind(type=event_type, sequence_number=number, **fields)
            self._told.append(event)

    def _snapshot(self, status: ResponseStatus) -> Response:
        assert self._turn is not None
        turn, previous = self._turn, self._previous
        return response_of(self.id, turn, self.output, status=status, previous=previous)


def _stream_of(event: Event) -> _Stream:
    return event.author, event.branch
