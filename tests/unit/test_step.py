"""A step by itself: how often it is tried, when it is given up, and what stands in for it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from oda.agent.retry import RetryPolicy
from oda.errors import CircuitOpenError, NotConfiguredError
from oda.orchestration import Step, StepContext
from oda.orchestration.step import Outcome, step
from oda.testing import FakeClock

CONTEXT = StepContext(user_id="u", now=datetime(2026, 3, 10, tzinfo=UTC))
DOWN = ConnectionError("the line is down")


class Said(BaseModel):
    text: str


def stand_in(request: Said, context: StepContext, error: Exception) -> Said:
    return Said(text=f"instead of {request.text}: {error}")


def failing(*errors: Exception) -> Callable[[Said, StepContext], Awaitable[Said]]:
    """A step that fails in these ways, and then answers."""
    left = list(errors)

    async def run(request: Said, context: StepContext) -> Said:
        if left:
            raise left.pop(0)
        return request

    return run


async def hang(request: Said, context: StepContext) -> Said:
    await asyncio.Event().wait()
    raise AssertionError("nobody lets it go on")


def made(
    run: Callable[[Said, StepContext], Awaitable[Said]], **options: object
) -> Step[Said, Said]:
    options = {"clock": FakeClock(), "retry": RetryPolicy(max_retries=2), **options}
    return Step(name="repeat", request=Said, response=Said, run=run, **options)  # type: ignore[arg-type]


async def asked(one: Step[Said, Said]) -> Outcome[Said]:
    return await one(Said(text="hello"), CONTEXT)


async def test_a_passing_failure_is_tried_again_after_a_wait() -> None:
    clock = FakeClock()
    outcome = await asked(made(failing(DOWN, DOWN), clock=clock))
    assert (outcome.response.text, outcome.attempts, outcome.failure) == ("hello", 3, None)
    assert clock.sleeps == (1.0, 2.0)


async def test_the_last_failure_is_raised() -> None:
    with pytest.raises(ConnectionError, match="the line is down"):
        await asked(made(failing(DOWN, DOWN, DOWN)))


async def test_a_failure_that_cannot_pass_is_raised_at_once() -> None:
    clock = FakeClock()
    with pytest.raises(NotConfiguredError):
        await asked(made(failing(NotConfiguredError("no model")), clock=clock))
    assert clock.sleeps == ()


async def test_a_fallback_stands_in_and_why_is_known() -> None:
    outcome = await asked(made(failing(KeyError("x")), fallback=stand_in))
    assert outcome.response.text == "instead of hello: 'x'"
    assert (outcome.attempts, outcome.failure and outcome.failure.code) == (1, "programming_error")


async def test_a_step_that_takes_too_long_is_cut_off() -> None:
    with pytest.raises(TimeoutError, match=r"The step 'repeat' took longer than 0\.01 s\."):
        await asked(made(hang, timeout_s=0.01))
    outcome = await asked(made(hang, timeout_s=0.01, fallback=stand_in))
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.attempts) == ("timeout", 1)


async def test_a_wait_that_would_end_after_the_time_is_over_is_not_begun() -> None:
    clock = FakeClock()
    open_for_long = CircuitOpenError("left alone", retry_after_s=60)
    with pytest.raises(CircuitOpenError):
        await asked(made(failing(open_for_long), timeout_s=30, clock=clock))
    assert clock.sleeps == ()


async def test_a_library_that_hides_the_cut_does_not_get_a_second_try() -> None:
    runs: list[str] = []

    async def stubborn(request: Said, context: StepContext) -> Said:
        runs.append(request.text)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise DOWN from None
        raise AssertionError("nobody lets it go on")

    with pytest.raises(TimeoutError):
        await asked(made(stubborn, timeout_s=0.01))
    assert runs == ["hello"]


async def test_who_cancels_a_step_gets_no_fallback() -> None:
    task = asyncio.create_task(asked(made(hang, fallback=stand_in)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_step_is_made_of_a_function() -> None:
    @step("say-again", timeout_s=3)
    async def say_again(request: Said, context: StepContext) -> Said:
        """Say it again.

        And again.
        """
        return request

    assert (say_again.name, say_again.request, say_again.response) == ("say-again", Said, Said)
    assert (say_again.timeout_s, say_again.summary) == (3, "Say it again.")
