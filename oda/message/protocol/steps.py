"""The steps of the agents of a turn: answers of models, and the tool calls in them."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.events import Event
from google.genai.types import FunctionCall, FunctionResponse, Part

from oda.message.protocol.answer import AnswerTexts
from oda.message.protocol.open_spans import OpenSpans
from oda.message.protocol.records import SpanOutcome
from oda.message.tool_error import reported_error

ASKS_A_PERSON = "adk_request_"
"""How the names of ADK's calls begin that ask a person."""

_OUTCOMES: Mapping[Any, SpanOutcome] = {
    "cancelled": "cancelled",
    "failed": "failed",
    "outcome_unknown": "unknown",
    "repeated": "interrupted",
}
"""Outcomes by the `status` of a response with an `error`."""


@dataclass
class _Call:
    span_id: str
    tool: str
    long_running: bool
    """Whether further results may follow."""
    asked: bool = False
    """Whether a person must confirm it or provide a credential first."""


@dataclass
class _Step:
    span_id: str
    inside: str
    texts: AnswerTexts
    complete: bool = False
    calls: dict[str, _Call] = field(default_factory=dict)
    """Those that are open, by the call's id."""

    @property
    def awaits_person(self) -> bool:
        return any(call.long_running or call.asked for call in self.calls.values())


