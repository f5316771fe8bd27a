"""What classification says of every status, every wrapping and every Retry-After."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oda.agent.failure import classify, classify_event
from oda.errors import FatalToolError, OdaError, OverloadedError, SessionBusyError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
MAY_PASS = {408, 409, 425, 429}

statuses = st.integers(400, 599)


class ProviderError(Exception):
    """An error of a client library, with the attributes that such errors have."""

    def __init__(self, text: str = "it failed", **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


def with_headers(**headers: object) -> ProviderError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ProviderError(status_code=429, response=SimpleNamespace(headers=named))


def with_retry_info(delay: object) -> ProviderError:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    return ProviderError(code=429, details={"error": {"details": [info]}})


def wait_of(error: BaseException) -> float | None:
    return classify(error, now=NOW).retry_after_s


# --- status


HOMES: list[Callable[[int], ProviderError]] = [
    lambda status: ProviderError(status_code=status),
    lambda status: ProviderError(code=status),
    lambda status: ProviderError(response=SimpleNamespace(status_code=status)),
    lambda status: ProviderError(code="rate_limit_exceeded", status_code=status),
]


@given(statuses, st.sampled_from(HOMES))
def test_status_decides_whether_to_retry_wherever_it_is_kept(
    status: int, home: Callable[[int], ProviderError]
) -> None:
    failure = classify(home(status), now=NOW)
    assert failure.retryable == (status in MAY_PASS or status >= 500)
    assert failure.code
    assert failure.message
    assert failure.error_type == "ProviderError"


@given(statuses)
def test_status_that_a_model_reports_in_an_event_counts_as_much_as_a_raised_one(
    status: int,
) -> None:
    reported = classify_event(str(status), "it failed")
    raised = classify(ProviderError(status_code=status), now=NOW)
    assert (reported.code, reported.retryable) == (raised.code, raised.retryable)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])), st.none() | st.text())
def test_event_with_any_code_and_text_becomes_a_failure(code: str, text: str | None) -> None:
    failure = classify_event(code, text)
    assert failure.message
    assert len(failure.message.splitlines()) == 1


def test_event_code_of_odd_digits_becomes_a_failure() -> None:
    assert classify_event("²", None).code == "model_error"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("This model's maximum context length is 8192 tokens", "context_overflow"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        ("blocked by the content management policy", "content_policy"),
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_words_of_a_refused_request_tell_why_and_it_is_not_retried(
    status: int, text: str, code: str
) -> None:
    failure = classify(ProviderError(text, status_code=status), now=NOW)
    assert (failure.code, failure.retryable) == (code, False)


# --- wrapping


def caused(cause: BaseException) -> BaseException:
    error = RuntimeError("plugin failed")
    error.__cause__ = cause
    return error


def grouped(*members: BaseException) -> BaseException:
    return BaseExceptionGroup("tasks failed", members)


def carried(error: BaseException) -> BaseException:
    return ProviderError("node failed", error=error)


wrappings = st.lists(st.sampled_from([caused, grouped, carried]), max_size=5)
causes = st.one_of(
    statuses.map(lambda status: ProviderError(status_code=status, retry_after_s=3.0)),
    st.sampled_from(
        [TimeoutError(), ConnectionResetError("reset"), KeyError("k"), FatalToolError("stop")]
    ),
)


@given(causes, wrappings)
def test_wrapped_error_is_classified_like_its_cause(
    cause: BaseException, layers: list[Callable[[BaseException], BaseException]]
) -> None:
    wrapped = cause
    for layer in layers:
        wrapped = layer(wrapped)
    assert classify(wrapped, now=NOW) == classify(cause, now=NOW)


@given(st.lists(causes, min_size=1, max_size=5), st.data())
def test_group_is_retried_only_if_each_of_its_members_may_pass(
    members: list[BaseException], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(members)))
    inner = [grouped(*members[cut:])] if members[cut:] else []
    failure = classify(grouped(*members[:cut], *inner), now=NOW)
    assert failure.retryable == all(classify(one, now=NOW).retryable for one in members)


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=5))
def test_group_waits_as_long_as_the_most_patient_member(waits_s: list[float]) -> None:
    members = [ProviderError(status_code=503, retry_after_s=wait) for wait in waits_s]
    assert wait_of(grouped(*members)) == max(waits_s)


def test_errors_that_are_each_others_cause_become_a_failure() -> None:
    first, second = RuntimeError("first"), RuntimeError("second")
    first.__cause__, second.__cause__ = second, first
    assert classify(first, now=NOW).code == "programming_error"


# --- our own errors


@given(st.booleans(), statuses)
def test_our_own_errors_say_themselves_whether_they_pass(retryable: bool, status: int) -> None:
    class OwnError(OdaError):
        code: ClassVar[str] = "own"
        status_code = status

    OwnError.retryable = retryable
    failure = classify(OwnError("it is so"), now=NOW)
    assert (failure.code, failure.retryable) == ("own", retryable)


def test_our_own_errors_keep_their_code_and_their_wait() -> None:
    assert classify(SessionBusyError("busy"), now=NOW).code == "session_busy"
    assert wait_of(OverloadedError("full", retry_after_s=7)) == 7


@given(st.text(max_size=40))
def test_error_of_our_own_code_is_lasting(text: str) -> None:
    for error in (ValueError(text), KeyError(text), AttributeError(text), ZeroDivisionError(text)):
        failure = classify(error, now=NOW)
        assert (failure.code, failure.retryable) == ("programming_error", False)


# --- Retry-After


@given(st.floats(0, 1e6))
def test_retry_after_in_seconds(wait_s: float) -> None:
    assert wait_of(with_headers(retry_after=str(wait_s))) == pytest.approx(wait_s)


@given(st.integers(0, 10**9))
def test_retry_after_in_milliseconds_is_preferred(wait_ms: int) -> None:
    error = with_headers(retry_after_ms=str(wait_ms), retry_after="99")
    assert wait_of(error) == pytest.approx(wait_ms / 1000)


@given(st.integers(-100_000, 100_000))
def test_retry_after_as_a_date_counts_from_now_and_not_back(ahead_s: int) -> None:
    date = datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=ahead_s)
    error = with_headers(retry_after=format_datetime(date, usegmt=True))
    assert wait_of(error) == pytest.approx(max(0, ahead_s))


@given(st.floats(0, 1e6))
def test_retry_info_of_google(wait_s: float) -> None:
    assert wait_of(with_retry_info(f"{wait_s:.3f}s")) == pytest.approx(wait_s, abs=0.001)


@given(st.sampled_from([400, 401, 403, 404]), st.floats(0, 1000))
def test_what_is_not_retried_has_no_wait(status: int, wait_s: float) -> None:
    assert wait_of(ProviderError(status_code=status, retry_after_s=wait_s)) is None


def is_a_wait(seconds: float | None) -> bool:
    """Whether somebody can sleep so long."""
    return seconds is None or 0 <= seconds < float("inf")


strange = st.text() | st.sampled_from(
    ["", "soon", "-1", "nan", "inf", "-inf", "1e999", "0x10", "Sun, 99 Foo 2026", "1 Jan 10000"]
)


@given(strange)
@example("Thu, 01 Jan 1970 00:00:00")
def test_garbage_in_retry_after_is_no_error_and_never_a_negative_or_endless_wait(
    value: str,
) -> None:
    assert is_a_wait(wait_of(with_headers(retry_after=value)))
    assert is_a_wait(wait_of(with_headers(retry_after_ms=value)))


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Thu, 01 Jan 2026 00:00:00 +99999999999999999999",
    ],
)
def test_date_beyond_the_calendar_in_retry_after_is_ignored(value: str) -> None:
    assert wait_of(with_headers(retry_after=value)) is None


details = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(strange, details)
def test_garbage_in_retry_info_is_no_error_and_never_a_negative_or_endless_wait(
    value: str, other: object
) -> None:
    assert is_a_wait(wait_of(with_retry_info(value)))
    assert is_a_wait(wait_of(with_retry_info(other)))
    assert is_a_wait(wait_of(ProviderError(code=429, details=other)))


@pytest.mark.parametrize("value", ["infs", "1e999s"])
def test_endless_retry_info_is_ignored(value: str) -> None:
    assert wait_of(with_retry_info(value)) is None


@pytest.mark.parametrize("value", ['ends with "retryDelay"', {(1, 2): "no JSON"}])
def test_details_that_only_look_like_retry_info_are_ignored(value: object) -> None:
    assert wait_of(ProviderError(code=429, details=value)) is None


@pytest.mark.parametrize("wait_s", [-3.0, float("inf"), float("nan")])
def test_negative_or_endless_wait_of_an_error_itself_is_not_passed_on(wait_s: float) -> None:
    assert is_a_wait(wait_of(ProviderError(status_code=503, retry_after_s=wait_s)))
