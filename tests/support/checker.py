"""What must hold after any fault, checked over the database, what clients saw, and side effects.

Pure functions; each promise of the specification (G1 to G8) that is broken makes a `Fault`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple

FINAL = frozenset({"succeeded", "failed", "cancelled"})
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
    """What came through one connection."""

    after: int
    """The position that the client had asked to go on from."""
    frames: list[Frame] = field(default_factory=list)


@dataclass
class Talk:
    """One message of a client, and all that it saw of it, over its connections."""

    user_id: str
    session_id: str
    client: str
    """Who said it; one client says one thing after the other."""
    message: str
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
    def ended(self) -> bool:
        """Whether the client knows the end."""
        return self.result is not None or any(frame.kind == "done" for frame in self.frames)


@dataclass(frozen=True)
class StoredTurn:
    """A row of the table of turns."""

    turn_id: str
    user_id: str
    session_id: str
    position: int
    status: str
    reply: str
    finished_at: float | None
    """Epoch seconds."""
    error: str | None = None
    """Code and message of why it failed."""

    @property
    def session(self) -> SessionName:
        return self.user_id, self.session_id


class Call(NamedTuple):
    """A call of a tool in a session's history."""

    id: str
    name: str
    amount: int


class Response(NamedTuple):
    """What the history says of a call."""

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
class Effect:
    """What a tool has done in the world, once."""

    tool: Literal["pay", "book"]
    amount: int
    key: str
    session_id: str


@dataclass(frozen=True)
class World:
    """All that is known when everything has come to rest."""

    talks: Sequence[Talk]
    turns: Sequence[StoredTurn]
    entries: dict[str, Sequence[Frame]]
    """The stored log of each turn, in order."""
    histories: dict[SessionName, Sequence[StoredEvent]]
    effects: Sequence[Effect]
    restarted_at: float | None = None
    """Epoch seconds of the last restart or take-over."""


@dataclass(frozen=True)
class Fault:
    """A broken promise."""

    promise: Literal["G1", "G2", "G3", "G4", "G5", "G7", "G8"]
    text: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


def faults(world: World) -> list[Fault]:
    """All broken promises; none is what the tests ask for."""
    return [
        *_messages_stored_once(world),
        *_turns_end_once(world),
        *_what_was_sent_is_stored(world),
        *_turns_in_order(world),
        *_effects_accounted_for(world),
        *_same_key_same_turn(world),
        *_streams_without_gap(world),
    ]


# --- G1


def _messages_stored_once(world: World) -> Iterator[Fault]:
    for name, history in world.histories.items():
        stored = Counter(event.text for event in history if event.is_message)
        for message, times in stored.items():
            if times > 1:
                yield Fault("G1", f"{message!r} is stored {times} times in {name}")
        stored_by_turn = {event.turn_id for event in history if event.is_message}
        for turn in _turns_of(world, name):
            if turn.turn_id not in stored_by_turn and turn.status != "cancelled":
                ending = f"{turn.status}, {turn.error}" if turn.error else turn.status
                yield Fault("G1", f"the message of {turn.turn_id} ({ending}) is not stored")
    for talk in world.talks:
        said = [e for e in world.histories.get(talk.session, ()) if e.text == talk.message]
        for turn_id in talk.turn_ids:
            if turn_id not in {turn.turn_id for turn in world.turns}:
                yield Fault("G1", f"{talk.message!r} was accepted as {turn_id}, which is lost")
            elif any(event.is_message and event.turn_id != turn_id for event in said):
                yield Fault("G1", f"{talk.message!r} is stored in another turn than {turn_id}")


# --- G2


def _turns_end_once(world: World) -> Iterator[Fault]:
    for turn in world.turns:
        entries = world.entries.get(turn.turn_id, ())
        done = [entry for entry in entries if entry.kind == "done"]
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
        if world.restarted_at is not None and turn.finished_at is not None:
            took = turn.finished_at - world.restarted_at
            if took > RECOVERED_WITHIN_S:
                yield Fault("G2", f"{turn.turn_id} ended {took:.1f} s after the restart")
    for talk in world.talks:
        if talk.refused is None and not talk.ended:
            yield Fault("G2", f"{talk.client} was never told the end of {talk.message!r}")


# --- G3


def _what_was_sent_is_stored(world: World) -> Iterator[Fault]:
    turns = {turn.turn_id: turn for turn in world.turns}
    for talk in world.talks:
        turn_id = talk.turn_ids[0] if talk.turn_ids else ""
        stored = {entry.number: entry for entry in world.entries.get(turn_id, ())}
        for frame in talk.frames:
            if stored.get(frame.number) != frame:
                yield Fault(
                    "G3",
                    f"{turn_id} sent {frame}, stored is {stored.get(frame.number)}",
                )
        in_history = {event.event_id for event in world.histories.get(talk.session, ())}
        for frame in talk.frames:
            if _is_answer(frame) and frame.data["id"] not in in_history:
                yield Fault("G3", f"{turn_id} sent an answer that is in no history: {frame}")
        turn = turns.get(turn_id)
        if talk.result and turn and talk.result["reply"] != turn.reply:
            yield Fault("G3", f"{turn_id} sent {talk.result['reply']!r}, stored is {turn.reply!r}")


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
        said = [event for event in history if event.text or event.calls or event.responses]
        run = [turn_id for turn_id, _ in groupby(said, lambda event: event.turn_id)]
        if len(run) != len(set(run)):
            yield Fault("G4", f"turns of {name} are interleaved: {run}")
        elif run != [turn_id for turn_id in accepted if turn_id in run]:
            yield Fault("G4", f"turns of {name} ran as {run}, accepted were {accepted}")
        for turn_id, events in groupby(said, lambda event: event.turn_id):
            if not next(events).is_message:
                yield Fault("G4", f"{turn_id} does not begin with its message")
    yield from _clients_in_order(world)