class Steps:
    """Writes steps. An agent is in one step at a time; one that awaits a person may stay open."""

    def __init__(self, spans: OpenSpans) -> None:
        self._spans = spans
        self._open: list[_Step] = []
        self._current: dict[str, _Step] = {}
        """The current step, by the span it is in."""
        self._turns: dict[str, int] = {}

    def said(self, inside: str, event: Event) -> list[str]:
        """Add the texts, thoughts and calls of an event; return the ids of invalidated messages."""
        parts = list(_told(event))
        if event.partial:
            if texts := [part for part in parts if part.text]:
                self._step(inside, event.author).texts.add(texts)
            return []
        step = self._current.get(inside)
        if not parts and (step is None or step.complete):
            return []
        step = self._step(inside, event.author)
        withdrawn = step.texts.complete(parts)
        for part in parts:
            if part.function_call is not None:
                self._call(step, part.function_call, event)
            elif not part.text:
                self._tell_part(step, part)
        step.complete = True
        return withdrawn

    def answered(self, event: Event) -> None:
        """Results of tool calls."""
        asked = {*event.actions.requested_tool_confirmations, *event.actions.requested_auth_configs}
        for response in event.get_function_responses():
            call_id = response.id or response.name or ""
            step = self._step_of(call_id)
            if step is None:
                continue
            call = step.calls[call_id]
            if call_id in asked:
                call.asked = True
            else:
                self._result(step, call_id, call, response, by_person=event.author == "user")

    def progressed(self, inside: str, progress: Mapping[str, Any]) -> None:
        """Add a progress report of a tool call, or of something else inside the span."""
        call_id = str(progress.get("call_id") or "")
        if (step := self._step_of(call_id)) is None:
            self._spans.tell(inside, "OUTPUT", {"progress": progress})
            return
        call = step.calls[call_id]
        said = {"tool": call.tool, "call_id": call_id, "progress": progress}
        self._spans.tell(call.span_id, "TOOL_CALLING", said)

    def call_span(self, call_id: str) -> str | None:
        """The span of a call that is open."""
        step = self._step_of(call_id)
        return step.calls[call_id].span_id if step else None

    def step_of_call(self, call_id: str) -> str | None:
        """The step of a call that is open."""
        step = self._step_of(call_id)
        return step.span_id if step else None

    def innermost(self, inside: str) -> str:
        """The agent's step, if it is in one, else where the agent is."""
        step = self._current.get(inside)
        return step.span_id if step and self._spans.is_open(step.span_id) else inside

    def end_call(self, call_id: str, outcome: SpanOutcome) -> None:
        """End a call that has awaited a person, if it is open."""
        if step := self._step_of(call_id):
            self._spans.end(step.calls.pop(call_id).span_id, outcome)
            self.settle()

    def settle(self) -> None:
        """End the steps that are complete."""
        for step in self._alive():
            if step.complete and not step.calls:
                self._end(step, "ok")

    def interrupt(self, error: dict[str, Any] | None) -> list[str]:
        """End unfinished texts; return the ids of invalidated messages.

        Tool calls stay open: their outcome is reported when the turn resumes.
        """
        withdrawn: list[str] = []
        for step in self._alive():
            withdrawn += step.texts.withdraw()
            if not step.calls:
                self._end(step, "interrupted", error)
        return withdrawn

    def awaits_person(self, spans: Container[str]) -> bool:
        """Return whether a step inside one of these spans awaits a person."""
        return any(step.awaits_person and step.inside in spans for step in self._alive())

    # --- inside

    def _step(self, inside: str, agent: str) -> _Step:
        """The step that an agent is in, or a new one when it has said all in that."""
        step = self._current.get(inside)
        if step is not None and not step.complete and self._spans.is_open(step.span_id):
            return step
        if step is not None and not step.awaits_person:
            self._end(step, "interrupted")
        turn = self._turns[inside] = self._turns.get(inside, 0) + 1
        title, detail = f"turn {turn}", {"turn": turn}
        span_id = self._spans.start("STEP", title, inside=inside, agent=agent, detail=detail)
        step = _Step(span_id, inside, AnswerTexts(self._spans, span_id, agent))
        self._current[inside] = step
        self._open.append(step)
        return step

    def _call(self, step: _Step, call: FunctionCall, event: Event) -> None:
        call_id, tool = call.id or call.name or "", call.name or ""
        if self._step_of(call_id) is not None:
            return
        span_id = self._spans.start(
            "TOOL_CALLING",
            tool,
            inside=step.span_id,
            agent=event.author,
            detail={"tool": tool, "call_id": call_id},
        )
        said = {"tool": tool, "call_id": call_id, "args": call.args or {}}
        self._spans.tell(span_id, "TOOL_CALLING", said)
        long_running = call_id in (event.long_running_tool_ids or ())
        step.calls[call_id] = _Call(span_id, tool, long_running)

    def _result(
        self, step: _Step, call_id: str, call: _Call, response: FunctionResponse, *, by_person: bool
    ) -> None:
        result = response.response or {}
        outcome, error = _judged(result)
        said = {"tool": call.tool, "call_id": call_id, "result": result}
        self._spans.tell(call.span_id, "TOOL_CALLING", said)
        if outcome == "unknown":
            self._spans.tell(
                call.span_id,
                "SYSTEM",
                {
                    "code": "OUTCOME_UNKNOWN",
                    "message": result.get("error"),
                    "withdrawn": [],
                    "detail": {"tool": call.tool, "call_id": call_id},
                },
            )
        if by_person or outcome != "ok" or not call.long_running:
            del step.calls[call_id]
            self._spans.end(call.span_id, outcome, error)

    def _tell_part(self, step: _Step, part: Part) -> None:
        is_code = part.executable_code or part.code_execution_result
        data = part.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._spans.tell(step.span_id, "TOOL_CALLING" if is_code else "OUTPUT", data)

    def _step_of(self, call_id: str) -> _Step | None:
        return next((step for step in self._alive() if call_id in step.calls), None)

    def _alive(self) -> list[_Step]:
        """The steps that are open; what they are in may have ended before them."""
        self._open = [step for step in self._open if self._spans.is_open(step.span_id)]
        return [*self._open]

    def _end(self, step: _Step, outcome: SpanOutcome, error: dict[str, Any] | None = None) -> None:
        self._spans.end(step.span_id, outcome, error)


def _told(event: Event) -> Iterator[Part]:
    """Yield the parts of an event that are shown as the agent's output."""
    for part in (event.content and event.content.parts) or ():
        call = part.function_call
        if call is not None:
            if not (call.name or "").startswith(ASKS_A_PERSON):
                yield part
        elif part.text or _is_shown(part):
            yield part


def _is_shown(part: Part) -> bool:
    return bool(
        part.inline_data or part.file_data or part.executable_code or part.code_execution_result
    )


def _judged(result: Mapping[str, Any]) -> tuple[SpanOutcome, dict[str, str] | None]:
    """Return the outcome and the error, if any, of a tool's result."""
    if error := reported_error(result):
        status = result.get("status")
        outcome = _OUTCOMES.get(status, "failed") if isinstance(status, str) else "failed"
        return outcome, error
    if result.get("isError") or result.get("is_error"):
        return "failed", None
    return "ok", None
