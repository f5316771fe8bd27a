"""Whatever two nodes do and whenever they die: turns run alone, in order, and come to one end."""

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.errors import CancelRequestedError, ConflictError, OwnershipLostError
from oda.turn.record import Turn, TurnStatus
from tests.support.turns import (
    Node,
    assert_whole,
    became,
    log_of,
    new_turn,
    open_node,
    said,
)

T = TypeVar("T")

SESSIONS = ("s", "t")
ASKED = [{"id": "c", "name": "pay", "args": {}}]


@cache
def _empty() -> bytes:
    """A database with our tables, made once."""

    async def make(path: Path) -> None:
        async with open_database(f"sqlite:///{path}") as database:
            await upgrade(database.engine)

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "oda.db"
        asyncio.run(make(path))
        return path.read_bytes()


@dataclass(eq=False)
class Known:
    """What the model knows of a turn."""

    turn: Turn
    """As it was last stored."""
    place: int
    interrupts: bool
    owner: str | None
    recoveries: int = 0
    cancel: bool = False

    @property
    def status(self) -> TurnStatus:
        return self.turn.status

    @property
    def unfinished(self) -> bool:
        return self.status in ("queued", "running")

    def goes_before(self, other: "Known") -> bool:
        if self is other or not self.unfinished:
            return False
        if self.turn.session_id != other.turn.session_id:
            return False
        earlier = self.place < other.place
        return (
            self.status == "running"
            or (self.interrupts and (earlier or not other.interrupts))
            or (earlier and not other.interrupts)
        )


