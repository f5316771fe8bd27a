"""The promises that hold whatever fails, checked over the database and what clients saw.

Pure functions; each promise (G1 to G8) that is broken makes a `Fault`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple

FINAL = frozenset({"succeeded", "failed", "cancelled"})
WAITING = "waiting_input"
"""Status of a turn that asks a person; nobody answers in a drill."""
AT_REST = FINAL | {WAITING}
RECOVERED_WITHIN_S = 30.0

SessionName = tuple[str, str]
"""User id and session id; there is one app."""


@dataclass(frozen=True)
class Frame:
    """One numbered thing that a client was sent."""

    number: int
    kind: str
    data: Any


@dataclass
class View:
    """Frames that came through one connection."""

    after: int
    """The position that the client had asked to go on from."""
    frames: list[Frame] = field(default_factory=list)


@dataclass
class SentMessage:
    """One message of a client, and all that it saw of it, over its connections."""

    user_id: str
    session_id: str
    client: str
    """Name of its client, which sends one message after the other."""
    text: str
    key: str
    turn_ids: list[str] = field(default_factory=list)
    """As told by each accepted request; the same each time."""
    views: list[View] = field(default_factory=list)
    result: dict[str, Any] | None = None
    """The body of a plain answer."""
    refused: int | None = None
    """Status of a refusal that was final."""

    @property
    def session(self) -> SessionName:
        return self.user_id, self.session_id

    @property
    def frames(self) -> Iterator[Frame]:
        return (frame for view in self.views for frame in view.frames)

    @property
    def error(self) -> str | None:
        """Code and message of why the turn has failed, as far as the client knows."""
        ends = [frame.data for frame in self.frames if frame.kind == "done"]
        turn = self.result["turn"] if self.result else ends[0] if ends else {}
        error = turn.get("error")
        return f"{error['code']}: {error['message']}" if error else None

    @property
    def ended(self) -> bool:
        """Whether the client knows that the turn is at rest."""
        return self.result is not None or any(map(_is_last, self.frames))


def _is_last(frame: Frame) -> bool:
    return frame.kind == "done" or (frame.kind == "turn" and frame.data["status"] == WAITING)


@dataclass(frozen=True)
class StoredTurn:
    """A row of the table of turns."""

    turn_id: str
    user_id: str
    session_id: str
    position: int
    status: str
    reply: str
    created_at: float
    """Epoch seconds."""
    finished_at: float | None
    error: str | None = None
    """Code and message of why it failed."""

    @property
    def session(self) -> SessionName:
        return self.user_id, self.session_id


class Call(NamedTuple):
    """A call of a tool in a session's history."""

    id: str
    name: str
    arguments: dict[str, Any]


class Response(NamedTuple):
    """Result of a call in the history."""

    id: str
    content: dict[str, Any]


@dataclass(frozen=True)
class StoredEvent:
    """An event of a session's history, as the session service gives it."""

    event_id: str
    turn_id: str
    author: str
    text: str
    calls: Sequence[Call] = ()
    responses: Sequence[Response] = ()

    @property
    def is_message(self) -> bool:
        return self.author == "user" and bool(self.text) and not self.responses


@dataclass(frozen=True)
class LedgerCall:
    """A row of the table of tool calls."""

    turn_id: str
    tool: str
    idempotent: bool
    runs: int
    """How often the tool was started."""


@dataclass(frozen=True)
class World:
    """All that is known when everything has come to rest."""

    sent: Sequence[SentMessage]
    turns: Sequence[StoredTurn]
    entries: dict[str, Sequence[Frame]]
    """The stored log of each turn, in order."""
    histories: dict[SessionName, Sequence[StoredEvent]]
    ledger: Sequence[LedgerCall] = ()
    restarted_at: float = 0.0
    """Epoch seconds of the last restart or take-over; 0 for none."""


Promise = Literal["G1", "G2", "G3", "G4", "G5", "G7", "G8"]

PROMISES: dict[Promise, str] = {
    "G1": "an accepted message is stored exactly once",
    "G2": "an accepted turn ends, once",
    "G3": "what a client was sent is stored",
    "G4": "turns of a session run one at a time, in the order of their acceptance",
    "G5": "a tool runs once, or again if it is idempotent, and each call has one result",
    "G7": "one idempotency key makes one turn",
    "G8": "a stream that is read over several connections has no gap and no repetition",
}


