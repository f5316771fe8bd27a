"""A user's day: what is left of it is given out once, however many processes ask at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

from oda.agent.day_budget import DayBudgets
from oda.agent.limits import Usage
from oda.agent.model.gate import ModelGate
from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.errors import DailyLimitError
from oda.settings import Settings
from oda.testing import FakeClock
from tests.support.turns import START, Node, became, new_turn, said

A_DAY_S = 86400.0
ONE = Usage(model_calls=1)
REQUEST = LlmRequest(contents=[Content(role="user", parts=[Part(text="x" * 400)])])
"""About 100 tokens, and 500 for the answer."""


def answer(tokens_in: int, tokens_out: int) -> LlmResponse:
    return LlmResponse(
        usage_metadata=GenerateContentResponseUsageMetadata(
            prompt_token_count=tokens_in, candidates_token_count=tokens_out
        )
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START.timestamp())


@pytest.fixture
async def databases(empty_database_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """One database as two processes have opened it."""
    async with open_database(empty_database_url) as one, open_database(empty_database_url) as other:
        await upgrade(one.engine)
        yield one, other


def days(database: Database, clock: FakeClock, **limits: Any) -> DayBudgets:
    return DayBudgets(database, Settings.load(day=limits), clock)


@asynccontextmanager
async def settled(database: Database) -> AsyncIterator[None]:
    """At the end all corrections are stored."""
    yield
    await database.journal.run(lambda connection: None)


async def test_calls_at_once_in_two_processes_get_what_is_left_and_no_more(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    nodes = [days(database, clock, model_calls=5) for database in databases]
    drawn = await asyncio.gather(
        *(nodes[n % 2].draw("u", nodes[0].today, ONE, bounded=True) for n in range(40))
    )
    assert sorted(drawn, key=str).count(None) == 5
    assert {one for one in drawn if one is not None} == {"5 model calls"}
    assert (await nodes[0].used("u")).model_calls == 5
    assert (await nodes[1].used("somebody else")).model_calls == 0


async def test_a_new_day_has_all_its_calls(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, model_calls=1)
    assert await budget.draw("u", budget.today, ONE, bounded=True) is None
    assert await budget.draw("u", budget.today, ONE, bounded=True) == "1 model calls"
    await clock.sleep(A_DAY_S)
    assert await budget.draw("u", budget.today, ONE, bounded=True) is None


async def test_an_answer_corrects_what_was_expected_of_it(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, tokens=1000)
    gate = ModelGate(budget, "u")
    async with settled(databases[0]):
        with await gate.enter("m", REQUEST) as call:
            assert await budget.used("u") == Usage(1, 100, 500, 0.0)
            call.note(answer(120, 30))
    assert await budget.used("u") == Usage(1, 120, 30, 0.0)


async def test_a_failed_call_counts_and_its_tokens_do_not(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, tokens=1000)
    async with settled(databases[0]):
        call = await ModelGate(budget, "u").enter("m", REQUEST)
        with pytest.raises(ConnectionError), call:
            raise ConnectionError
    assert await budget.used("u") == Usage(1, 0, 0, 0.0)


async def test_a_call_that_is_cut_off_stays_as_it_was_expected(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, tokens=1000)
    async with settled(databases[0]):
        call = await ModelGate(budget, "u").enter("m", REQUEST)
        with pytest.raises(asyncio.CancelledError), call:
            raise asyncio.CancelledError
    assert await budget.used("u") == Usage(1, 100, 500, 0.0)


async def test_calls_at_once_reserve_the_tokens_that_they_will_use(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, tokens=1000)
    calls = [ModelGate(budget, "u").enter("m", REQUEST) for _ in range(20)]
    passed = await asyncio.gather(*calls, return_exceptions=True)
    refused = [one for one in passed if isinstance(one, DailyLimitError)]
    assert len(refused) == 18, "600 and 600 more; the third finds 1200"
    assert 0 < refused[0].retry_after_s <= A_DAY_S


async def test_a_gate_without_bounds_counts_and_refuses_nothing(
    databases: tuple[Database, Database], clock: FakeClock
) -> None:
    budget = days(databases[0], clock, model_calls=1)
    gate = ModelGate(budget, "u", bounded=False)
    async with settled(databases[0]):
        for _ in range(3):
            with await gate.enter("m", REQUEST):
                pass
    assert (await budget.used("u")).model_calls == 3


@pytest.mark.parametrize("is_drawn", [False, True])
@pytest.mark.parametrize("ending", ["succeeded", "failed", "cancelled"])
async def test_a_turn_is_charged_at_its_end_unless_its_calls_were_drawn(
    databases: tuple[Database, Database], clock: FakeClock, ending: Any, is_drawn: bool
) -> None:
    node = Node(databases[0], "n")
    given = said("hello").model_copy(update={"is_drawn": is_drawn})
    turn = (await node.store.accept(new_turn(), given)).turn
    usage = turn.usage.model_copy(update={"model_calls": 3})
    running = (await node.begin(turn)).model_copy(update={"usage": usage})
    ended = became(running, ending)
    await node.change(ended)
    used = await days(databases[0], clock).used("u")
    assert used.model_calls == (0 if is_drawn else 3)