def _clients_in_order(world: World) -> Iterator[Fault]:
    positions = {turn.turn_id: turn.position for turn in world.turns}
    talks: dict[tuple[SessionName, str], list[Talk]] = defaultdict(list)
    for talk in world.talks:
        if talk.turn_ids and talk.turn_ids[0] in positions:
            talks[talk.session, talk.client].append(talk)
    for (_, client), said in talks.items():
        for earlier, later in pairwise(said):
            if positions[earlier.turn_ids[0]] >= positions[later.turn_ids[0]]:
                yield Fault("G4", f"{client} said {earlier.message!r} before {later.message!r}")


# --- G5


def _effects_accounted_for(world: World) -> Iterator[Fault]:
    runs = Counter(effect.key for effect in world.effects)
    for key, times in runs.items():
        tools = {effect.tool for effect in world.effects if effect.key == key}
        if tools == {"pay"} and times > 1:
            yield Fault("G5", f"the call {key} has paid {times} times")
    payments = Counter(
        (_turn_of(effect), effect.amount) for effect in world.effects if effect.tool == "pay"
    )
    for (turn_id, amount), times in payments.items():
        if times > 1:
            yield Fault("G5", f"{turn_id} has paid {amount} {times} times")
    bookings: dict[tuple[str, int], set[str]] = defaultdict(set)
    for effect in world.effects:
        if effect.tool == "book":
            bookings[_turn_of(effect), effect.amount].add(effect.key)
    for (turn_id, amount), keys in bookings.items():
        if len(keys) > 1:
            yield Fault("G5", f"{turn_id} has booked {amount} under several keys: {sorted(keys)}")
    calls = {
        f"{event.turn_id}:{call.id.partition('~')[0]}": call
        for history in world.histories.values()
        for event in history
        for call in event.calls
    }
    responses = _responses(world)
    for effect in world.effects:
        call = calls.get(effect.key)
        if call is None:
            yield Fault("G5", f"an effect of no call in the history: {effect}")
        elif (call.name, call.amount) != (effect.tool, effect.amount):
            yield Fault("G5", f"{effect} is not what was called: {call}")
        elif not any(map(_reports, responses[effect.key])):
            yield Fault("G5", f"an effect that nobody was told of: {effect}")
    for key, call in calls.items():
        told = [response for response in responses[key] if _reports(response)]
        if len(told) != 1:
            yield Fault("G5", f"{key} {call} has {len(told)} results: {responses[key]}")
        elif _worked(told[0]) and runs[key] < 1:
            yield Fault("G5", f"{key} {call} has a result, but no effect")
    yield from _unfinished_bookings(world, calls, responses)


def _unfinished_bookings(
    world: World, calls: dict[str, Call], responses: dict[str, list[Response]]
) -> Iterator[Fault]:
    succeeded = {turn.turn_id for turn in world.turns if turn.status == "succeeded"}
    for key, call in calls.items():
        finished = key.partition(":")[0] in succeeded
        if call.name == "book" and finished and not any(map(_worked, responses[key])):
            yield Fault("G5", f"{key} {call} is idempotent, and has not been made")


def _responses(world: World) -> dict[str, list[Response]]:
    responses: dict[str, list[Response]] = defaultdict(list)
    for history in world.histories.values():
        for event in history:
            for response in event.responses:
                responses[f"{event.turn_id}:{response.id.partition('~')[0]}"].append(response)
    return responses


def _worked(response: Response) -> bool:
    return "paid" in response.content or "booked" in response.content


def _reports(response: Response) -> bool:
    """Whether a response is a result, or says that nobody knows; not that the call is repeated."""
    return response.content.get("status") != "repeated"


def _turn_of(effect: Effect) -> str:
    return effect.key.partition(":")[0]


# --- G7


def _same_key_same_turn(world: World) -> Iterator[Fault]:
    by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
    for talk in world.talks:
        by_key[talk.user_id, talk.key].update(talk.turn_ids)
    for (_, key), turn_ids in by_key.items():
        if len(turn_ids) > 1:
            yield Fault("G7", f"the key {key} has made {sorted(turn_ids)}")
    known = set().union(*by_key.values())
    for turn in world.turns:
        if turn.turn_id not in known:
            yield Fault("G7", f"{turn.turn_id} belongs to no message of a client")


# --- G8


def _streams_without_gap(world: World) -> Iterator[Fault]:
    for talk in world.talks:
        for view in talk.views:
            numbers = [frame.number for frame in view.frames]
            if numbers != list(range(view.after + 1, view.after + 1 + len(numbers))):
                yield Fault("G8", f"{talk.turn_ids} after {view.after} was sent as {numbers}")
            if any(frame.kind == "done" for frame in view.frames[:-1]):
                yield Fault("G8", f"{talk.turn_ids} was sent on after its end")
        seen: dict[int, Frame] = {}
        for frame in talk.frames:
            if seen.setdefault(frame.number, frame) != frame:
                yield Fault("G8", f"{talk.turn_ids} sent {seen[frame.number]}, then {frame}")


def _turns_of(world: World, name: SessionName) -> list[StoredTurn]:
    """The turns of a session in the order of their acceptance."""
    turns: Iterable[StoredTurn] = (turn for turn in world.turns if turn.session == name)
    return sorted(turns, key=lambda turn: turn.position)
