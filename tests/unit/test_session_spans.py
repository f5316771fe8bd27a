"""The traces that the dev UI shows: few, of sessions only, and without words."""

from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanContext, Tracer

from oda.server.adk.spans import SessionSpans

EVENT = "gcp.vertex.agent.event_id"
SESSION = "gen_ai.conversation.id"
REQUEST = "gcp.vertex.agent.llm_request"
Traced = Callable[..., Tracer]


@pytest.fixture
def traced() -> Iterator[Traced]:
    """Give a tracer whose spans a store gets."""
    providers: list[TracerProvider] = []

    def make(spans: SessionSpans) -> Tracer:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(spans))
        providers.append(provider)
        return provider.get_tracer("test")

    yield make
    for provider in providers:
        provider.shutdown()


def call(tracer: Tracer, session: str, event: str, said: str = "words") -> SpanContext:
    """A request with one model call in it."""
    attributes = {SESSION: session, EVENT: event, REQUEST: said, "new.attribute": said}
    with (
        tracer.start_as_current_span("POST /run"),
        tracer.start_as_current_span("generate_content m", attributes=attributes) as span,
    ):
        return span.get_span_context()


def test_a_session_and_an_event_find_their_spans_without_words(traced: Traced) -> None:
    spans = SessionSpans(with_content=False)
    tracer = traced(spans)
    context = call(tracer, "s", "e", "secret")
    call(tracer, "other", "f", "secret")
    assert [span.name for span in spans.get_finished_spans("s")] == [
        "generate_content m",
        "POST /run",
    ]
    found = spans.get("e")
    assert found == {
        SESSION: "s",
        EVENT: "e",
        REQUEST: "{}",
        "trace_id": context.trace_id,
        "span_id": context.span_id,
    }
    assert spans.get("nothing") is None


def test_words_are_kept_when_they_are_asked_for(traced: Traced) -> None:
    spans = SessionSpans(with_content=True)
    call(traced(spans), "s", "e", "asked")
    assert (spans.get("e") or {})[REQUEST] == "asked"


def test_the_oldest_traces_go_when_there_are_too_many(traced: Traced) -> None:
    spans = SessionSpans(with_content=False, most_spans=4)
    tracer = traced(spans)
    for number in range(100):
        call(tracer, f"s{number}", f"e{number}")
    kept = [n for n in range(100) if spans.get_finished_spans(f"s{n}")]
    assert kept == [98, 99]
    assert spans.get("e97") is None


def test_the_oldest_traces_go_when_they_are_too_large(traced: Traced) -> None:
    spans = SessionSpans(with_content=True, most_bytes=50_000)
    tracer = traced(spans)
    for number in range(20):
        call(tracer, f"s{number}", f"e{number}", "x" * 10_000)
    kept = [n for n in range(20) if spans.get_finished_spans(f"s{n}")]
    assert kept == [18, 19]


def test_one_trace_that_is_larger_than_all_leaves_room_for_the_next(traced: Traced) -> None:
    spans = SessionSpans(with_content=True, most_bytes=50_000)
    tracer = traced(spans)
    call(tracer, "large", "l", "x" * 60_000)
    call(tracer, "next", "n")
    assert len(spans.get_finished_spans("next")) == 2


def test_requests_without_a_session_take_no_place(traced: Traced) -> None:
    spans = SessionSpans(with_content=False, most_spans=4)
    tracer = traced(spans)
    call(tracer, "s", "e")
    for _ in range(100):
        with tracer.start_as_current_span("GET /livez"), tracer.start_as_current_span("inner"):
            pass
    assert len(spans.get_finished_spans("s")) == 2


def test_the_traces_of_a_deleted_session_go_with_it(traced: Traced) -> None:
    spans = SessionSpans(with_content=False)
    tracer = traced(spans)
    call(tracer, "s", "e")
    call(tracer, "kept", "k")
    spans.forget(("app", "user", "s"))
    assert spans.get_finished_spans("s") == []
    assert spans.get("e") is None
    assert len(spans.get_finished_spans("kept")) == 2


def test_nothing_is_kept_after_the_end(traced: Traced) -> None:
    spans = SessionSpans(with_content=False)
    tracer = traced(spans)
    call(tracer, "s", "e")
    spans.shutdown()
    call(tracer, "s", "f")
    assert spans.get_finished_spans("s") == []
