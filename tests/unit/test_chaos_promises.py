"""The checks of `oda chaos` and of the fault tests find each planted fault, and none elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from oda.cli.chaos.promises import (
    Call,
    Fault,
    Frame,
    LedgerCall,
    Response,
    SentMessage,
    StoredEvent,
    StoredTurn,
    View,
    World,
    faults,
)
from tests.support.effects import Effect, faults_of_effects

USER, SESSION = "ann", "s1"
RESTARTED_AT = 1000.0


def done(turn_id: str, reply: str, number: int) -> Frame:
    return Frame(number, "done", {"turn_id": turn_id, "status": "succeeded", "reply": reply})


def answer(event_id: str, reply: str, number: int) -> Frame:
    data = {"id": event_id, "author": "teller", "content": {"parts": [{"text": reply}]}}
    return Frame(number, "event", data)


def log(turn_id: str, reply: str) -> list[Frame]:
    return [
        Frame(1, "turn", {"turn_id": turn_id, "status": "queued"}),
        Frame(2, "turn", {"turn_id": turn_id, "status": "running"}),
        answer(f"{turn_id}-answer", reply, 3),
        done(turn_id, reply, 4),
    ]


def turn(turn_id: str, position: int, reply: str) -> StoredTurn:
    created_at, finished_at = RESTARTED_AT - 1, RESTARTED_AT + 1
    return StoredTurn(turn_id, USER, SESSION, position, "succeeded", reply, created_at, finished_at)


def talk(turn_id: str, message: str, *views: View) -> SentMessage:
    return SentMessage(
        USER, SESSION, "client", message, f"key of {turn_id}", [turn_id], list(views)
    )


@dataclass
class Story:
    """A session with two turns: one that pays and books, and one that only answers."""

    turns: list[StoredTurn] = field(
        default_factory=lambda: [turn("t1", 1, "Done"), turn("t2", 2, "Hello")]
    )
    entries: dict[str, list[Frame]] = field(
        default_factory=lambda: {"t1": log("t1", "Done"), "t2": log("t2", "Hello")}
    )
    sent: list[SentMessage] = field(
        default_factory=lambda: [
            talk(
                "t1",
                "pay 7 and book 3",
                View(0, log("t1", "Done")[:2]),
                View(2, log("t1", "Done")[2:]),
            ),
            talk("t2", "hello", View(0, log("t2", "Hello"))),
        ]
    )
    history: list[StoredEvent] = field(
        default_factory=lambda: [
            StoredEvent("t1-message", "t1", "user", "pay 7 and book 3"),
            StoredEvent(
                "t1-calls",
                "t1",
                "teller",
                "",
                [Call("c1", "pay", {"amount": 7}), Call("c2", "book", {"amount": 3})],
            ),
            StoredEvent(
                "t1-repeated", "t1", "teller", "", [], [_response("c2", status="repeated")]
            ),
            StoredEvent("t1-again", "t1", "teller", "", [Call("c2~2", "book", {"amount": 3})]),
            StoredEvent(
                "t1-results",
                "t1",
                "teller",
                "",
                [],
                [_response("c1", paid=7), _response("c2~2", booked=3)],
            ),
            StoredEvent("t1-answer", "t1", "teller", "Done"),
            StoredEvent("t2-message", "t2", "user", "hello"),
            StoredEvent("t2-answer", "t2", "teller", "Hello"),
        ]
    )
    effects: list[Effect] = field(
        default_factory=lambda: [
            Effect("pay", 7, "t1:c1", SESSION),
            Effect("book", 3, "t1:c2", SESSION),
            Effect("book", 3, "t1:c2", SESSION),
        ]
    )

    ledger: list[LedgerCall] = field(
        default_factory=lambda: [
            LedgerCall("t1", "pay", idempotent=False, runs=1),
            LedgerCall("t1", "book", idempotent=True, runs=2),
        ]
    )

    def faults(self) -> list[Fault]:
        """Return the breaches found in the store and in the effects."""
        return [*faults(self.world()), *faults_of_effects(self.world(), self.effects)]

    def world(self) -> World:
        return World(
            self.sent,
            self.turns,
            dict(self.entries),
            {(USER, SESSION): self.history},
            self.ledger,
            RESTARTED_AT,
        )

    def event(self, event_id: str) -> int:
        return next(i for i, event in enumerate(self.history) if event.event_id == event_id)

    def answered(self, event_id: str, *responses: Response) -> None:
        index = self.event(event_id)
        self.history[index] = replace(self.history[index], responses=list(responses))


def _response(call_id: str, **content: Any) -> Response:
    return Response(call_id, content)


Plant = Callable[[Story], object]

PLANTS: dict[str, tuple[str, Plant]] = {}


def plants(promise: str) -> Callable[[Plant], Plant]:
    def keep(plant: Plant) -> Plant:
        PLANTS[plant.__name__] = promise, plant
        return plant

    return keep


@plants("G1")
def a_message_is_stored_twice(story: Story) -> None:
    story.history.insert(1, replace(story.history[0], event_id="again"))


@plants("G1")
def a_message_is_stored_in_a_second_turn_too(story: Story) -> None:
    story.history.append(StoredEvent("again", "t3", "user", "hello"))


@plants("G1")
def a_message_is_lost(story: Story) -> None:
    del story.history[story.event("t2-message")]


@plants("G1")
def an_accepted_turn_is_lost(story: Story) -> None:
    story.sent.append(talk("t3", "bye", View(0, log("t3", "Bye"))))


@plants("G2")
def a_turn_is_left_running(story: Story) -> None:
    story.turns[1] = replace(story.turns[1], status="running")


@plants("G2")
def a_turn_ends_twice(story: Story) -> None:
    story.entries["t2"].append(done("t2", "Hello", 5))


@plants("G2")
def a_turn_has_no_last_event(story: Story) -> None:
    story.entries["t2"].pop()


@plants("G2")
def a_turn_goes_on_after_its_end(story: Story) -> None:
    story.entries["t2"].append(Frame(5, "turn", {"status": "running"}))


@plants("G2")
def the_record_and_the_last_event_disagree(story: Story) -> None:
    story.turns[1] = replace(story.turns[1], status="failed")


@plants("G2")
def a_log_has_a_gap(story: Story) -> None:
    del story.entries["t2"][1]


@plants("G2")
def a_turn_ends_late(story: Story) -> None:
    story.turns[1] = replace(story.turns[1], finished_at=RESTARTED_AT + 31)


def test_a_turn_that_came_after_the_restart_may_take_its_time() -> None:
    story = Story()
    created_at, finished_at = RESTARTED_AT + 5, RESTARTED_AT + 60
    story.turns[1] = replace(story.turns[1], created_at=created_at, finished_at=finished_at)
    assert story.faults() == []


@plants("G2")
def a_client_is_never_told_the_end(story: Story) -> None:
    story.sent[1].views[0].frames.pop()


@plants("G3")
def what_was_sent_is_not_stored(story: Story) -> None:
    story.entries["t2"] = [*log("t2", "Hello")[:2], done("t2", "Hello", 3)]


@plants("G3")
def an_answer_that_was_sent_is_in_no_history(story: Story) -> None:
    index = story.event("t2-answer")
    story.history[index] = replace(story.history[index], event_id="another")


@plants("G3")
def a_plain_reply_is_not_the_stored_one(story: Story) -> None:
    story.sent[1].result = {"reply": "Good day"}


@plants("G4")
def turns_are_interleaved(story: Story) -> None:
    story.history.insert(story.event("t1-answer"), story.history.pop(story.event("t2-message")))


@plants("G4")
def turns_run_in_another_order_than_accepted(story: Story) -> None:
    cut = story.event("t2-message")
    story.history = story.history[cut:] + story.history[:cut]


@plants("G4")
def a_turn_begins_before_its_message(story: Story) -> None:
    story.history.append(story.history.pop(story.event("t2-message")))


@plants("G4")
def one_client_is_accepted_in_another_order_than_it_spoke(story: Story) -> None:
    story.sent.reverse()


@plants("G5")
def a_payment_is_repeated(story: Story) -> None:
    story.effects.append(story.effects[0])


@plants("G5")
def a_payment_is_repeated_by_another_call(story: Story) -> None:
    story.history[1] = replace(
        story.history[1], calls=[*story.history[1].calls, Call("c9", "pay", {"amount": 7})]
    )
    story.answered("t1-results", *story.history[4].responses, _response("c9", paid=7))
    story.effects.append(Effect("pay", 7, "t1:c9", SESSION))


@plants("G5")
def the_ledger_has_started_a_payment_twice(story: Story) -> None:
    story.ledger[0] = replace(story.ledger[0], runs=2)


@plants("G5")
def an_effect_is_never_reported(story: Story) -> None:
    story.answered("t1-results", _response("c2~2", booked=3))


@plants("G5")
def an_effect_is_only_called_repeated(story: Story) -> None:
    story.answered("t1-results", _response("c1", paid=7))


@plants("G5")
def an_effect_has_no_call(story: Story) -> None:
    story.effects.append(Effect("pay", 9, "t1:c8", SESSION))


@plants("G5")
def a_call_has_two_results(story: Story) -> None:
    story.answered(
        "t1-results", *story.history[4].responses, _response("c1", status="outcome_unknown")
    )


@plants("G5")
def a_result_is_invented(story: Story) -> None:
    del story.effects[0]


@plants("G5")
def a_booking_is_given_up(story: Story) -> None:
    story.answered(
        "t1-results", _response("c1", paid=7), _response("c2~2", status="outcome_unknown")
    )


@plants("G5")
def a_booking_is_repeated_under_another_key(story: Story) -> None:
    story.effects[2] = replace(story.effects[2], key="t1:c1")


@plants("G7")
def a_key_makes_two_turns(story: Story) -> None:
    story.sent[1].turn_ids.append("t1")


@plants("G7")
def a_turn_comes_from_nobody(story: Story) -> None:
    story.turns.append(turn("t3", 3, "Hello"))


@plants("G8")
def a_stream_repeats_what_was_seen(story: Story) -> None:
    story.sent[0].views[1] = View(2, log("t1", "Done")[1:])


@plants("G8")
def a_stream_leaves_something_out(story: Story) -> None:
    story.sent[0].views[1] = View(2, log("t1", "Done")[3:])


@plants("G8")
def a_number_stands_for_two_things(story: Story) -> None:
    story.sent[0].views[0].frames.append(answer("t1-other", "Dane", 3))


@plants("G8")
def a_stream_goes_on_after_its_end(story: Story) -> None:
    story.sent[1].views[0].frames.append(Frame(5, "turn", {}))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert Story().faults() == []


def test_an_unknown_outcome_is_a_report() -> None:
    story = Story()
    story.answered(
        "t1-results", _response("c1", status="outcome_unknown"), _response("c2~2", booked=3)
    )
    assert story.faults() == []
    del story.effects[0]
    assert story.faults() == []


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_found(name: str) -> None:
    promise, plant = PLANTS[name]
    story = Story()
    plant(story)
    assert promise in {fault.promise for fault in story.faults()}


def test_a_turn_that_asks_a_person_is_at_rest_and_its_call_has_no_result_yet() -> None:
    story = Story()
    asked = Frame(3, "turn", {"turn_id": "t1", "status": "waiting_input"})
    story.turns[0] = replace(story.turns[0], status="waiting_input", reply="", finished_at=None)
    story.entries["t1"] = [*log("t1", "")[:2], asked]
    story.sent[0].views[1] = View(2, [asked])
    del story.history[story.event("t1-answer")]
    story.answered("t1-results", _response("c2~2", booked=3))
    assert story.sent[0].ended
    assert faults(story.world()) == []
