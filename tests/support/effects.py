"""Effects of the teller's tools, and checks that they match its calls."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from oda.cli.chaos.promises import Call, Fault, Response, World, calls_of, reports, responses_of


@dataclass(frozen=True)
class Effect:
    """One payment or booking."""

    tool: Literal["pay", "book"]
    amount: int
    key: str
    session_id: str


def faults_of_effects(world: World, effects: Sequence[Effect]) -> list[Fault]:
    """Return the breaches of the promise that tools run once."""
    return [*_effects_accounted_for(world, effects)]


def _effects_accounted_for(world: World, effects: Sequence[Effect]) -> Iterator[Fault]:
    runs = Counter(effect.key for effect in effects)
    for key, times in runs.items():
        tools = {effect.tool for effect in effects if effect.key == key}
        if tools == {"pay"} and times > 1:
            yield Fault("G5", f"the call {key} has paid {times} times")
    payments = Counter(
        (_turn_of(effect), effect.amount) for effect in effects if effect.tool == "pay"
    )
    for (turn_id, amount), times in payments.items():
        if times > 1:
            yield Fault("G5", f"{turn_id} has paid {amount} {times} times")
    bookings: dict[tuple[str, int], set[str]] = defaultdict(set)
    for effect in effects:
        if effect.tool == "book":
            bookings[_turn_of(effect), effect.amount].add(effect.key)
    for (turn_id, amount), keys in bookings.items():
        if len(keys) > 1:
            yield Fault("G5", f"{turn_id} has booked {amount} under several keys: {sorted(keys)}")
    calls = calls_of(world)
    responses = responses_of(world)
    for effect in effects:
        call = calls.get(effect.key)
        if call is None:
            yield Fault("G5", f"an effect of no call in the history: {effect}")
        elif (call.name, call.arguments.get("amount")) != (effect.tool, effect.amount):
            yield Fault("G5", f"{effect} is not what was called: {call}")
        elif not any(map(reports, responses[effect.key])):
            yield Fault("G5", f"an effect that nobody was told of: {effect}")
    for key, call in calls.items():
        told = [response for response in responses[key] if reports(response)]
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


def _worked(response: Response) -> bool:
    return "paid" in response.content or "booked" in response.content


def _turn_of(effect: Effect) -> str:
    return effect.key.partition(":")[0]
