"""Builds the messages of the protocol from the events of a turn. Reads only its input."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from google.adk.events import Event
from pydantic import BaseModel

from oda.message.progress import progress_of
from oda.message.protocol.open_spans import OpenSpans, cut_off
from oda.message.protocol.records import ContentChannel, Message, SpanOutcome
from oda.message.protocol.steps import ASKS_A_PERSON, Steps
from oda.message.protocol.tasks import Tasks

_FINAL: Mapping[str, SpanOutcome] = {
    "succeeded": "ok",
    "failed": "failed",
    "cancelled": "cancelled",
}
_CREDENTIAL = f"{ASKS_A_PERSON}credential"


class TurnRecord(Protocol):
    """The fields of a turn's record that the builder reads."""

    @property
    def turn_id(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def error(self) -> BaseModel | None: ...
    @property
    def pending_input(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def finished_at(self) -> datetime | None: ...


class MessageBuilder:
    """Builds the messages of one turn from its log, entry by entry.

    The same complete entries lead to the same spans, messages and ids, whatever previews come
    between them. Spans nest correctly, and each is ended once, at the latest by the final record,
    whatever the log lacks. While a turn waits for a person its spans stay open, also when a stream
    ends there.
    """

    def __init__(self) -> None:
        self._spans = OpenSpans()
        self._steps = Steps(self._spans)
        self._tasks = Tasks(self._spans, self._steps)
        self._root: str | None = None
        self._questions: dict[str, str] = {}
        """Spans of the questions that are open, by their ids."""
        self._askers: dict[str, str] = {}
        """Span in which a question was asked, by the question's id."""
        self._attempts = 0
        self._end_told = False
        """Whether the reason why the turn ends without an answer has been sent."""
        self._ended = False

    def feed(self, entry: Event | TurnRecord) -> list[Message]:
        """The messages that come of the next entry: an ADK event, or the turn as it is then."""
        if not self._ended:
            self._spans.previewing = isinstance(entry, Event) and bool(entry.partial)
            if isinstance(entry, Event):
                self._happen(entry)
            else:
                self._become(entry)
            if not self._spans.previewing:
                self._spans.next_entry()
        return self._spans.take()

    # --- ADK events

    def _happen(self, event: Event) -> None:
        self._spans.at(datetime.fromtimestamp(event.timestamp, UTC))
        root = self._root_span(event.author, {})
        if event.author == "system" and event.error_code:
            self._notice(root, event)
            return
        if event.author == "user":
            self._steps.answered(event)
            self._steps.settle()
            return
        places = self._tasks.arrive(event)
        if (progress := progress_of(event)) is not None:
            self._steps.progressed(self._tasks.inside(places, root), progress)
        elif _tells(event):
            self._tell(event, self._tasks.inside(places, root))
        self._steps.settle()
        self._tasks.leave(event, places)

    def _notice(self, root: str, event: Event) -> None:
        """A retry, or the end without an answer."""
        said = dict(event.custom_metadata or {})
        final, discard = bool(event.actions.escalate), bool(said.pop("discard_partial", False))
        error = said.get("error")
        withdrawn: list[str] = []
        if discard or not final:
            withdrawn = self._steps.interrupt(error if isinstance(error, dict) else None)
        self._system(root, event.error_code, event.error_message, withdrawn, said)
        self._end_told = self._end_told or final

    def _tell(self, event: Event, inside: str) -> None:
        withdrawn = self._steps.said(inside, event)
        if withdrawn:
            self._system(inside, "REPLACED", None, withdrawn)
        if event.partial:
            return
        for call in event.get_function_calls():
            if (call.name or "").startswith(ASKS_A_PERSON):
                self._askers[call.id or ""] = inside
        here = self._where_answered(event, inside)
        self._steps.answered(event)
        for artifact, version in event.actions.artifact_delta.items():
            said = {"artifact": artifact, "version": version}
            output = self._spans.start(
                "OUTPUT", artifact, inside=here, agent=event.author, detail=said
            )
            self._spans.tell(output, "OUTPUT", said)
            self._spans.end(output, "ok")
        if event.output is not None and not event.node_info.message_as_output:
            self._spans.tell(inside, "OUTPUT", {"output": event.output})
        if event.error_code:
            self._system(here, event.error_code, event.error_message)

    def _where_answered(self, event: Event, inside: str) -> str:
        """The step whose calls an event answers, else the one that the agent is in."""
        for response in event.get_function_responses():
            if span_id := self._steps.step_of_call(response.id or response.name or ""):
                return span_id
        return self._steps.innermost(inside)

    def _system(
        self,
        span_id: str,
        code: str | None,
        message: str | None,
        withdrawn: Iterable[str] = (),
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        said = {"code": code, "message": message, "withdrawn": [*withdrawn], "detail": detail or {}}
        self._spans.tell(span_id, "SYSTEM", said)

    # --- the record of the turn

    def _become(self, turn: TurnRecord) -> None:
        self._spans.at(turn.finished_at or turn.started_at or turn.created_at)
        root = self._root_span(turn.agent, {"turn_id": turn.turn_id})
        if outcome := _FINAL.get(turn.status):
            self._end(root, turn, outcome)
            return
        if turn.attempts > self._attempts:
            self._attempts = turn.attempts
            if withdrawn := self._steps.interrupt(None):
                self._system(root, "RESUMED", None, withdrawn)
        pending = {str(item["id"]): item for item in turn.pending_input}
        for question in [question for question in self._questions if question not in pending]:
            self._spans.end(self._questions.pop(question), "ok")
            self._steps.end_call(question, "ok")
        if turn.status == "waiting_input":
            for question, item in pending.items():
                if question not in self._questions:
                    self._questions[question] = self._ask(root, question, item)

    def _root_span(self, agent: str, detail: Mapping[str, Any]) -> str:
        if self._root is None:
            self._root = self._spans.start(
                "PROCEDURE", agent, inside=None, agent=agent, detail=detail
            )
        return self._root

    def _ask(self, root: str, question: str, item: Mapping[str, Any]) -> str:
        """Open a question, inside of what waits for its answer."""
        name, args = str(item["name"]), item.get("args") or {}
        original = args.get("originalFunctionCall")
        call_id = original.get("id") if isinstance(original, Mapping) else None
        call_id = call_id or args.get("functionCallId") or args.get("function_call_id") or question
        inside = self._steps.call_span(str(call_id)) or self._askers.get(question)
        span_id = self._spans.start(
            "HITL",
            name.removeprefix(ASKS_A_PERSON),
            inside=inside if self._spans.is_open(inside) else root,
            detail={"id": question, "name": name},
        )
        self._spans.tell(span_id, _channel(name, args), item)
        return span_id

    def _end(self, root: str, turn: TurnRecord, outcome: SpanOutcome) -> None:
        error = turn.error.model_dump(mode="json") if turn.error is not None else None
        if outcome != "ok" and not self._end_told:
            told: dict[str, Any] = error or {"code": "CANCELLED", "message": None}
            self._system(
                root, told["code"], told["message"], detail={"error": error} if error else None
            )
        self._spans.end(root, cut_off if outcome == "ok" else outcome, error)
        self._ended = True


def messages_of(entries: Iterable[Event | TurnRecord]) -> list[Message]:
    """All messages of a turn's log, or of the beginning of one."""
    builder = MessageBuilder()
    return [message for entry in entries for message in builder.feed(entry)]


def _tells(event: Event) -> bool:
    """Return whether an event shows something, or ends something."""
    return bool(
        (event.content and event.content.parts)
        or event.actions.artifact_delta
        or event.output is not None
        or event.error_code
    )


def _channel(name: str, args: Mapping[str, Any]) -> ContentChannel:
    if name == _CREDENTIAL:
        return "AUTH"
    return "FORM" if args.get("response_schema") or args.get("responseSchema") else "HITL"
