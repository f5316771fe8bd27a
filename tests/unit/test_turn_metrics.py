"""Turns as Prometheus sees them."""

from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from oda.server.metrics import TurnMetrics
from oda.turn.observer import TurnObserver
from oda.turn.record import Turn, TurnStatus, TurnUsage

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def turn_of(turn_id: str, status: TurnStatus = "queued", *, attempts: int = 1) -> Turn:
    return Turn(
        turn_id=turn_id,
        app="cv",
        user_id="ann",
        session_id="s",
        agent="cv",
        status=status,
        attempts=attempts,
        usage=TurnUsage(model_calls=2, input_tokens=30, output_tokens=4, cost_usd=0.5),
        created_at=BEGUN,
        finished_at=BEGUN + timedelta(seconds=3),
    )


def test_turns_are_counted_once_however_they_go() -> None:
    registry = CollectorRegistry()
    metrics: TurnObserver = TurnMetrics(registry)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    for turn_id in ("a", "b", "c"):
        metrics.accepted(turn_of(turn_id))
    metrics.started(turn_of("a"))
    metrics.started(turn_of("b"))
    assert value("oda_turns_unfinished", state="running") == 2
    assert value("oda_turns_unfinished", state="queued") == 1
    metrics.ended(turn_of("a", "waiting_input"))
    assert value("oda_model_calls_total") == 0
    metrics.accepted(turn_of("a"))
    metrics.started(turn_of("a"))
    metrics.outcome_unknown(turn_of("a"), "pay")
    metrics.ended(turn_of("a", "succeeded", attempts=3))
    metrics.ended(turn_of("b", "failed"))
    metrics.ended(turn_of("c", "cancelled", attempts=0))
    metrics.accepted(turn_of("e"))
    metrics.left(turn_of("e"))
    metrics.recovered(turn_of("d"))
    assert value("oda_turns_unfinished", state="running") == 0
    assert value("oda_turns_unfinished", state="queued") == 1
    for status in ("succeeded", "failed", "cancelled"):
        assert value("oda_turns_total", app="cv", status=status) == 1
    assert value("oda_turns_waited_for_input_total", app="cv") == 1
    assert value("oda_turn_retries_total") == 2
    assert value("oda_turns_recovered_total") == 1
    assert value("oda_model_calls_total") == 6
    assert value("oda_model_tokens_total", direction="input") == 90
    assert value("oda_model_tokens_total", direction="output") == 12
    assert value("oda_model_cost_usd_total") == 1.5
    assert value("oda_tool_calls_outcome_unknown_total", tool="pay") == 1
    assert value("oda_turn_duration_seconds_sum", app="cv") == 9
