"""A scene that has its turn wait for the user: the answer comes to it in the same turn."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.genai.types import Content, Part

from oda import OdaContext, Turn
from oda.orchestration.state import STATE_KEY
from oda.testing import FakeClock
from oda.turn.submission import Submission
from tests.support.orders import fails, ran

AGENTS = Path(__file__).parents[1] / "support" / "agents_that_ask"


@pytest.fixture
async def oda(tmp_path: Path) -> AsyncIterator[OdaContext]:
    ran.clear()
    fails.clear()
    async with OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=tmp_path,
        config_dir=tmp_path,
        clock=FakeClock(start=1_800_000_000.0),
    ) as context:
        yield context


async def asked(oda: OdaContext, what: str) -> Turn:
    """A turn that waits."""
    session = await oda.sessions.get_or_create("orders", "u", "s")
    message = Content(role="user", parts=[Part(text=what)])
    turn = (await oda.turns.submit(session, Submission(message))).turn
    return await oda.turns.wait(turn.turn_id)


async def answered(oda: OdaContext, turn: Turn, answer: Any) -> Turn:
    await oda.turns.answer(turn.turn_id, [(turn.pending_input[0]["id"], None, answer)])
    return await oda.turns.wait(turn.turn_id)


async def test_the_answer_is_the_scenes_next_message_in_the_same_turn(oda: OdaContext) -> None:
    turn = await asked(oda, "tea")
    assert turn.status == "waiting_input"
    assert turn.pending_input[0]["name"] == "adk_request_input"
    assert turn.pending_input[0]["args"] == {"message": "Send it?", "payload": {"order": "tea"}}
    again = await answered(oda, turn, "no")
    assert again.status == "waiting_input"
    done = await answered(oda, again, {"yes": 1})
    assert (done.status, done.reply) == ("succeeded", 'Sent after {"yes": 1}: Taken.')
    assert ran == ["take tea", "take no", 'take {"yes": 1}', "send Taken."]
    session = await oda.sessions.get("orders", "u", "s")
    assert session.state[STATE_KEY]["version"] == 3


async def test_a_turn_that_fails_behind_the_answer_goes_on_at_the_step_that_failed(
    oda: OdaContext,
) -> None:
    turn = await asked(oda, "tea")
    fails.extend([ConnectionError("down")] * 3)
    done = await answered(oda, turn, "yes")
    assert (done.status, done.reply) == ("succeeded", "Sent after yes: Taken.")
    assert ran[:2] == ["take tea", "take yes"]
    assert set(ran[2:]) == {"send Taken."}
    assert done.attempts > 2


async def test_who_says_something_else_starts_a_turn(oda: OdaContext) -> None:
    first = await asked(oda, "tea")
    second = await asked(oda, "yes")
    assert (second.status, second.reply) == ("succeeded", "Sent after yes: Taken.")
    assert (await oda.turns.get(first.turn_id)).status == "waiting_input"
