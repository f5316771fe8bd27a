"""Traces for the dev UI: the latest ones, with message contents only if enabled."""

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self

from google.adk.telemetry._web_ui import WebUiLogExporter, _restored_attributes
from google.adk.telemetry.setup import OTelHooks, maybe_set_otel_providers
from google.adk.telemetry.tracing import ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext

from oda.agent.turn_plugin import SessionKey
from oda.session.manager import OdaSessionManager

MOST_SPANS = 5_000
MOST_BYTES = 16 * 2**20
_LONGEST_NAME = 1_000
_SPAN_BYTES = 1_000
"""Approximate size of a span without its attributes."""

_EVENT = "gcp.vertex.agent.event_id"
_SESSIONS = ("gcp.vertex.agent.session_id", "gen_ai.conversation.id")
_CONTENT = frozenset(
    f"gcp.vertex.agent.{name}"
    for name in ("llm_request", "llm_response", "tool_call_args", "tool_response", "data")
)
"""Attributes with JSON text, which the dev UI expects to be present."""
_NAMES = frozenset(
    {
        *(_EVENT, *_SESSIONS, "gcp.vertex.agent.invocation_id", "error.type"),
        *("gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.system", "gen_ai.request.model"),
        *("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"),
        "gen_ai.response.finish_reasons",
    }
)
_NUMBERS = "gen_ai.usage."
_OF_EVENTS = ("call_llm", "send_data", "execute_tool", "generate_content")
"""Prefixes of the names of spans that belong to a single event."""


@dataclass(frozen=True)
class KeptSpan:
    """The part of a span that the dev UI reads."""

    name: str
    context: SpanContext
    parent: SpanContext | None
    start_time: int | None
    end_time: int | None
    attributes: Mapping[str, Any]

    @property
    def bytes(self) -> int:
        values = sum(len(str(value)) for value in self.attributes.values())
        return _SPAN_BYTES + len(self.name) + values


@dataclass
class _Trace:
    sessions: set[str] = field(default_factory=set)
    spans: list[KeptSpan] = field(default_factory=list)
    logs: list[ReadableLogRecord] = field(default_factory=list)
    bytes: int = 0

    @property
    def items(self) -> int:
        return len(self.spans) + len(self.logs)


