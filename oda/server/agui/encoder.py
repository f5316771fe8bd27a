"""The log of a turn as the events of AG-UI runs. Reads only its input."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ag_ui.core.events import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core.types import ToolMessage
from ag_ui.core.version import PROTOCOL_VERSION
from google.adk.events import Event
from pydantic_core import to_json

from oda.agent.notices import NOTICES, RETRY_ATTEMPT
from oda.errors import DailyLimitError, LimitExceededError
from oda.message.protocol import ContentMessage, Message, MessageBuilder, SpanEnd, SpanStart
from oda.server.agui.interrupts import client_calls, interrupt_of, interrupting
from oda.server.agui.pieces import NewPieces
from oda.server.agui.state import patch_event
from oda.server.agui.texts import Texts
from oda.server.agui.transcript import Transcript
from oda.turn.budget import GRANT
from oda.turn.log import Entry, Preview
from oda.turn.record import Turn, TurnUsage

_LIMIT = "limit_reached"
_LIMITS = frozenset({LimitExceededError.code, DailyLimitError.code})


class RunEncoder:
    """Encodes one run: a turn from its beginning or from an answer on, to its end or a question.

    It is fed the whole log, from the first entry on. The same complete entries lead to the same
    messages and ids, whatever previews come between them. Events come in an order that the
    verification of `@ag-ui/client` accepts: what begins is ended before the run is.

    Args:
        begins_after: Number of the last entry before this run; what it and those before it tell
            is known to the client.
    """

    def __init__(self, thread_id: str, run_id: str, turn_id: str, *, begins_after: int = 0) -> None:
        self.thread_id = thread_id
        self.run_id = run_id
        self.turn_id = turn_id
        self.begins_after = begins_after
        self.transcript = Transcript()
        self._builder = MessageBuilder()
        self._pieces = NewPieces()
        self._texts = Texts()
        self._steps: dict[str, str] = {}
        """Names of the steps that are open, by their spans; no two have the same."""
        self._parents: dict[str, str] = {}
        """Id of the message that the calls of a model's answer belong to, by its span."""
        self._inside: dict[str, str] = {}
        """The span around each text and call."""
        self._reporting: set[str] = set()
        """Ids of the activities that have begun."""
        self._state: dict[str, Any] = {}
        self._before = TurnUsage()
        """Usage of the runs of the turn before this one."""
        self._begun = begins_after == 0
        self._written: list[BaseEvent] = []

    def start(self) -> BaseEvent:
        """The first event of the run."""
        return RunStartedEvent(
            thread_id=self.thread_id,
            run_id=self.run_id,
            protocol_version=PROTOCOL_VERSION,
            metadata={"oda": {"turn_id": self.turn_id}},
        )

    def snapshot(self, state: Mapping[str, Any]) -> BaseEvent:
        """The second: the state when the run began, which later changes are told of."""
        self._state = dict(state)
        return StateSnapshotEvent(snapshot=dict(state))

    def feed(self, entry: Entry | Preview) -> list[BaseEvent]:
        """The events that come of the next entry.

        A snapshot of messages among them has those of this turn only.
        """
        if not self._begun and (entry.number is None or entry.number > self.begins_after):
            self._begin()
        if entry.kind == "event":
            event = self._pieces.of(Event.model_validate_json(entry.json))
            if event is not None:
                self._happen(event)
        else:
            self._become(Turn.model_validate_json(entry.json))
        return self._take()

    def finish(self, turn: Turn) -> list[BaseEvent]:
        """The last events, of a turn that has ended or waits."""
        if not self._begun:
            self._begin()
        self._tell(self._texts.end_all())
        self._tell(StepFinishedEvent(step_name=name) for name in reversed(self._steps.values()))
        self._steps.clear()
        self._tell(_limits(turn))
        usage = _usage(turn.usage, self._before)
        if turn.status == "failed":
            error = turn.error
            message = error.message if error else "The turn failed."
            code = error.code if error else None
            self._written.append(RunErrorEvent(message=message, code=code, usage=usage))
        else:
            finished = RunFinishedEvent(
                thread_id=self.thread_id, run_id=self.run_id, outcome=_outcome(turn), usage=usage
            )
            self._written.append(finished)
        return self._take()

    # --- inside

    def _take(self) -> list[BaseEvent]:
        written, self._written = self._written, []
        return written if self._begun else []

    def _begin(self) -> None:
        """Begin the run inside of the steps in which the one before has ended."""
        self._begun = True
        self._written = [StepStartedEvent(step_name=name) for name in self._steps.values()]

    def _tell(self, events: Iterable[BaseEvent]) -> None:
        for event in events:
            self.transcript.add(event)
            self._written.append(event)

    def _happen(self, event: Event) -> None:
        withdrawn: list[str] = []
        for message in self._builder.feed(event):
            withdrawn += self._show(message)
        self._discard(withdrawn)
        if not event.partial and (delta := patch_event(self._state, event.actions.state_delta)):
            self._written.append(delta)

    def _become(self, turn: Turn) -> None:
        withdrawn: list[str] = []
        for message in self._builder.feed(turn):
            is_notice = isinstance(message, ContentMessage) and message.channel == "SYSTEM"
            if is_notice and isinstance(message, ContentMessage):  # the end is told by `finish`
                withdrawn += self._ids((message.data or {}).get("withdrawn", ()))
            else:
                withdrawn += self._show(message)
        self._discard(withdrawn)
        if not self._begun:
            self._before = turn.usage

    def _show(self, message: Message) -> list[str]:
        """Tell of a message; return the ids of texts that do not hold any more."""
        match message:
            case SpanStart():
                self._open_span(message)
            case SpanEnd():
                self._tell(self._texts.end(message.span_id))
                if (name := self._steps.pop(message.span_id, None)) is not None:
                    self._written.append(StepFinishedEvent(step_name=name))
            case ContentMessage(channel="PLAIN"):
                return self._say(message)
            case ContentMessage(channel="TOOL_CALLING"):
                self._call(message, message.data or {})
            case ContentMessage(channel="OUTPUT"):
                self._put_out(message, message.data or {})
            case ContentMessage(channel="SYSTEM"):
                return self._notice(message.data or {})
        return []

    def _open_span(self, span: SpanStart) -> None:
        self._inside[span.span_id] = span.parent_id or ""
        if span.name == "TASK":
            taken = set(self._steps.values())
            names = (f"{span.title} ({n})" if n > 1 else span.title for n in range(1, 1 << 20))
            name = next(name for name in names if name not in taken)
            self._steps[span.span_id] = name
            self._written.append(StepStartedEvent(step_name=name))
        elif span.name in ("PLAIN", "THINK"):
            self._texts.announce(span.span_id, span.name, span.agent)

    def _say(self, message: ContentMessage) -> list[str]:
        span_id, text = message.span_id, message.text or ""
        message_id = self._id(message.message_id)
        if message_id.rpartition(":")[2].startswith("text") and self._is_plain(span_id):
            self._parents[self._inside.get(span_id, "")] = message_id
        if message.delta:
            self._tell(self._texts.say(span_id, message_id, text))
            return []
        said = self._texts.said(span_id)
        if text.startswith(said):
            self._tell(self._texts.say(span_id, message_id, text.removeprefix(said)))
            self._tell(self._texts.end(span_id))
            return []
        self._tell(self._texts.end(span_id))
        self.transcript.replace(message_id, text)
        self._written += [_discarded(message_id), MessagesSnapshotEvent(messages=[])]
        return []

    def _is_plain(self, span_id: str) -> bool:
        return span_id.startswith("span_plain")

    def _call(self, message: ContentMessage, data: Mapping[str, Any]) -> None:
        call_id = str(data.get("call_id", ""))
        if "args" in data:
            step = self._inside.get(message.span_id, "")
            parent = self._parents.setdefault(step, self._id(step))
            tool, args = str(data["tool"]), _json(data["args"])
            self._tell(
                [
                    ToolCallStartEvent(
                        tool_call_id=call_id, tool_call_name=tool, parent_message_id=parent
                    ),
                    ToolCallArgsEvent(tool_call_id=call_id, delta=args),
                    ToolCallEndEvent(tool_call_id=call_id),
                ]
            )
        elif "progress" in data:
            about = {"tool": data["tool"], "toolCallId": call_id}
            self._report(f"{call_id}:progress", about, data["progress"])
        elif "result" in data:
            result = ToolCallResultEvent(
                message_id=self._id(message.message_id),
                tool_call_id=call_id,
                content=_json(data["result"]),
                role="tool",
            )
            self._tell([result])
        else:
            self._written.append(CustomEvent(name="code", value=dict(data)))

    def _put_out(self, message: ContentMessage, data: Mapping[str, Any]) -> None:
        if "progress" in data:
            step = self._steps.get(message.span_id)
            about = {"step": step} if step else {}
            self._report(f"{self._id(message.span_id)}:progress", about, data["progress"])
        else:
            name = "artifact" if "artifact" in data else "output"
            self._written.append(CustomEvent(name=name, value=dict(data)))

    def _report(self, activity: str, about: Mapping[str, Any], progress: Any) -> None:
        """Progress of a tool or a nested agent."""
        if activity not in self._reporting:
            self._reporting.add(activity)
            content = {**about, "progress": [progress]}
            self._written.append(
                ActivitySnapshotEvent(
                    message_id=activity, activity_type="progress", content=content
                )
            )
            return
        change = {"op": "add", "path": "/progress/-", "value": progress}
        self._written.append(
            ActivityDeltaEvent.model_validate(
                {"message_id": activity, "activity_type": "progress", "patch": [change]}
            )
        )

    def _notice(self, data: Mapping[str, Any]) -> list[str]:
        code, detail = data.get("code"), data.get("detail") or {}
        if code == RETRY_ATTEMPT:
            self._written.append(CustomEvent(name=RETRY_ATTEMPT, value=_retry(detail)))
        elif code == "OUTCOME_UNKNOWN":
            value = {
                "tool": detail.get("tool"),
                "toolCallId": detail.get("call_id"),
                "message": data.get("message"),
            }
            self._written.append(CustomEvent(name="outcome_unknown", value=value))
        elif code not in (*NOTICES, "REPLACED", "RESUMED"):
            value = {"code": code, "message": data.get("message")}
            self._written.append(CustomEvent(name="error", value=value))
        return self._ids(data.get("withdrawn", ()))

    def _discard(self, withdrawn: Iterable[str]) -> None:
        discarded = [*withdrawn]
        for message_id in discarded:
            self.transcript.discard(message_id)
            self._written.append(_discarded(message_id))
            for step in [step for step, text in self._parents.items() if text == message_id]:
                del self._parents[step]
        if discarded:
            self._written.append(MessagesSnapshotEvent(messages=[]))

    def _ids(self, ids: Iterable[str]) -> list[str]:
        return [self._id(one) for one in ids]

    def _id(self, local: str) -> str:
        """The id in the conversation of what has one in its turn."""
        return f"{self.turn_id}:{local}"


