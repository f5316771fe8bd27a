"""What happens when a turn, or a user's day, has used up its limits: stop, ask, a cheaper model."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from oda import OdaContext
from oda.database.schema import usage_days
from oda.errors import ConfigurationError, ConflictError, DailyLimitError
from oda.message.content import to_content
from oda.session.oda_session import OdaSession
from oda.settings import Settings
from oda.testing import ModelServer
from oda.testing.script import Call, Error, Step, Text, ToolCalls, Usage
from oda.turn.record import Turn
from oda.turn.submission import Submission

AGENT = """
from google.adk.agents import LlmAgent
from oda import configured_model

def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

root_agent = LlmAgent(name="adder", tools=[add], instruction="Add.", model=configured_model())
"""
ADD = ToolCalls(
    calls=(Call(name="add", args={"a": 1, "b": 2}),),
    usage=Usage(prompt_tokens=60, completion_tokens=5),
)
ANSWER = Text(text="3", usage=Usage(prompt_tokens=70, completion_tokens=5))
CALLS = "2 model calls"

Open = Callable[..., AbstractAsyncContextManager[tuple[OdaContext, ModelServer]]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def open_context(
        script: list[Step], **settings: Any
    ) -> AsyncIterator[tuple[OdaContext, ModelServer]]:
        folder = tmp_path / "agents" / "adder"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(AGENT)
        async with ModelServer(script) as model:
            given = {
                "agents_dir": tmp_path / "agents",
                "data_dir": tmp_path / "data",
                "config_dir": tmp_path / "config",
                "model": "openai/dear",
                "model_api_base": model.openai_base,
                "model_api_key": "k",
                **settings,
            }
            async with OdaContext(Settings.load(**given)) as oda:
                yield oda, model

    return open_context


async def say(oda: OdaContext, session: OdaSession) -> Turn:
    accepted = await oda.turns.submit(session, Submission(to_content("1 + 2?")))
    return await oda.turns.wait(accepted.turn.turn_id)


async def spend_the_day(oda: OdaContext, **used: float) -> None:
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    nothing = {"model_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
    values = {"user_id": "local", "day": day, "turns": 1, **nothing, **used}
    await oda.database.journal.run(lambda c: c.execute(insert(usage_days).values(**values)))


async def test_by_default_the_turn_stops(opened: Open) -> None:
    async with opened([ADD, ANSWER], turn={"model_calls": 1}) as (oda, model):
        turn = await say(oda, await oda.sessions.create("adder"))
        assert turn.status == "failed"
        assert turn.error is not None
        assert turn.error.code == "limit_exceeded"
        assert len(model.requests) == 1


async def test_a_person_grants_as_much_again_and_nothing_is_repeated(opened: Open) -> None:
    limits = {"model_calls": 1, "on_limit": "ask"}
    async with opened([ADD, ANSWER], turn=limits) as (oda, model):
        session = await oda.sessions.create("adder")
        waiting = await say(oda, session)
        assert waiting.status == "waiting_input"
        assert waiting.finished_at is None
        asked = waiting.pending_input[0]
        assert (asked["name"], asked["args"]["limit"]) == ("oda_request_limit", "1 model calls")

        await oda.turns.answer(waiting.turn_id, [(asked["id"], True, None)])
        turn = await oda.turns.wait(waiting.turn_id)
        assert (turn.status, turn.reply) == ("succeeded", "3")
        assert turn.usage.model_calls == 2
        assert len(model.requests) == 2
        history = await session.history()
        assert sum(event.author == "user" for event in history) == 1
        assert sum(len(event.get_function_calls()) for event in history) == 1
        _, events = await oda.turns.result(turn.turn_id)
        assert b"NON_RETRYABLE_ERROR" not in b"".join(events)


async def test_a_person_refuses_and_the_turn_fails(opened: Open) -> None:
    limits = {"model_calls": 1, "on_limit": "ask"}
    async with opened([ADD, ANSWER], turn=limits) as (oda, _):
        waiting = await say(oda, await oda.sessions.create("adder"))
        question_id = waiting.pending_input[0]["id"]
        await oda.turns.answer(waiting.turn_id, [(question_id, False, None)])
        turn = await oda.turns.get(waiting.turn_id)
        assert turn.status == "failed"
        assert turn.error is not None
        assert turn.error.code == "limit_exceeded"
        with pytest.raises(ConflictError):
            await oda.turns.answer(waiting.turn_id, [(question_id, True, None)])


async def test_a_grant_survives_a_restart(opened: Open) -> None:
    limits = {"model_calls": 1, "on_limit": "ask"}
    async with opened([ADD], turn=limits) as (oda, _):
        waiting = await say(oda, await oda.sessions.create("adder"))
    async with opened([ANSWER], turn=limits) as (oda, _):
        asked = waiting.pending_input[0]
        await oda.turns.answer(waiting.turn_id, [(asked["id"], True, None)])
        turn = await oda.turns.wait(waiting.turn_id)
        assert (turn.status, turn.reply) == ("succeeded", "3")


async def test_a_cheaper_model_goes_on_with_as_much_again(opened: Open) -> None:
    limits = {"model_calls": 1, "on_limit": "cheaper", "cheaper_model": "openai/cheap"}
    async with opened([ADD, ADD, ANSWER], turn=limits) as (oda, model):
        turn = await say(oda, await oda.sessions.create("adder"))
        assert [request.model for request in model.requests] == ["dear", "cheap"]
        assert turn.status == "failed", "the third call is one too many"


async def test_cheaper_needs_to_know_the_model() -> None:
    with pytest.raises(ConfigurationError, match="CHEAPER_MODEL"):
        Settings.load(turn={"on_limit": "cheaper"})


async def test_a_day_that_is_used_up_refuses_until_tomorrow(opened: Open) -> None:
    async with opened([ANSWER], day={"tokens": 100}) as (oda, _):
        await spend_the_day(oda, input_tokens=90, output_tokens=10)
        session = await oda.sessions.create("adder")
        with pytest.raises(DailyLimitError) as refused:
            await say(oda, session)
        assert 0 < refused.value.retry_after_s <= 86400
        other = await oda.sessions.create("adder", "somebody")
        assert (await say(oda, other)).status == "succeeded"


async def test_what_is_left_of_the_day_limits_the_turn(opened: Open) -> None:
    async with opened([ADD, ANSWER], day={"tokens": 100}) as (oda, _):
        await spend_the_day(oda, input_tokens=50)
        turn = await say(oda, await oda.sessions.create("adder"))
        assert turn.status == "failed"
        assert turn.usage.input_tokens == 60


async def test_a_finished_turn_is_charged_to_the_day(opened: Open) -> None:
    async with opened([ADD, ANSWER, ANSWER], day={"model_calls": 2}) as (oda, _):
        session = await oda.sessions.create("adder")
        assert (await say(oda, session)).status == "succeeded"
        with pytest.raises(DailyLimitError, match=CALLS):
            await say(oda, session)


async def test_after_the_day_is_used_up_a_person_is_asked_first(opened: Open) -> None:
    async with opened([ANSWER], day={"model_calls": 2, "on_limit": "ask"}) as (oda, model):
        await spend_the_day(oda, model_calls=2)
        session = await oda.sessions.create("adder")
        waiting = await say(oda, session)
        assert waiting.status == "waiting_input"
        assert not model.requests
        assert not await session.history()
        asked = waiting.pending_input[0]
        await oda.turns.answer(waiting.turn_id, [(asked["id"], True, None)])
        assert (await oda.turns.wait(waiting.turn_id)).reply == "3"


async def test_after_the_day_is_used_up_the_cheaper_model_answers(opened: Open) -> None:
    async with opened(
        [ANSWER],
        day={"model_calls": 2, "on_limit": "cheaper"},
        turn={"cheaper_model": "openai/cheap"},
    ) as (oda, model):
        await spend_the_day(oda, model_calls=2)
        turn = await say(oda, await oda.sessions.create("adder"))
        assert turn.status == "succeeded"
        assert [request.model for request in model.requests] == ["cheap"]


async def test_turns_that_begin_at_once_share_what_is_left_of_the_day(opened: Open) -> None:
    async with opened([ANSWER] * 24, day={"model_calls": 2}) as (oda, model):
        sessions = [await oda.sessions.create("adder") for _ in range(24)]
        ended = await asyncio.gather(
            *(say(oda, session) for session in sessions), return_exceptions=True
        )
        assert len(model.requests) == 2
        ends = Counter(
            one.error.code if one.error else one.status for one in ended if isinstance(one, Turn)
        )
        refused = sum(isinstance(one, DailyLimitError) for one in ended)
        assert ends["succeeded"] == 2
        assert ends["daily_limit"] + refused == 22
        assert (await oda.days.used("local")).model_calls == 2


async def test_a_day_that_ends_within_a_turn_ends_the_turn(opened: Open) -> None:
    async with opened([ADD, ANSWER], day={"model_calls": 1}) as (oda, model):
        turn = await say(oda, await oda.sessions.create("adder"))
        assert len(model.requests) == 1
        assert turn.status == "failed"
        assert turn.error is not None
        assert turn.error.code == "daily_limit"
        assert "1 model calls a day" in turn.error.message
        assert not turn.error.retryable
        assert turn.usage.model_calls == 1


async def test_a_day_that_ends_within_a_turn_is_asked_about(opened: Open) -> None:
    async with opened([ADD, ANSWER], day={"model_calls": 1, "on_limit": "ask"}) as (oda, model):
        session = await oda.sessions.create("adder")
        waiting = await say(oda, session)
        assert waiting.status == "waiting_input"
        asked = waiting.pending_input[0]
        assert (asked["args"]["limit"], asked["args"]["period"]) == ("1 model calls a day", "day")
        assert asked["args"]["used"]["model_calls"] == 1
        assert len(model.requests) == 1
        await oda.turns.answer(waiting.turn_id, [(asked["id"], True, None)])
        turn = await oda.turns.wait(waiting.turn_id)
        assert (turn.status, turn.reply) == ("succeeded", "3")
        assert len(model.requests) == 2
        await oda.database.journal.run(lambda connection: None)
        assert (await oda.days.used("local")).model_calls == 2


async def test_a_day_that_ends_within_a_turn_leaves_the_rest_to_the_cheaper_model(
    opened: Open,
) -> None:
    async with opened(
        [ADD, ADD, ANSWER],
        day={"model_calls": 1, "on_limit": "cheaper"},
        turn={"cheaper_model": "openai/cheap"},
    ) as (oda, model):
        turn = await say(oda, await oda.sessions.create("adder"))
        assert turn.status == "succeeded"
        assert [request.model for request in model.requests] == ["dear", "cheap", "cheap"]


async def test_failed_calls_are_drawn_too(opened: Open) -> None:
    script = [Error(status=503), Error(status=503), ANSWER]
    retry = {"initial_delay_s": 0.0}
    async with opened(script, day={"model_calls": 2}, retry=retry) as (oda, model):
        turn = await say(oda, await oda.sessions.create("adder"))
        assert len(model.requests) == 2
        assert turn.error is not None
        assert turn.error.code == "daily_limit"


async def test_the_use_of_a_turn_is_added_to_its_day_once(opened: Open) -> None:
    for limits in ({}, {"tokens": 10_000}):
        async with opened([ADD, ANSWER], day=limits) as (oda, _):
            before = await oda.days.used("local")
            turn = await say(oda, await oda.sessions.create("adder"))
            await oda.database.journal.run(lambda connection: None)
            used = await oda.days.used("local")
            assert used.model_calls - before.model_calls == turn.usage.model_calls == 2
            assert used.input_tokens - before.input_tokens == turn.usage.input_tokens == 130
            assert used.output_tokens - before.output_tokens == turn.usage.output_tokens == 10
