"""Conversations with the `companion`, in an `OdaContext` or through any Runner."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.runners import Runner
from google.genai.types import Content, Part

from oda import OdaContext
from oda.clock import Clock
from oda.message.reply import Reply
from oda.testing import FakeClock, ModelServer

AGENTS = Path(__file__).parents[2] / "agents"
APP = "companion"
CHILD = "child"
PATIENCE_S = 60.0


def companion(
    directory: Path,
    *,
    model: ModelServer | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> OdaContext:
    """A context, not opened yet, with SQLite in a directory and no waits between attempts."""
    if model is not None:
        options |= {"model": "gemini-stub", "model_api_base": model.url}
    return OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=directory,
        config_dir=directory,
        clock=clock or FakeClock(start=1_800_000_000.0),
        **options,
    )


class Answers:
    """What a client gets of the turns of a conversation."""

    def __init__(self, responses: Sequence[Mapping[str, Any]]) -> None:
        self.responses = responses

    @property
    def places(self) -> list[str]:
        """Where each turn has ended: `scene/phase`."""
        return [f"{one['scene']}/{one['phase']}" for one in self.responses]

    @property
    def texts(self) -> list[str]:
        return [one["content"]["text"] for one in self.responses]

    @property
    def first_lines(self) -> list[str]:
        """Of each text; a session's first reply goes on with the note that grown-ups read along."""
        return [text.partition("\n")[0] for text in self.texts]

    @property
    def last(self) -> Mapping[str, Any]:
        return self.responses[-1]

    @property
    def card(self) -> Mapping[str, Any]:
        """The content of the last turn, which is a card."""
        content: Mapping[str, Any] = self.last["content"]
        assert content["type"] == "card", content
        return content


async def ask(session: Any, *messages: str) -> Answers:
    """Say something in a session of a context, one message after the other."""
    return Answers([response(await session.ask(message)) for message in messages])


async def run(runner: Runner, session_id: str, *messages: str) -> Answers:
    """The same through a Runner."""
    responses = []
    for message in messages:
        content = Content(role="user", parts=[Part(text=message)])
        async with asyncio.timeout(PATIENCE_S):
            events = [
                event
                async for event in runner.run_async(
                    user_id=CHILD, session_id=session_id, new_message=content
                )
            ]
        responses.append(_told(events))
    return Answers(responses)


def response(reply: Reply) -> Mapping[str, Any]:
    """What a client gets of a turn that has not failed."""
    assert reply.ok, reply.error
    return _told(reply.events)


def steps_in(events: Sequence[Event]) -> list[str]:
    """The steps whose results are among events, in order, with `!` where a fallback answered."""
    records = [(event.custom_metadata or {}).get("oda_step") for event in events]
    return [f"{one['name']}{'!' * ('fell_back' in one)}" for one in records if one]


def _told(events: Sequence[Event]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (events[-1].custom_metadata or {})["oda_response"]
    return found