def with_messages(
    events: Iterable[BaseEvent],
    before: Iterable[Any],
    transcript: Transcript,
    results: Mapping[str, ToolMessage],
) -> Iterator[BaseEvent]:
    """Fill snapshots of messages: those before the turn, then those of the turn."""
    for event in events:
        if isinstance(event, MessagesSnapshotEvent):
            event.messages = [*before, *transcript.messages(results)]
        yield event


def _discarded(message_id: str) -> CustomEvent:
    return CustomEvent(name="discard_message", value={"messageId": message_id})


def _retry(detail: Mapping[str, Any]) -> dict[str, Any]:
    error = detail.get("error") or {}
    return {
        "cause": error.get("code"),
        "message": error.get("message"),
        "attempt": detail.get("attempt"),
        "maxRetries": detail.get("max_retries"),
        "delay": detail.get("delay_s"),
    }


def _limits(turn: Turn) -> Iterator[BaseEvent]:
    """What a turn tells of limits before it ends or asks."""
    for question in turn.pending_input:
        if question["name"] == GRANT:
            yield CustomEvent(name=_LIMIT, value=dict(question["args"]))
    if turn.error is not None and turn.error.code in _LIMITS:
        yield CustomEvent(name=_LIMIT, value=turn.error.model_dump())


def _outcome(turn: Turn) -> RunFinishedOutcome:
    if turn.status == "cancelled":
        return RunFinishedCancelledOutcome()
    if interrupts := [interrupt_of(question) for question in interrupting(turn)]:
        return RunFinishedInterruptOutcome(interrupts=interrupts)
    return RunFinishedSuccessOutcome(pending_tool_call_ids=client_calls(turn) or None)


def _usage(usage: TurnUsage, before: TurnUsage) -> list[TokenUsage] | None:
    used = usage.input_tokens - before.input_tokens, usage.output_tokens - before.output_tokens
    if not any(used) or min(used) < 0:
        return None
    return [TokenUsage(input_tokens=used[0], output_tokens=used[1], total_tokens=sum(used))]


def _json(value: Any) -> str:
    return to_json(value).decode()
