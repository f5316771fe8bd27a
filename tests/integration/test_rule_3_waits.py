"""Rule 3: what is retried, and how long is waited before it."""

from email.utils import formatdate

import pytest
from google.adk.plugins.base_plugin import BasePlugin

from oda.agent.limits import TurnLimits
from oda.agent.retry import RetryPolicy
from oda.errors import (
    AgentStateError,
    CircuitOpenError,
    ConfigurationError,
    LimitExceededError,
    UnavailableError,
)
from oda.testing.script import Blocked, Disconnect, Error, Text
from oda.testing.scripted_model import InProcessStep, Raise
from tests.support.roots import GRAPH_OF_THREE, LLM, SEQUENTIAL, Kind
from tests.support.stage import stage
from tests.support.transcript import transcript

DOWN = Error(status=503)
ANSWER = Text(text="answer")

three_kinds = pytest.mark.parametrize(
    "kind", [LLM, SEQUENTIAL, GRAPH_OF_THREE], ids=lambda kind: kind.name
)


def busy(seconds: float) -> Error:
    return Error(status=429, retry_after=seconds)


def busy_with(header: str, value: str) -> Error:
    return Error(status=429, headers={header: value})


async def waits(*steps: InProcessStep, policy: RetryPolicy | None = None) -> tuple[float, ...]:
    play = await stage(LLM, [*steps, ANSWER], policy=policy)
    await play.ask()
    return play.clock.sleeps


@three_kinds
async def test_rule_3_waits_double_from_one_second(kind: Kind) -> None:
    play = await stage(kind, [DOWN] * 6 + [ANSWER], max_retries=6)
    assert "worker: answer" in transcript(await play.ask())
    assert play.clock.sleeps == (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


async def test_rule_3_waits_follow_the_policy() -> None:
    policy = RetryPolicy(max_retries=5, initial_delay_s=0.5, multiplier=3.0, max_delay_s=5.0)
    assert await waits(*[DOWN] * 5, policy=policy) == (0.5, 1.5, 4.5, 5.0, 5.0)


async def test_rule_3_jitter_is_added_up_to_its_bound() -> None:
    policy = RetryPolicy(max_retries=4, jitter_s=0.5)
    made = await waits(*[DOWN] * 4, policy=policy)
    added = [wait - plain for wait, plain in zip(made, (1.0, 2.0, 4.0, 8.0), strict=True)]
    assert all(0.0 <= jitter <= 0.5 for jitter in added)
    assert len(set(added)) > 1


async def test_rule_3_policy_without_retries_gives_up_at_once() -> None:
    play = await stage(LLM, [DOWN], max_retries=0)
    event = (await play.ask())[-1]
    assert event.error_code == "MAX_RETRIES_EXCEEDED"
    assert event.error_message == "Agent execution failed after 0 retry attempts"


@three_kinds
async def test_rule_3_longer_retry_after_is_waited_for(kind: Kind) -> None:
    play = await stage(kind, [busy(7), busy(1), busy(0.25), ANSWER])
    assert "worker: answer" in transcript(await play.ask())
    assert play.clock.sleeps == (7.0, 2.0, 4.0)


async def test_rule_3_retry_after_may_be_longer_than_the_longest_wait() -> None:
    assert await waits(busy(90), policy=RetryPolicy(max_delay_s=10.0)) == (90.0,)


async def test_rule_3_retry_after_may_be_a_date_or_milliseconds() -> None:
    date = busy_with("retry-after", formatdate(30, usegmt=True))
    milliseconds = busy_with("retry-after-ms", "2500")
    assert await waits(date, milliseconds) == (30.0, 2.5)


async def test_rule_3_unreadable_retry_after_is_no_reason_to_wait_longer() -> None:
    assert await waits(busy_with("retry-after", "soon"), busy_with("retry-after", "-5")) == (
        1.0,
        2.0,
    )


async def test_rule_3_time_budget_ends_the_retries() -> None:
    play = await stage(LLM, [DOWN] * 9, policy=RetryPolicy(max_retries=9, time_budget_s=7.0))
    assert transcript(await play.ask())[-1] == "system! MAX_RETRIES_EXCEEDED"
    assert play.clock.sleeps == (1.0, 2.0, 4.0)


async def test_rule_3_wait_that_would_outlast_the_turn_is_not_begun() -> None:
    play = await stage(LLM, [busy(3600)], limits=TurnLimits(timeout_s=600.0))
    assert transcript(await play.ask()) == ["system! MAX_RETRIES_EXCEEDED"]
    assert play.clock.sleeps == ()


async def test_rule_3_each_turn_has_all_its_retries() -> None:
    play = await stage(LLM, [DOWN, DOWN, DOWN, ANSWER, DOWN, DOWN, DOWN, ANSWER])
    await play.ask()
    assert transcript(await play.ask("again"))[-1] == "worker: answer"
    assert play.clock.sleeps == (1.0, 2.0, 4.0) * 2


async def retried(step: InProcessStep) -> bool:
    play = await stage(LLM, [step, ANSWER])
    return transcript(await play.ask())[-1] == "worker: answer"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_rule_3_status_that_may_pass_is_retried(status: int) -> None:
    assert await retried(Error(status=status))


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 451])
async def test_rule_3_status_that_stays_is_not_retried(status: int) -> None:
    assert not await retried(Error(status=status))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(),
        ConnectionRefusedError(),
        TimeoutError(),
        CircuitOpenError("open", retry_after_s=1.0),
        UnavailableError("down"),
        ExceptionGroup("several", [ConnectionError(), TimeoutError()]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_rule_3_error_that_may_pass_is_retried(error: Exception) -> None:
    assert await retried(Raise(exception=error))


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        TypeError("x"),
        AttributeError("x"),
        ZeroDivisionError(),
        ConfigurationError("x"),
        AgentStateError("x"),
        LimitExceededError("x"),
        ExceptionGroup("several", [ConnectionError(), KeyError("x")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_rule_3_error_that_stays_is_not_retried(error: Exception) -> None:
    assert not await retried(Raise(exception=error))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (
            Error(status=400, message="over the maximum context length"),
            "context_overflow",
        ),
        (Error(status=400, message="violates our content management policy"), "content_policy"),
        (Blocked(text="no"), "content_policy"),
        (Disconnect(), "connection"),
        (Error(status=429), "rate_limited"),
    ],
)
async def test_rule_3_failure_is_told_by_a_stable_code(step: InProcessStep, code: str) -> None:
    play = await stage(LLM, [step] * 4)
    event = (await play.ask())[-1]
    assert (event.custom_metadata or {})["error"]["code"] == code


class Broken(BasePlugin):
    """A plugin of the app whose callback fails, as the model's client might."""

    def __init__(self, error: Exception) -> None:
        super().__init__(name="broken")
        self.errors = [error]

    async def before_model_callback(self, **_: object) -> None:
        if self.errors:
            raise self.errors.pop()


@pytest.mark.parametrize(
    ("error", "passes"), [(ConnectionError("lost"), True), (KeyError("typo"), False)]
)
@three_kinds
async def test_rule_3_cause_of_a_plugins_failure_decides(
    kind: Kind, error: Exception, passes: bool
) -> None:
    play = await stage(kind, [ANSWER], change=lambda app: app.plugins.append(Broken(error)))
    assert ("worker: answer" in transcript(await play.ask())) == passes