@dataclass(frozen=True)
class Fault:
    """A broken promise."""

    promise: Promise
    text: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


def faults(world: World) -> list[Fault]:
    """Return all broken promises."""
    return [
        *_messages_stored_once(world),
        *_turns_end_once(world),
        *_what_was_sent_is_stored(world),
        *_turns_in_order(world),
        *_tools_run_once(world),
        *_same_key_same_turn(world),
        *_streams_without_gap(world),
    ]


# --- G1


def _messages_stored_once(world: World) -> Iterator[Fault]:
    for name, history in world.histories.items():
        stored = Counter(event.text for event in history if event.is_message)
        for text, times in stored.items():
            if times > 1:
                yield Fault("G1", f"{text!r} is stored {times} times in {name}")
        stored_by_turn = {event.turn_id for event in history if event.is_message}
        for turn in _turns_of(world, name):
            if turn.turn_id not in stored_by_turn and turn.status != "cancelled":
                ending = f"{turn.status}, {turn.error}" if turn.error else turn.status
                yield Fault("G1", f"the message of {turn.turn_id} ({ending}) is not stored")
    known = {turn.turn_id for turn in world.turns}
    for message in world.sent:
        found = [e for e in world.histories.get(message.session, ()) if e.text == message.text]
        for turn_id in message.turn_ids:
            if turn_id not in known:
                yield Fault("G1", f"{message.text!r} was accepted as {turn_id}, which is lost")
            elif any(event.is_message and event.turn_id != turn_id for event in found):
                yield Fault("G1", f"{message.text!r} is stored in another turn than {turn_id}")


# --- G2


def _turns_end_once(world: World) -> Iterator[Fault]:
    for turn in world.turns:
        entries = world.entries.get(turn.turn_id, ())
        done = [entry for entry in entries if entry.kind == "done"]
        if turn.status == WAITING and not done:
            continue
        if turn.status not in FINAL:
            yield Fault("G2", f"{turn.turn_id} is {turn.status}")
        if len(done) != 1:
            yield Fault("G2", f"{turn.turn_id} ends {len(done)} times")
        elif entries[-1] != done[0]:
            yield Fault("G2", f"{turn.turn_id} goes on after its end")
        elif done[0].data.get("status") != turn.status or done[0].data.get("reply") != turn.reply:
            yield Fault("G2", f"{turn.turn_id} is {turn.status}, its last event says otherwise")
        if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
            numbers = [entry.number for entry in entries]
            yield Fault("G2", f"the log of {turn.turn_id} is not numbered in order: {numbers}")
        took = (turn.finished_at or 0.0) - world.restarted_at
        if turn.created_at < world.restarted_at and took > RECOVERED_WITHIN_S:
            yield Fault("G2", f"{turn.turn_id} ended {took:.1f} s after the restart")
    for message in world.sent:
        if message.refused is None and not message.ended:
            yield Fault("G2", f"{message.client} was never told the end of {message.text!r}")


# --- G3


def _what_was_sent_is_stored(world: World) -> Iterator[Fault]:
    turns = {turn.turn_id: turn for turn in world.turns}
    for message in world.sent:
        turn_id = message.turn_ids[0] if message.turn_ids else ""
        stored = {entry.number: entry for entry in world.entries.get(turn_id, ())}
        for frame in message.frames:
            if stored.get(frame.number) != frame:
                yield Fault(
                    "G3",
                    f"{turn_id} sent {frame}, stored is {stored.get(frame.number)}",
                )
        in_history = {event.event_id for event in world.histories.get(message.session, ())}
        for frame in message.frames:
            if _is_answer(frame) and frame.data["id"] not in in_history:
                yield Fault("G3", f"{turn_id} sent an answer that is in no history: {frame}")
        turn = turns.get(turn_id)
        if message.result and turn and message.result["reply"] != turn.reply:
            yield Fault(
                "G3", f"{turn_id} sent {message.result['reply']!r}, stored is {turn.reply!r}"
            )


def _is_answer(frame: Frame) -> bool:
    return (
        frame.kind == "event"
        and not frame.data.get("partial")
        and not frame.data.get("errorCode")
        and frame.data.get("author") not in ("system", "user")
        and any(part.get("text") for part in (frame.data.get("content") or {}).get("parts") or ())
    )


# --- G4


