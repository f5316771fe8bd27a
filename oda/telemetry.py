"""Logs and traces: their set-up and our names."""

import logging
import sys

import structlog
from opentelemetry import trace

from oda.errors import ConfigurationError

_LEVELS = ("debug", "info", "warning", "error", "critical")


def configure_logging(level: str, log_format: str) -> None:
    """Send structlog and the standard library's logs to stderr, as text or JSON lines.

    Raises:
        ConfigurationError: an unknown level or format.
    """
    if level.lower() not in _LEVELS:
        raise ConfigurationError(f"ODA_LOG_LEVEL {level!r}: unknown", remedy=", ".join(_LEVELS))
    if log_format not in ("console", "json"):
        raise ConfigurationError(f"ODA_LOG_FORMAT {log_format!r}: unknown", remedy="console, json")
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)


def current_trace_id() -> str | None:
    """The id of the running OpenTelemetry trace as 32 hex digits, if there is one."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
