"""A circuit breaker, moved through its states by times that are passed in."""

import pytest

from oda.agent.model.breaker import Breaker
from oda.errors import CircuitOpenError


def opened(at: float) -> Breaker:
    breaker = Breaker(failures=3, pause_s=30.0)
    for _ in range(3):
        breaker.failed(at)
    return breaker


def wait_of(breaker: Breaker, now: float) -> float:
    with pytest.raises(CircuitOpenError) as refused:
        breaker.check("gpt", now)
    return refused.value.retry_after_s


def test_closed_circuit_lets_calls_through_until_enough_have_failed_in_a_row() -> None:
    breaker = Breaker(failures=3, pause_s=30.0)
    for _ in range(2):
        breaker.failed(0.0)
        breaker.check("gpt", 0.0)
    breaker.failed(0.0)
    assert wait_of(breaker, 0.0) == 30.0


def test_success_in_between_starts_the_count_again() -> None:
    breaker = Breaker(failures=2, pause_s=30.0)
    for _ in range(5):
        breaker.failed(0.0)
        breaker.succeeded()
    breaker.check("gpt", 0.0)


def test_open_circuit_says_how_long_it_stays_so() -> None:
    breaker = opened(at=100.0)
    assert wait_of(breaker, 110.0) == 20.0
    assert wait_of(breaker, 129.5) == 0.5


def test_after_the_pause_one_call_may_try_and_no_other() -> None:
    breaker = opened(at=0.0)
    breaker.check("gpt", 30.0)
    assert wait_of(breaker, 30.0) == 30.0


def test_trial_that_succeeds_closes_the_circuit() -> None:
    breaker = opened(at=0.0)
    breaker.check("gpt", 30.0)
    breaker.succeeded()
    breaker.check("gpt", 30.0)
    breaker.failed(31.0)
    breaker.check("gpt", 31.0)


def test_trial_that_fails_opens_it_for_another_pause() -> None:
    breaker = opened(at=0.0)
    breaker.check("gpt", 30.0)
    breaker.failed(35.0)
    assert wait_of(breaker, 40.0) == 25.0


def test_trial_that_never_ends_does_not_keep_it_open_for_ever() -> None:
    breaker = opened(at=0.0)
    breaker.check("gpt", 30.0)
    breaker.check("gpt", 60.0)


def test_refusal_names_the_model_and_may_pass() -> None:
    with pytest.raises(CircuitOpenError, match="'gpt' has failed 3 times"):
        opened(at=0.0).check("gpt", 1.0)
    assert CircuitOpenError.retryable