def _turns_in_order(world: World) -> Iterator[Fault]:
    for name, history in world.histories.items():
        accepted = [turn.turn_id for turn in _turns_of(world, name)]
        spoken = [event for event in history if event.text or event.calls or event.responses]
        run = [turn_id for turn_id, _ in groupby(spoken, lambda event: event.turn_id)]
        if len(run) != len(set(run)):
            yield Fault("G4", f"turns of {name} are interleaved: {run}")
        elif run != [turn_id for turn_id in accepted if turn_id in run]:
            yield Fault("G4", f"turns of {name} ran as {run}, accepted were {accepted}")
        for turn_id, events in groupby(spoken, lambda event: event.turn_id):
            if not next(events).is_message:
                yield Fault("G4", f"{turn_id} does not begin with its message")
    yield from _clients_in_order(world)


def _clients_in_order(world: World) -> Iterator[Fault]:
    positions = {turn.turn_id: turn.position for turn in world.turns}
    sent: dict[tuple[SessionName, str], list[SentMessage]] = defaultdict(list)
    for message in world.sent:
        if message.turn_ids and message.turn_ids[0] in positions:
            sent[message.session, message.client].append(message)
    for (_, client), messages in sent.items():
        for earlier, later in pairwise(messages):
            if positions[earlier.turn_ids[0]] >= positions[later.turn_ids[0]]:
                yield Fault("G4", f"{client} sent {earlier.text!r} before {later.text!r}")


# --- G5


def _tools_run_once(world: World) -> Iterator[Fault]:
    for row in world.ledger:
        if row.runs > 1 and not row.idempotent:
            yield Fault("G5", f"{row.tool} of {row.turn_id} has run {row.runs} times")
    final = {turn.turn_id for turn in world.turns if turn.status in FINAL}
    responses = responses_of(world)
    for key, call in calls_of(world).items():
        told = [response for response in responses[key] if reports(response)]
        if key.partition(":")[0] in final and len(told) != 1:
            yield Fault("G5", f"{key} {call} has {len(told)} results: {responses[key]}")


def calls_of(world: World) -> dict[str, Call]:
    """Return all tool calls by `turn:call`, where a repetition replaces the call it repeats."""
    return {
        f"{event.turn_id}:{call.id.partition('~')[0]}": call
        for history in world.histories.values()
        for event in history
        for call in event.calls
    }


def responses_of(world: World) -> dict[str, list[Response]]:
    """Return all results by `turn:call`, in order."""
    responses: dict[str, list[Response]] = defaultdict(list)
    for history in world.histories.values():
        for event in history:
            for response in event.responses:
                responses[f"{event.turn_id}:{response.id.partition('~')[0]}"].append(response)
    return responses


def reports(response: Response) -> bool:
    """Whether a response is a result, or says that nobody knows; not that the call is repeated."""
    return response.content.get("status") != "repeated"


# --- G7


def _same_key_same_turn(world: World) -> Iterator[Fault]:
    by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
    for message in world.sent:
        by_key[message.user_id, message.key].update(message.turn_ids)
    for (_, key), turn_ids in by_key.items():
        if len(turn_ids) > 1:
            yield Fault("G7", f"the key {key} has made {sorted(turn_ids)}")
    known = set().union(*by_key.values())
    for turn in world.turns:
        if turn.turn_id not in known:
            yield Fault("G7", f"{turn.turn_id} belongs to no message of a client")


# --- G8


def _streams_without_gap(world: World) -> Iterator[Fault]:
    for message in world.sent:
        for view in message.views:
            numbers = [frame.number for frame in view.frames]
            if numbers != list(range(view.after + 1, view.after + 1 + len(numbers))):
                yield Fault("G8", f"{message.turn_ids} after {view.after} was sent as {numbers}")
            if any(frame.kind == "done" for frame in view.frames[:-1]):
                yield Fault("G8", f"{message.turn_ids} was sent on after its end")
        seen: dict[int, Frame] = {}
        for frame in message.frames:
            if seen.setdefault(frame.number, frame) != frame:
                yield Fault("G8", f"{message.turn_ids} sent {seen[frame.number]}, then {frame}")


def _turns_of(world: World, name: SessionName) -> list[StoredTurn]:
    """The turns of a session in the order of their acceptance."""
    turns: Iterable[StoredTurn] = (turn for turn in world.turns if turn.session == name)
    return sorted(turns, key=lambda turn: turn.position)
