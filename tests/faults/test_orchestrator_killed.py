"""An orchestrated turn whose process is killed within its second step, on SQLite."""

import asyncio
from pathlib import Path

from oda.orchestration.state import STATE_KEY
from tests.support.guided import APP, steps_in
from tests.support.killed_guide import MESSAGE, SESSION, USER, killed_within_a_step, node
from tests.support.rehearsed_steps import rehearsal
from tests.support.transcript import transcript


async def test_the_next_start_goes_on_at_the_step_that_was_killed(tmp_path: Path) -> None:
    rehearsal.clear()
    async with asyncio.timeout(90):
        async with killed_within_a_step(tmp_path) as held:
            assert held.ran == ["clean-answer", "check-answer"]
        async with node(tmp_path) as oda:
            await oda.turns.recover()
            turn = await oda.turns.wait(held.turn_id)
            assert (turn.status, turn.reply, turn.attempts) == ("succeeded", "Right!", 2)
            assert rehearsal.ran == ["check-answer", "make-remark"]
            session = await oda.sessions.get(APP, USER, SESSION)
            events = await session.history()
            assert transcript(events) == [
                "user: quiz",
                "guide: What is the capital of France?",
                f"user: {MESSAGE}",
                "guide: Right!",
            ]
            assert steps_in(events)[1:] == ["clean-answer", "check-answer", "make-remark"]
            assert session.state[STATE_KEY]["version"] == 2
            assert (await session.ask("quiz")).ok
