"""The client's view of a turn, independent of the transport."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal

from oda.server.message_view import MessageView
from oda.turn.engine import TurnEngine
from oda.turn.log import Entry, Preview

View = Literal["events", "messages"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One item sent to a client of a turn."""

    number: int | None
    """Number of the entry in the turn's log. None for previews, for a `done` that is not in the
    log, and for all but the last frame of an entry.
    """
    kind: str
    json: bytes
    """A turn for `turn` and `done`, an ADK event for `event`, else a message of that type."""


async def turn_frames(
    turns: TurnEngine,
    turn_id: str,
    after: int,
    view: View = "events",
    *,
    previews: bool = True,
) -> AsyncGenerator[Sequence[Frame], None]:
    """Yield a turn's log after the entry numbered `after`, at the reader's pace.

    The log ends with `done`. When the turn waits for a person, the frames also end with a `done`,
    but without a number: it is not in the log, since the turn is not over.

    In the view `messages`, an entry may lead to several frames or none. A number means that all
    frames of its entry, and of those before it, have been sent, so resuming from it never begins
    inside an entry. Previews have no number; a reader who joins in the middle of a text gets all of
    it so far as one preview.

    Yields:
        The frames that have arrived; an empty batch is a heartbeat.
    """
    messages = MessageView() if view == "messages" else None
    follower = turns.follow(turn_id, 0 if messages else after, previews=previews)
    last: Entry | Preview | None = None
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
            if entry.number is None or entry.number > after
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
