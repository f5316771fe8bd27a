"""What a client sees of a turn, whichever way it is sent."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal

from oda.server.message_view import MessageView
from oda.turn.in_process import InProcessEngine
from oda.turn.log import Entry

View = Literal["events", "messages"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing that is told of a turn."""

    number: int | None
    """Of the entry in the turn's log; None for a `done` that is not in it, and for all but the
    last thing that is told of an entry."""
    kind: str
    json: bytes
    """A turn for `turn` and `done`, an ADK event for `event`, else a message of that type."""


async def turn_frames(
    turns: InProcessEngine, turn_id: str, after: int, view: View = "events"
) -> AsyncGenerator[Sequence[Frame], None]:
    """A turn's log from after the entry numbered `after`, at the reader's pace.

    It ends with `done`. When the turn waits for a person, it ends as well, with a `done` that has
    no number: it is not in the log, since the turn is not over.

    As messages, several things may be told of an entry, or nothing. A number means that all of
    its entry and of those before has been told, so reading on from it never begins inside an entry.

    Yields: what has come; nothing when nothing has come for the time of a heartbeat.
    """
    messages = MessageView() if view == "messages" else None
    follower = turns.follow(turn_id, 0 if messages else after)
    last: Entry | None = None
    while not follower.ended:
        entries = await follower.read()
        if entries:
            last = entries[-1]
        if messages is None:
            yield [Frame(entry.number, entry.kind, entry.json) for entry in entries]
        elif frames := [
            Frame(entry.number if told is group[-1] else None, *told)
            async for entry, group in messages.of(entries)
            for told in group
            if entry.number > after
        ]:
            yield frames
        elif not entries:
            yield ()
    if last is not None and last.kind == "turn":
        yield [Frame(None, "done", last.json)]
    elif last is None or last.kind != "done":
        turn = await turns.get(turn_id)
        if not turn.final:
            yield [Frame(None, "done", turn.model_dump_json().encode())]
