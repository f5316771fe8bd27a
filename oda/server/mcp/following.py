"""What comes of a turn, told to a client that waits for its end."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from google.adk.events import Event
from mcp.types import CallToolResult, InputRequiredResult, ResourceLink

from oda.server.mcp.artifacts import links_of
from oda.server.mcp.progress import told
from oda.server.mcp.questions import Question, question_of
from oda.server.mcp.results import result_of
from oda.server.mcp.visit import Begun, Visit
from oda.turn.record import Turn

_PATIENCE_S = 600.0
"""How long a person may think before the question itself becomes the result."""
_LOOK_EVERY_S = 0.2
_PREVIEW = 0.001
"""What a preview adds to the progress, which is the number of the entry before it."""


class Wire(Protocol):
    """The way back to a client while it waits."""

    async def progress(self, at: float, message: str) -> None:
        """Tell that something has happened."""
        ...

    async def elicit(self, turn: Turn, question: Question) -> bool:
        """Send a question to the client's user; False if there is no way to."""
        ...

    def handed_back(self, turn: Turn) -> InputRequiredResult | None:
        """Return the result by which a client asks its user; None where it does not so."""
        ...


async def outcome(visit: Visit, begun: Begun, wire: Wire) -> CallToolResult | InputRequiredResult:
    """Follow a turn to its end, and through its questions where the client can ask its user."""
    while True:
        turn, last, files = await _followed(visit, begun, wire)
        if turn.status != "waiting_input" or begun.dismissed:
            break
        if (handed_back := wire.handed_back(turn)) is not None:
            return handed_back
        question = question_of(turn.pending_input[0])
        if not await wire.elicit(turn, question):
            break
        if not await _is_answered(visit, turn.turn_id, question):
            turn = await visit.conversations.turn(turn.turn_id)
            break
        begun = Begun(turn.turn_id, after=last)
    return result_of(turn, await _links(visit, turn, files))


async def _followed(visit: Visit, begun: Begun, wire: Wire) -> tuple[Turn, int, Mapping[str, int]]:
    """Return a turn that has ended or waits, its last entry's number, and the files it has made."""
    files: dict[str, int] = {}
    follower = visit.oda.turns.follow(begun.turn_id, previews=True)
    at, shown = 0.0, float(begun.after)
    while not follower.ended:
        for entry in await follower.read():
            at = at + _PREVIEW if entry.number is None else float(entry.number)
            if isinstance(entry.data, Event):
                files.update(entry.data.actions.artifact_delta)
            if at > shown and (message := told(entry.data)):
                shown = at
                await wire.progress(at, message)
    turn = await visit.conversations.turn(begun.turn_id)
    return turn, follower.position, files


async def _is_answered(visit: Visit, turn_id: str, question: Question) -> bool:
    """Wait until a question is answered, on any node; False when it is dismissed or forgotten."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not visit.dismissed.pop((turn_id, question.id), False):
                turn = await visit.conversations.turn(turn_id)
                if question.id not in {asked["id"] for asked in turn.pending_input}:
                    return True
                await asyncio.sleep(_LOOK_EVERY_S)
    except TimeoutError:
        pass
    return False


async def _links(visit: Visit, turn: Turn, files: Mapping[str, int]) -> list[ResourceLink]:
    if not files:
        return []
    session = await visit.conversations.find(turn.session_id)
    return [] if session is None else await links_of(session, files)