class TurnStoreMachine(RuleBasedStateMachine):
    """The model is a plain list of turns, and the names of the two nodes that live."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.directory = tempfile.TemporaryDirectory()
        self.turns: list[Known] = []
        self.lives = 0

    @initialize()
    def open(self) -> None:
        path = Path(self.directory.name) / "oda.db"
        path.write_bytes(_empty())
        self.url = f"sqlite:///{path}"
        self.nodes = [self.born(), self.born()]
        self.dead: list[Node] = []

    def born(self) -> Node:
        self.lives += 1
        node = open_node(self.url, f"node {self.lives}")
        return self.run(self.stack.enter_async_context(node))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(20):
                return await coroutine

        return self.runner.run(bounded())

    # --- what is there

    def alive(self, name: str | None) -> Node | None:
        return next((node for node in self.nodes if node.name == name), None)

    def those(self, *statuses: TurnStatus) -> list[Known]:
        return [one for one in self.turns if one.status in statuses]

    def owned(self, *statuses: TurnStatus) -> list[Known]:
        return [one for one in self.those(*statuses) if self.alive(one.owner)]

    def orphans(self) -> list[Known]:
        return [one for one in self.turns if one.unfinished and not self.alive(one.owner)]

    def last_place(self, session: str) -> int:
        places = [one.place for one in self.turns if one.turn.session_id == session]
        return max(places, default=0)

    def node_of(self, known: Known) -> Node:
        node = self.alive(known.owner)
        assert node is not None
        return node

    # --- what happens

    @rule(
        number=st.integers(0, 1),
        session=st.sampled_from(SESSIONS),
        interrupts=st.booleans(),
        at_once=st.booleans(),
    )
    def accept(self, number: int, session: str, interrupts: bool, at_once: bool) -> None:
        node, turn = self.nodes[number], new_turn(session)
        others = [one for one in self.turns if one.turn.session_id == session]
        start = became(turn, "running") if at_once else None
        stored = self.run(node.accept(turn, interrupts=interrupts, start=start))
        busy = any(one.unfinished for one in others)
        assert stored == (start if start and not busy else turn)
        if interrupts:
            for one in others:
                one.cancel = one.cancel or one.status == "running"
        self.turns.append(Known(stored, self.last_place(session) + 1, interrupts, node.name))

    @precondition(lambda self: self.owned("queued"))
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.owned("queued")))
        if known.cancel:
            with pytest.raises(CancelRequestedError):
                self.run(self.node_of(known).claim(known.turn))
            return
        free = not any(other.goes_before(known) for other in self.turns)
        assert self.run(self.node_of(known).claim(known.turn)) == free
        if free:
            known.turn = became(known.turn, "running")

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def claim_what_cannot_be_claimed(self, data: st.DataObject, number: int) -> None:
        node = self.nodes[number]
        known = data.draw(st.sampled_from(self.turns))
        if known.status == "queued" and known.owner == node.name:
            return
        with pytest.raises(OwnershipLostError):
            self.run(node.claim(known.turn))

    @precondition(lambda self: self.owned("running"))
    @rule(data=st.data(), texts=st.lists(st.text(max_size=3), min_size=1, max_size=3))
    def add(self, data: st.DataObject, texts: list[str]) -> None:
        known = data.draw(st.sampled_from(self.owned("running")))
        self.run(self.node_of(known).add(known.turn, *texts))

    @precondition(lambda self: self.owned("running"))
    @rule(data=st.data(), status=st.sampled_from(["succeeded", "failed", "cancelled"]))
    def finish(self, data: st.DataObject, status: TurnStatus) -> None:
        known = data.draw(st.sampled_from(self.owned("running")))
        known.turn = self.run(self.node_of(known).finish(known.turn, status))
        known.owner = None

    @precondition(lambda self: self.owned("queued"))
    @rule(data=st.data())
    def cancel_queued(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.owned("queued")))
        known.turn = self.run(self.node_of(known).finish(known.turn, "cancelled"))
        known.owner = None

    @precondition(lambda self: self.owned("running"))
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.owned("running")))
        asked = became(known.turn, "waiting_input", pending_input=ASKED)
        self.run(self.node_of(known).change(asked))
        known.turn, known.owner = asked, None

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def answer(self, data: st.DataObject, number: int) -> None:
        node = self.nodes[number]
        known = data.draw(st.sampled_from(self.those("waiting_input") or self.turns))
        queued = became(known.turn, "queued", pending_input=[])
        answering = node.store.answer(queued, said("yes"), begun=False)
        if known.status != "waiting_input":
            with pytest.raises(ConflictError):
                self.run(answering)
            return
        self.run(answering)
        known.place = self.last_place(known.turn.session_id) + 1
        known.turn, known.owner, known.interrupts = queued, node.name, False

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def end_waiting(self, data: st.DataObject, number: int) -> None:
        known = data.draw(st.sampled_from(self.those("waiting_input") or self.turns))
        ended = became(known.turn, "cancelled")
        waits = known.status == "waiting_input"
        assert self.run(self.nodes[number].store.end_waiting(ended)) == waits
        if waits:
            known.turn = ended

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def request_cancel(self, data: st.DataObject, number: int) -> None:
        known = data.draw(st.sampled_from(self.turns))
        self.run(self.nodes[number].store.request_cancel(known.turn.turn_id))
        known.cancel = True

    # --- lives and deaths

    @rule(number=st.integers(0, 1))
    def crash(self, number: int) -> None:
        """A node is not heard of any more; after a while its successor starts."""
        self.dead.append(self.nodes[number])
        self.run(self.nodes[number].fall_silent())
        self.nodes[number] = self.born()

    @rule(number=st.integers(0, 1))
    def stop(self, number: int) -> None:
        node = self.nodes[number]
        self.run(node.store.release())
        for one in self.turns:
            if one.owner == node.name:
                one.owner = None
        self.nodes[number] = self.born()

    @precondition(lambda self: any(one.unfinished for one in self.turns))
    @rule(data=st.data(), number=st.integers(0, 1))
    def adopt(self, data: st.DataObject, number: int) -> None:
        unfinished = [one for one in self.turns if one.unfinished]
        self.take_over(data.draw(st.sampled_from(self.orphans() or unfinished)), number)

    def take_over(self, known: Known, number: int) -> None:
        node = self.nodes[number]
        adopted = self.run(node.store.adopt(known.turn.turn_id))
        if known.owner != node.name and self.alive(known.owner):
            assert adopted is None
            return
        assert adopted is not None
        known.recoveries += known.status == "running" and known.owner is not None
        known.owner = node.name
        assert adopted.turn == known.turn
        assert (adopted.recoveries, adopted.cancel_requested) == (known.recoveries, known.cancel)

    @precondition(lambda self: self.dead and self.turns)
    @rule(data=st.data())
    def dead_node_wakes_up(self, data: st.DataObject) -> None:
        """It was only slow; what others have taken over it cannot touch."""
        node = data.draw(st.sampled_from(self.dead))
        lost = [one for one in self.turns if one.owner != node.name]
        if not lost:
            return
        known = data.draw(st.sampled_from(lost))
        with pytest.raises(OwnershipLostError):
            self.run(node.add(known.turn, "late"))
        with pytest.raises(OwnershipLostError):
            self.run(node.finish(known.turn))

    # --- what holds always

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        if not self.turns:
            return
        self.run(self._compare())

    async def _compare(self) -> None:
        store = self.nodes[0].store
        for session in SESSIONS:
            found, _ = await store.of_session(("app", "u", session), limit=1000)
            known = [one for one in self.turns if one.turn.session_id == session]
            known.sort(key=lambda one: -one.place)
            assert list(found) == [one.turn for one in known]
            assert sum(turn.status == "running" for turn in found) <= 1
        orphans = await store.orphans()
        assert set(orphans) == {one.turn.turn_id for one in self.orphans()}
        for node in self.nodes:
            wanted = {
                one.turn.turn_id
                for one in self.turns
                if one.unfinished and one.cancel and one.owner == node.name
            }
            assert set(await node.store.cancels_requested()) == wanted
        last = self.turns[-1].turn
        assert_whole(await log_of(self.nodes[0], last.turn_id), final=last.final)

    def teardown(self) -> None:
        """Whatever has happened, every turn can come to its end, in order."""
        try:
            self.end_all()
            for known in self.turns:
                entries = self.run(log_of(self.nodes[1], known.turn.turn_id))
                assert_whole(entries)
                assert entries[-1].data == known.turn
        finally:
            self.run(self.stack.aclose())
            self.runner.close()
            self.directory.cleanup()

    def end_all(self) -> None:
        for known in self.orphans():
            self.take_over(known, 0)
        for known in self.those("waiting_input"):
            known.turn = became(known.turn, "failed")
            assert self.run(self.nodes[0].store.end_waiting(known.turn))
        while unfinished := self.those("queued", "running"):
            known = _first(unfinished)
            node = self.node_of(known)
            if known.status == "queued" and not known.cancel:
                assert self.run(node.claim(known.turn))
                known.turn = became(known.turn, "running")
            known.turn = self.run(node.finish(known.turn))
            known.owner = None


def _first(unfinished: Sequence[Known]) -> Known:
    """One that nothing stands before."""
    running = (one for one in unfinished if one.status == "running")
    free = (one for one in unfinished if not any(o.goes_before(one) for o in unfinished))
    return next(running, None) or next(free)


TestTurnStore = TurnStoreMachine.TestCase
TestTurnStore.settings = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink would take minutes
    suppress_health_check=[HealthCheck.too_slow],
)
