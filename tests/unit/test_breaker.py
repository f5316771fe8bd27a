"""When a failing model is left alone, and when it is tried again."""

import pytest

from oda.agent.model.guarded import Breaker
from oda.errors import CircuitOpenError

PAUSE_S = 30.0


def failed(breaker: Breaker, times: int, now: float = 0.0) -> None:
    for _ in range(times):
        breaker.check("m", now)
        breaker.failed(now)


def opened(failures: int = 3) -> Breaker:
    breaker = Breaker(failures=failures, pause_s=PAUSE_S)
    failed(breaker, failures)
    return breaker


def is_open(breaker: Breaker, now: float) -> bool:
    try:
        breaker.check("m", now)
    except CircuitOpenError:
        return True
    return False


@pytest.mark.parametrize("failures", [1, 3, 10])
def test_it_opens_after_so_many_failures_in_a_row(failures: int) -> None:
    breaker = Breaker(failures=failures, pause_s=PAUSE_S)
    failed(breaker, failures - 1)
    assert not is_open(breaker, 0)
    failed(breaker, 1)
    assert is_open(breaker, 0)


def test_success_in_between_starts_the_count_anew() -> None:
    breaker = Breaker(failures=3, pause_s=PAUSE_S)
    failed(breaker, 2)
    breaker.succeeded()
    failed(breaker, 2)
    assert not is_open(breaker, 0)


@pytest.mark.parametrize(("now", "wait_s"), [(0, 30), (10, 20), (29.5, 0.5)])
def test_refusal_names_the_model_and_how_long_it_lasts(now: float, wait_s: float) -> None:
    with pytest.raises(CircuitOpenError, match=r"'m' has failed 3 times in a row") as refusal:
        opened().check("m", now)
    assert refusal.value.retry_after_s == pytest.approx(wait_s)
    assert refusal.value.retryable


def test_after_the_pause_just_one_call_is_let_through() -> None:
    breaker = opened()
    assert [is_open(breaker, PAUSE_S) for _ in range(3)] == [False, True, True]


def test_failed_trial_opens_it_for_another_pause() -> None:
    breaker = opened()
    failed(breaker, 1, now=PAUSE_S)
    assert is_open(breaker, 2 * PAUSE_S - 1)
    assert not is_open(breaker, 2 * PAUSE_S)


def test_trial_of_which_nothing_is_heard_is_followed_by_another_after_the_pause() -> None:
    breaker = opened()
    breaker.check("m", PAUSE_S)
    assert is_open(breaker, 2 * PAUSE_S - 1)
    assert not is_open(breaker, 2 * PAUSE_S)


def test_successful_trial_closes_it_for_good() -> None:
    breaker = opened()
    breaker.check("m", PAUSE_S)
    breaker.succeeded()
    failed(breaker, 2, now=PAUSE_S)
    assert not is_open(breaker, PAUSE_S)
