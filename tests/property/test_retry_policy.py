"""Waits and ends of the retry policy, for every policy and every failure."""

from hypothesis import assume, given
from hypothesis import strategies as st

from oda.agent.failure import Failure
from oda.agent.retry import GiveUp, Retry, RetryPolicy

TOLERANCE_S = 1e-6

seconds = st.floats(0, 100, allow_nan=False)


def policies(*, jitter: bool, budget: bool = False) -> st.SearchStrategy[RetryPolicy]:
    def make(
        max_retries: int,
        initial_s: float,
        more_s: float,
        multiplier: float,
        jitter_s: float,
        budget_s: float | None,
    ) -> RetryPolicy:
        return RetryPolicy(
            max_retries=max_retries,
            initial_delay_s=initial_s,
            max_delay_s=initial_s + more_s,
            multiplier=multiplier,
            jitter_s=jitter_s,
            time_budget_s=budget_s,
        )

    return st.builds(
        make,
        st.integers(0, 12),
        seconds,
        seconds,
        st.floats(1, 20, allow_nan=False),
        seconds if jitter else st.just(0.0),
        st.floats(0.1, 500) if budget else st.none(),
    )


def failed(*, retryable: bool = True, retry_after_s: float | None = None) -> Failure:
    return Failure(
        code="overloaded",
        message="The server is busy.",
        error_type="ServerError",
        retryable=retryable,
        retry_after_s=retry_after_s,
    )


def delays(policy: RetryPolicy, failure: Failure | None = None) -> list[float]:
    """The waits between attempts that all fail, until the policy gives up."""
    waits: list[float] = []
    while isinstance(
        decision := policy.decide(failure or failed(), retries=len(waits), elapsed_s=sum(waits)),
        Retry,
    ):
        waits.append(decision.delay_s)
    assert decision == GiveUp(retries_exhausted=True)
    return waits


def test_waits_are_1_2_4_8_seconds_by_default_and_three_of_them() -> None:
    assert delays(RetryPolicy()) == [1, 2, 4]
    assert delays(RetryPolicy(max_retries=8)) == [1, 2, 4, 8, 16, 32, 60, 60]


@given(policies(jitter=True))
def test_there_are_as_many_retries_as_the_policy_says(policy: RetryPolicy) -> None:
    assert len(delays(policy)) == policy.max_retries


@given(policies(jitter=False))
def test_waits_without_jitter_never_get_shorter(policy: RetryPolicy) -> None:
    waits = delays(policy)
    assert waits == sorted(waits)


@given(policies(jitter=False))
def test_first_wait_without_jitter_is_the_initial_delay(policy: RetryPolicy) -> None:
    assume(policy.max_retries > 0)
    assert delays(policy)[0] == policy.initial_delay_s


@given(policies(jitter=True))
def test_waits_stay_between_the_initial_and_the_longest_delay_and_the_jitter(
    policy: RetryPolicy,
) -> None:
    for wait in delays(policy):
        assert wait >= policy.initial_delay_s - TOLERANCE_S
        assert wait <= policy.max_delay_s + policy.jitter_s + TOLERANCE_S


@given(policies(jitter=True), st.floats(0, 10_000))
def test_waits_are_as_long_as_the_server_asks_even_beyond_the_longest_delay(
    policy: RetryPolicy, retry_after_s: float
) -> None:
    longest = max(policy.max_delay_s + policy.jitter_s, retry_after_s) + TOLERANCE_S
    waits = delays(policy, failed(retry_after_s=retry_after_s))
    assert all(retry_after_s <= wait <= longest for wait in waits)


@given(policies(jitter=False), st.floats(0, 10_000))
def test_retry_after_makes_no_wait_shorter(policy: RetryPolicy, retry_after_s: float) -> None:
    asked = delays(policy, failed(retry_after_s=retry_after_s))
    assert asked == [max(wait, retry_after_s) for wait in delays(policy)]


@given(
    policies(jitter=True, budget=True),
    st.floats(0, 1_000),
    st.none() | st.floats(0.1, 500),
    st.none() | st.floats(0, 1_000),
    st.integers(0, 12),
)
def test_no_wait_ends_after_the_policys_or_the_turns_time(
    policy: RetryPolicy,
    elapsed_s: float,
    time_limit_s: float | None,
    retry_after_s: float | None,
    retries: int,
) -> None:
    decision = policy.decide(
        failed(retry_after_s=retry_after_s),
        retries=retries,
        elapsed_s=elapsed_s,
        time_limit_s=time_limit_s,
    )
    if isinstance(decision, Retry):
        assert retries < policy.max_retries
        for limit_s in (policy.time_budget_s, time_limit_s):
            assert limit_s is None or elapsed_s + decision.delay_s <= limit_s
    else:
        assert decision.retries_exhausted


@given(
    policies(jitter=True, budget=True),
    st.floats(0, 1_000),
    st.none() | st.floats(0, 1_000),
    st.integers(0, 20),
)
def test_what_cannot_pass_is_never_retried_and_is_not_called_exhausted(
    policy: RetryPolicy, elapsed_s: float, retry_after_s: float | None, retries: int
) -> None:
    lasting = failed(retryable=False, retry_after_s=retry_after_s)
    decision = policy.decide(lasting, retries=retries, elapsed_s=elapsed_s)
    assert decision == GiveUp(retries_exhausted=False)
