"""Logs and traces: their set-up and our names."""

import logging
import random
import sys
import uuid
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Literal

import structlog
from opentelemetry import trace

from oda.secret_mask import secrets

_TOLD_BY_US = (
    "google_adk.google.adk.runners",
    "google_adk.google.adk.workflow._node_runner",
)
"""Loggers of ADK that print the traceback of each failed attempt, twice; we log it in one line."""

LogLevel = Literal["debug", "info", "warning", "error", "critical"]
LogFormat = Literal["console", "json"]


def configure_logging(level: LogLevel, log_format: LogFormat) -> None:
    """Send all logs of the process to stderr, as text or JSON lines."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if log_format == "json"
        else [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *renderers,
                _without_secrets,
            ],
            foreign_pre_chain=shared,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    for name in _TOLD_BY_US:
        logging.getLogger(name).setLevel(
            logging.CRITICAL if threshold > logging.DEBUG else threshold
        )


def _without_secrets(_: object, __: str, line: structlog.typing.EventDict) -> str:
    """Mask known secrets in a rendered line, tracebacks included."""
    return secrets.mask(str(line))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A structured logger that speaks through the standard library's `logging`.

    So a host application's own logging configuration holds for us as for any library.
    """
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return logger


@contextmanager
def experimental_on_purpose() -> Iterator[None]:
    """Keep ADK from warning a host application of experimental parts that we chose to use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]", category=UserWarning)
        yield


_request_trace_id: ContextVar[str | None] = ContextVar("oda_trace_id", default=None)


@contextmanager
def bound_trace_id(trace_id: str) -> Iterator[None]:
    """Attach a trace id to the logs, turns and OpenTelemetry spans of the block.

    Args:
        trace_id: 32 hex digits.
    """
    token = _request_trace_id.set(trace_id)
    try:
        with structlog.contextvars.bound_contextvars(trace_id=trace_id), _spans_in(trace_id):
            yield
    finally:
        _request_trace_id.reset(token)


def _spans_in(trace_id: str) -> AbstractContextManager[object]:
    """Make spans that begin in the block part of a trace, unless the current span already is."""
    if running_trace_id() == trace_id:
        return nullcontext()
    parent = trace.SpanContext(
        int(trace_id, 16),
        random.getrandbits(64) or 1,
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.use_span(trace.NonRecordingSpan(parent))


def running_trace_id() -> str | None:
    """Return the id of the current OpenTelemetry trace, as 32 hex digits."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


def current_trace_id() -> str:
    """Return the trace id of the request or turn, of OpenTelemetry, or a new one: 32 hex digits."""
    return _request_trace_id.get() or running_trace_id() or uuid.uuid4().hex
