"""Steps of an orchestrated turn: failing, slow, cut off, and gone on with."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.genai.types import Content, Part

from oda.errors import NotConfiguredError
from oda.orchestration.state import STATE_KEY
from oda.session.oda_session import OdaSession
from oda.turn.submission import Submission
from tests.support.guided import APP, guide, steps_in
from tests.support.rehearsed_steps import rehearsal

PATIENCE_S = 20.0
DOWN = ConnectionError("the line is down")
ALL = ["clean-answer", "check-answer", "make-remark"]


@pytest.fixture
async def quiz(tmp_path: Path) -> AsyncIterator[OdaSession]:
    """A session in which a capital is asked for; without a model, as no step needs one."""
    rehearsal.clear()
    async with guide(tmp_path) as oda, asyncio.timeout(PATIENCE_S):
        session = await oda.sessions.create(APP)
        await session.ask("quiz")
        yield session


async def stored_steps(session: OdaSession) -> list[str]:
    return [name for name in steps_in(await session.history()) if name != "classify-intent"]


async def test_a_passing_failure_is_tried_again_within_the_step(quiz: OdaSession) -> None:
    rehearsal.failures["check-answer"] = [DOWN]
    reply = await quiz.ask("Paris")
    assert (reply.text, rehearsal.ran) == ("Right!", [ALL[0], ALL[1], ALL[1], ALL[2]])
    assert "RETRY_ATTEMPT" not in [event.error_code for event in reply.events]
    checked = reply.events[2].custom_metadata
    assert checked is not None
    assert checked["oda_step"] == {"name": "check-answer", "attempts": 2}


async def test_a_turn_goes_on_at_the_step_that_failed(quiz: OdaSession) -> None:
    rehearsal.failures["check-answer"] = [DOWN] * 4
    reply = await quiz.ask("Paris")
    assert reply.text == "Right!"
    codes = [event.error_code for event in reply.events if event.error_code]
    assert codes == ["RETRY_ATTEMPT"] * 2
    assert rehearsal.ran == [ALL[0], *[ALL[1]] * 5, ALL[2]]
    assert await stored_steps(quiz) == ALL
    messages = [event for event in await quiz.history() if event.author == "user"]
    assert len(messages) == 2


async def test_a_turn_that_gives_up_has_changed_nothing(quiz: OdaSession) -> None:
    before = quiz.state[STATE_KEY]
    rehearsal.failures["check-answer"] = [DOWN] * 8
    reply = await quiz.ask("Paris")
    assert (reply.status, (reply.error or {})["code"]) == ("failed", "connection")
    await quiz.refresh()
    assert quiz.state[STATE_KEY] == before
    assert (await quiz.ask("Paris")).text == "Right!"


async def test_a_failure_that_cannot_pass_ends_the_turn_at_once(quiz: OdaSession) -> None:
    rehearsal.failures["check-answer"] = [NotConfiguredError("no atlas", remedy="buy one")]
    reply = await quiz.ask("Paris")
    assert (reply.error or {})["code"] == "not_configured"
    assert rehearsal.ran == ALL[:2]


@pytest.mark.parametrize(
    ("failures", "attempts"), [([DOWN, DOWN], 2), ([KeyError("a mistake of ours")], 1)]
)
async def test_a_fallback_answers_for_a_step(
    quiz: OdaSession, failures: list[Exception], attempts: int
) -> None:
    rehearsal.failures["make-remark"] = list(failures)
    reply = await quiz.ask("Paris")
    assert reply.text == "(no remark)"
    assert steps_in(reply.events)[-1] == "make-remark!"
    assert rehearsal.ran.count("make-remark") == attempts


async def test_a_fallback_answers_for_a_step_that_takes_too_long(quiz: OdaSession) -> None:
    rehearsal.held["make-remark"] = asyncio.Event()
    reply = await quiz.ask("Paris")
    assert reply.text == "(no remark)"
    record = (reply.events[-2].custom_metadata or {})["oda_step"]
    assert record == {"name": "make-remark", "attempts": 1, "fell_back": "timeout"}
    assert rehearsal.at_once == 0


async def test_a_turn_can_be_cancelled_within_a_step(quiz: OdaSession) -> None:
    before = quiz.state[STATE_KEY]
    rehearsal.held["check-answer"] = asyncio.Event()
    asking = asyncio.create_task(quiz.ask("Paris"))
    await rehearsal.begun["check-answer"].wait()
    quiz.cancel()
    assert (await asking).status == "cancelled"
    assert rehearsal.at_once == 0
    await quiz.refresh()
    assert quiz.state[STATE_KEY] == before
    rehearsal.held.clear()
    rehearsal.ran.clear()
    assert (await quiz.ask("Paris")).text == "Right!"
    assert rehearsal.ran == ALL


async def test_a_message_waits_for_the_step_of_the_one_before(quiz: OdaSession) -> None:
    may_go_on = rehearsal.held["check-answer"] = asyncio.Event()
    first = asyncio.create_task(quiz.ask("Rome"))
    await rehearsal.begun["check-answer"].wait()
    second = asyncio.create_task(quiz.ask("Paris"))
    await asyncio.sleep(0)
    may_go_on.set()
    assert [(await first).text, (await second).text] == ["Wrong.", "Right!"]
    assert rehearsal.ran == ALL * 2


async def test_a_context_that_is_closed_within_a_step_leaves_the_turn_to_the_next(
    tmp_path: Path,
) -> None:
    rehearsal.clear()
    async with asyncio.timeout(PATIENCE_S):
        async with guide(tmp_path, turn={"grace_s": 0.0}) as oda:
            session = await oda.sessions.create(APP)
            await session.ask("quiz")
            rehearsal.held["check-answer"] = asyncio.Event()
            message = Content(role="user", parts=[Part(text="Paris")])
            accepted = await oda.turns.submit(session, Submission(message=message))
            await rehearsal.begun["check-answer"].wait()
        rehearsal.held.clear()
        async with guide(tmp_path) as oda:
            await oda.turns.recover()
            turn = await oda.turns.wait(accepted.turn.turn_id)
            assert (turn.status, turn.reply) == ("succeeded", "Right!")
            assert rehearsal.ran == [ALL[0], ALL[1], ALL[1], ALL[2]]
