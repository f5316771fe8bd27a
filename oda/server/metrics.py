"""Metrics for Prometheus at `/metrics`: requests by route, turns by outcome."""

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.request_path import route_template
from oda.turn.record import FINAL, Turn

if TYPE_CHECKING:
    from oda.turn.queue import QueueLength

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_QUEUE = {
    "waiting": "Turns that wait, on all processes",
    "running": "Turns that run, on all processes",
    "oldest_seconds": "Time since the turn that has waited longest was accepted",
}
_TURN_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

router = APIRouter()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """All numbers in Prometheus' text format."""
    collected: Metrics = request.app.state.metrics
    with suppress(Exception):  # the other numbers are wanted most when the database is away
        collected.queue(await request.app.state.oda.turns.queue_length())
    return Response(collected.text(), media_type=CONTENT_TYPE_LATEST)


class Metrics:
    """The numbers of one server, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = RequestMetrics(self._registry)
        self.turns = TurnMetrics(self._registry)

        self._queue: Mapping[str, Gauge] | None = None

    def queue(self, length: "QueueLength | None") -> None:
        """Set the numbers of the queue, where there is one."""
        if length is None:
            return
        if self._queue is None:
            self._queue = {
                name: Gauge(f"oda_queue_{name}", text, registry=self._registry)
                for name, text in _QUEUE.items()
            }
        for name, gauge in self._queue.items():
            gauge.set(getattr(length, name))

    def text(self) -> bytes:
        return generate_latest(self._registry)


class RequestMetrics:
    """Requests, by method, route and status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count = Counter(
            "oda_http_requests",
            "Requests that were answered",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "oda_http_request_duration_seconds",
            "Time until the end of the answer, streams included",
            ["method", "route"],
            buckets=_REQUEST_S,
            registry=registry,
        )
        self._of = cache(self._find)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        count, durations = self._of(method if method in _METHODS else "other", route, status)
        count.inc()
        durations.observe(seconds)

    def _find(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self._count.labels(method, route, str(status)), self._seconds.labels(method, route)


class TurnMetrics:
    """Turns, as an engine tells of them: a `TurnObserver`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._unfinished: dict[str, Literal["queued", "running"]] = {}
        now = Gauge("oda_turns_unfinished", "Turns now", ["state"], registry=registry)
        for state in ("queued", "running"):
            now.labels(state).set_function(partial(self._in, state))
        self._ended = Counter(
            "oda_turns", "Turns that have ended", ["app", "status"], registry=registry
        )
        self._waits = Counter(
            "oda_turns_waited_for_input", "Turns that asked a person", ["app"], registry=registry
        )
        self._retries = Counter("oda_turn_retries", "Attempts after the first", registry=registry)
        self._recovered = Counter(
            "oda_turns_recovered", "Turns taken over from dead processes", registry=registry
        )
        self._model_calls = Counter("oda_model_calls", "Calls of models", registry=registry)
        self._tokens = Counter(
            "oda_model_tokens", "Tokens of ended turns", ["direction"], registry=registry
        )
        self._cost = Counter("oda_model_cost_usd", "Cost of ended turns", registry=registry)
        self._lost_calls = Counter(
            "oda_tool_calls_outcome_unknown", "Cut off calls", ["tool"], registry=registry
        )
        self._seconds = Histogram(
            "oda_turn_duration_seconds",
            "From acceptance to the end, waits included",
            ["app"],
            buckets=_TURN_S,
            registry=registry,
        )

    def accepted(self, turn: Turn) -> None:
        self._unfinished[turn.turn_id] = "queued"

    def started(self, turn: Turn) -> None:
        self._unfinished[turn.turn_id] = "running"

    def left(self, turn: Turn) -> None:
        self._unfinished.pop(turn.turn_id, None)

    def recovered(self, turn: Turn) -> None:
        self._unfinished[turn.turn_id] = "queued"
        self._recovered.inc()

    def outcome_unknown(self, turn: Turn, tool: str) -> None:
        self._lost_calls.labels(tool).inc()

    def ended(self, turn: Turn) -> None:
        self._unfinished.pop(turn.turn_id, None)
        if turn.status not in FINAL:
            self._waits.labels(turn.app).inc()
            return
        self._ended.labels(turn.app, turn.status).inc()
        self._retries.inc(max(0, turn.attempts - 1))
        self._model_calls.inc(turn.usage.model_calls)
        self._tokens.labels("input").inc(turn.usage.input_tokens)
        self._tokens.labels("output").inc(turn.usage.output_tokens)
        self._cost.inc(turn.usage.cost_usd or 0)
        if turn.finished_at is not None:
            seconds = (turn.finished_at - turn.created_at).total_seconds()
            self._seconds.labels(turn.app).observe(max(0.0, seconds))

    def _in(self, state: str) -> int:
        return sum(1 for now in self._unfinished.values() if now == state)


class MetricsMiddleware:
    """Counts requests, those included that were refused."""

    def __init__(self, app: ASGIApp, *, requests: RequestMetrics) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_see)
        finally:
            seconds = time.perf_counter() - begun
            self._requests.answered(scope["method"], route_template(scope), status, seconds)