class SessionSpans(SpanExporter):
    """The latest spans of this process, by session or by event.

    If there are too many traces, or they take too many bytes, the oldest are dropped as a whole.

    Args:
        with_content: Keep the inputs and outputs of models and tools as well.
    """

    def __init__(
        self,
        *,
        with_content: bool,
        most_spans: int = MOST_SPANS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._with_content = with_content
        self._most_spans = most_spans
        self._most_bytes = most_bytes
        self._traces: OrderedDict[int, _Trace] = OrderedDict()
        self._count = 0
        self._bytes = 0
        self._lock = Lock()
        self._closed = False

    @classmethod
    @contextmanager
    def recording(cls, sessions: OdaSessionManager) -> Iterator[Self]:
        """Record spans until the end of the block; those of deleted sessions are dropped.

        Contents are kept only if ADK's environment variable enables them; ADK itself defaults to
        keeping them.
        """
        asked = os.environ.get(ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS, "").strip().lower()
        spans = cls(with_content=asked in ("1", "true"))
        with sessions.observed(spans.forget):
            try:
                yield spans
            finally:
                spans.shutdown()

    def register(self, provider: TracerProvider) -> None:
        """Receive all spans of a provider from now on. Cannot be undone, only shut down."""
        provider.add_span_processor(SimpleSpanProcessor(self))
        if self._with_content:
            contents = SimpleLogRecordProcessor(SessionLogs(self))
            maybe_set_otel_providers([OTelHooks(log_record_processors=[contents])])

    # --- what the tracer calls

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._lock:
            if not self._closed:
                for span in spans:
                    self._add(span)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Drop all spans and ignore further ones."""
        with self._lock:
            self._closed = True
            self._traces.clear()
            self._count = self._bytes = 0

    def add_logs(self, records: Sequence[ReadableLogRecord]) -> None:
        """Add the contents of a model call to the trace that it belongs to."""
        with self._lock:
            if not self._closed:
                for record in records:
                    trace = self._traces.setdefault(record.log_record.trace_id or 0, _Trace())
                    trace.logs.append(record)
                    self._grow(trace, _content_bytes(record))

    # --- what ADK's routes ask

    def get_finished_spans(self, session_id: str) -> list[KeptSpan]:
        """Return the spans of a session, in the order in which they ended."""
        with self._lock:
            traces = [trace for trace in self._traces.values() if session_id in trace.sessions]
            return [span for trace in traces for span in trace.spans]

    def logs(self) -> tuple[ReadableLogRecord, ...]:
        with self._lock:
            return tuple(log for trace in self._traces.values() for log in trace.logs)

    def get(self, event_id: str, default: None = None) -> dict[str, Any] | None:
        """Return the attributes of the span of an event."""
        for span in self._latest_first():
            if span.name.startswith(_OF_EVENTS) and span.attributes.get(_EVENT) == event_id:
                ids = {"trace_id": span.context.trace_id, "span_id": span.context.span_id}
                return {**span.attributes, **ids}
        return default

    def forget(self, session: SessionKey) -> None:
        """Drop the traces of a deleted session."""
        with self._lock:
            for trace_id in [i for i, t in self._traces.items() if session[2] in t.sessions]:
                self._drop(self._traces.pop(trace_id))

    # --- inside

    def _latest_first(self) -> list[KeptSpan]:
        with self._lock:
            kept = [span for trace in self._traces.values() for span in trace.spans]
        return kept[::-1]

    def _add(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        if context is None:
            return
        kept = KeptSpan(
            name=span.name[:_LONGEST_NAME],
            context=context,
            parent=span.parent,
            start_time=span.start_time,
            end_time=span.end_time,
            attributes=self._attributes(span.attributes or {}),
        )
        trace = self._traces.setdefault(context.trace_id, _Trace())
        trace.sessions |= {str(kept.attributes[n]) for n in _SESSIONS if n in kept.attributes}
        trace.spans.append(kept)
        self._grow(trace, kept.bytes)
        is_root = kept.parent is None or kept.parent.is_remote
        if is_root and not trace.sessions and context.trace_id in self._traces:
            self._drop(self._traces.pop(context.trace_id))  # a request that was about no session

    def _grow(self, trace: _Trace, by_bytes: int) -> None:
        trace.bytes += by_bytes
        self._count += 1
        self._bytes += by_bytes
        while self._count > self._most_spans or self._bytes > self._most_bytes:
            self._drop(self._traces.popitem(last=False)[1])

    def _drop(self, trace: _Trace) -> None:
        self._count -= trace.items
        self._bytes -= trace.bytes

    def _attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if self._with_content:
            return dict(given)
        short = {
            name: value
            for name, value in given.items()
            if (name in _NAMES or name.startswith(_NUMBERS)) and len(str(value)) <= _LONGEST_NAME
        }
        return {**short, **{name: "{}" for name in _CONTENT if name in given}}


class SessionLogs(WebUiLogExporter):
    """Keeps the contents of the model calls whose spans are kept, if enabled."""

    def __init__(self, spans: SessionSpans) -> None:
        super().__init__()
        self._spans = spans

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        super().export(batch)
        with self._lock:
            found = list(self._logs)
            self._logs.clear()
        self._spans.add_logs(found)
        return LogRecordExportResult.SUCCESS

    def get_finished_logs(self) -> tuple[ReadableLogRecord, ...]:
        return self._spans.logs()


def _content_bytes(record: ReadableLogRecord) -> int:
    """Return the approximate size of a record, including its model call."""
    return _SPAN_BYTES + len(str(_restored_attributes(record.log_record)))
