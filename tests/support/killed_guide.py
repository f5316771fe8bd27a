"""The orchestrator `guide` in a process of its own, which is killed within the second of its steps.

As a program it takes a directory, and prints a `Held` once the step has begun.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from google.genai.types import Content, Part
from pydantic import BaseModel

from oda import OdaContext
from oda.clock import SystemClock
from oda.turn.submission import Submission
from tests.support.guided import APP, guide
from tests.support.rehearsed_steps import rehearsal

REPOSITORY = Path(__file__).parents[2]
USER, SESSION, MESSAGE = "u", "s", "Paris"
HELD_STEP = "check-answer"


class Held(BaseModel, frozen=True):
    """Where the process has come to."""

    turn_id: str
    ran: list[str]
    """The steps that it has begun."""


def node(directory: Path) -> OdaContext:
    """A context, not opened yet, on the SQLite database in a directory."""
    return guide(directory, clock=SystemClock())


@asynccontextmanager
async def killed_within_a_step(directory: Path) -> AsyncIterator[Held]:
    """Run the guide in another process until the step is held; SIGKILL it at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(directory)),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield Held.model_validate_json(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


async def _live(directory: Path) -> None:
    rehearsal.held[HELD_STEP] = asyncio.Event()
    async with node(directory) as oda:
        session = await oda.sessions.get_or_create(APP, USER, SESSION)
        await session.ask("quiz")
        message = Content(role="user", parts=[Part(text=MESSAGE)])
        accepted = await oda.turns.submit(session, Submission(message=message))
        await rehearsal.begun[HELD_STEP].wait()
        held = Held(turn_id=accepted.turn.turn_id, ran=rehearsal.ran)
        print(held.model_dump_json(), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_live(Path(sys.argv[1])))
