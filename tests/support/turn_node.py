"""A node in a process of its own, which accepts turns and lives until it is killed.

As a program it takes a `Plan` as JSON, and prints the ids of the turns once the first one runs and
its message is stored.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from google.genai.types import Content, Part
from pydantic import BaseModel

from oda import OdaContext
from oda.turn.submission import Submission
from tests.support.cues import cues

REPOSITORY = Path(__file__).parents[2]
AGENTS = Path(__file__).parent / "turn_agents"
APP, USER = "actor", "u"
SILENT_S = 3.0


class Plan(BaseModel, frozen=True):
    """What is submitted, in this order; the first message is one to `hold`."""

    url: str
    directory: Path
    session_id: str
    messages: Sequence[str]


def node(
    url: str,
    directory: Path,
    *,
    agents: Path = AGENTS,
    turn: Mapping[str, Any] = {},
    **options: Any,
) -> OdaContext:
    """A context, not opened yet, that shares the database with others."""
    return OdaContext.from_settings(
        agents_dir=agents,
        data_dir=directory,
        config_dir=directory,
        database_url=url,
        turn={"silent_s": SILENT_S, "grace_s": 0.0, **turn},
        retry={"initial_delay_s": 0.01},
        **options,
    )


def submission(text: str, **options: Any) -> Submission:
    return Submission(message=Content(role="user", parts=[Part(text=text)]), **options)


@asynccontextmanager
async def killed_node(plan: Plan) -> AsyncIterator[list[str]]:
    """Run the plan in another process; kill it at the end. The ids of its turns."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        plan.model_dump_json(),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield json.loads(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


async def _live(plan: Plan) -> None:
    async with node(plan.url, plan.directory) as oda:
        session = await oda.sessions.get_or_create(APP, USER, plan.session_id)
        accepted = [await oda.turns.submit(session, submission(text)) for text in plan.messages]
        await cues.begun[plan.messages[0].split()[1]].wait()
        # The model is asked while the message is being stored; this comes after it.
        await oda.database.journal.run(lambda connection: None)
        print(json.dumps([one.turn.turn_id for one in accepted]), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_live(Plan.model_validate_json(sys.argv[1])))
