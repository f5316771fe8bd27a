"""State machine of two processes that share the turn store and may die at any time.

Only the latest run of a turn writes, in the order of its log, and every turn can come to one end.
"""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.errors import ConflictError, OwnershipLostError
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
    position: int
    interrupts: bool
    run: int = 0
    """Number of its latest run."""
    runner: str | None = None
    """The process that runs it, or has died with it."""
    recoveries: int = 0
    cancel: bool = False

    @property
    def turn_id(self) -> str:
        return self.turn.turn_id

    @property
    def status(self) -> TurnStatus:
        return self.turn.status

    @property
    def unfinished(self) -> bool:
        return self.status in ("queued", "running")

    @property
    def order(self) -> tuple[bool, bool, int]:
        """The first of a session's unfinished turns is the one that runs next."""
        return self.status != "running", not self.interrupts, self.position


class TurnStoreMachine(RuleBasedStateMachine):
    """The model is a plain list of turns.

    The store leaves it to its callers in which order turns run, so any is taken here.
    """

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
        """Processes that live, before all that have died."""

    def born(self) -> Node:
        self.lives += 1
        node = open_node(self.url, f"process {self.lives}")
        return self.run(self.stack.enter_async_context(node))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(20):
                return await coroutine

        return self.runner.run(bounded())

    # --- what is there

    def those(self, *statuses: TurnStatus) -> list[Known]:
        return [one for one in self.turns if one.status in statuses]

    def unfinished_in(self, session: str) -> list[Known]:
        """In order."""
        mine = (one for one in self.turns if one.turn.session_id == session and one.unfinished)
        return sorted(mine, key=lambda one: one.order)

    def next_position(self, session: str) -> int:
        mine = (one.position for one in self.turns if one.turn.session_id == session)
        return max(mine, default=0) + 1

    def any_turn(self, data: st.DataObject, *preferred: TurnStatus) -> Known:
        """A turn of one of these statuses, or now and then any other."""
        some = self.those(*preferred)
        others = [one for one in self.turns if one not in some]
        return data.draw(st.sampled_from([*some, *some, *others]))

    def runs(self, node: Node, known: Known) -> bool:
        """Whether the process has the latest run of the turn, and the turn has not ended."""
        return known.status == "running" and node.runs.get(known.turn_id) == known.run

    def writer(self, data: st.DataObject, known: Known) -> Node:
        """A process that has the latest run of the turn, or now and then any other."""
        right = [node for node in self.nodes if self.runs(node, known)]
        return data.draw(st.sampled_from([*right, *right, *self.nodes]))

    def write(self, node: Node, known: Known, turn: Turn) -> None:
        """Store a new record, which only the latest run can."""
        if not self.runs(node, known):
            with pytest.raises(OwnershipLostError):
                self.run(node.change(turn))
            return
        self.run(node.change(turn))
        known.turn = turn
        if turn.ended:
            known.runner = None

    # --- what happens

    @rule(
        number=st.integers(0, 1),
        session=st.sampled_from(SESSIONS),
        interrupts=st.booleans(),
        starts=st.booleans(),
    )
    def accept(self, number: int, session: str, interrupts: bool, starts: bool) -> None:
        node, turn = self.nodes[number], new_turn(session)
        on_busy = "interrupt" if interrupts else "queue"
        stored = self.run(node.accept(turn, on_busy=on_busy, starts=starts))
        before = self.unfinished_in(session)
        begins = starts and not before
        assert stored == (became(turn, "running") if begins else turn)
        if interrupts and before:
            before[0].cancel = True
        known = Known(stored, self.next_position(session), interrupts)
        if begins:
            known.run, known.runner = 1, node.name
        self.turns.append(known)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def take(self, data: st.DataObject, number: int) -> None:
        self.begin_run(self.any_turn(data, "queued", "running"), self.nodes[number])

    def begin_run(self, known: Known, node: Node) -> None:
        taken = self.run(node.take(known.turn))
        if not known.unfinished:
            assert taken is None
            return
        assert taken is not None
        was_running = known.status == "running"
        if was_running or not known.cancel:
            known.recoveries += was_running and known.runner is not None
            known.run, known.runner = known.run + 1, node.name
            known.turn = known.turn if was_running else became(known.turn, "running")
        assert (taken.stored.turn, taken.was_running) == (known.turn, was_running)
        stored = self.run(node.store.stored(known.turn_id))
        may_be_stored = stored.message_may_be_stored if was_running else False
        assert taken.stored == replace(stored, message_may_be_stored=may_be_stored)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), texts=st.lists(st.text(max_size=3), min_size=1, max_size=3))
    def add(self, data: st.DataObject, texts: list[str]) -> None:
        known = self.any_turn(data, "running")
        node = self.writer(data, known)
        if self.runs(node, known):
            self.run(node.add(known.turn, *texts))
            return
        with pytest.raises(OwnershipLostError):
            self.run(node.add(known.turn, *texts))

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), status=st.sampled_from(["succeeded", "failed", "cancelled"]))
    def finish(self, data: st.DataObject, status: TurnStatus) -> None:
        known = self.any_turn(data, "running")
        self.write(self.writer(data, known), known, became(known.turn, status))

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        known = self.any_turn(data, "running")
        asked = became(known.turn, "waiting_input", pending_input=ASKED)
        self.write(self.writer(data, known), known, asked)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        known = self.any_turn(data, "running")
        node = self.writer(data, known)
        self.run(node.release(known.turn))
        if self.runs(node, known):
            known.runner = None

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def answer(self, data: st.DataObject, number: int) -> None:
        known = self.any_turn(data, "waiting_input")
        queued = became(known.turn, "queued", pending_input=[])
        store = self.nodes[number].store
        answering = store.answer(queued, said("yes"), message_may_be_stored=False)
        if known.status != "waiting_input":
            with pytest.raises(ConflictError):
                self.run(answering)
            return
        self.run(answering)
        known.position = self.next_position(known.turn.session_id)
        known.turn, known.interrupts = queued, False

    @precondition(lambda self: self.turns)
    @rule(
        data=st.data(),
        number=st.integers(0, 1),
        before=st.sampled_from(["queued", "waiting_input"]),
    )
    def end_idle(self, data: st.DataObject, number: int, before: TurnStatus) -> None:
        known = self.any_turn(data, before)
        ended = became(known.turn, "cancelled")
        last = self.run(self.nodes[number].store.end(ended, before=before))
        assert (last is not None) == (known.status == before)
        if last is not None:
            known.turn = ended

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), number=st.integers(0, 1))
    def request_cancel(self, data: st.DataObject, number: int) -> None:
        known = self.any_turn(data, "queued", "running")
        self.run(self.nodes[number].store.request_cancel(known.turn_id))
        known.cancel = True

    @rule(number=st.integers(0, 1))
    def crash(self, number: int) -> None:
        """A process seems to have died, and its successor starts; it may only have been slow."""
        self.nodes.append(self.nodes[number])
        self.nodes[number] = self.born()

    # --- what holds always

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        if self.turns:
            self.run(self._compare())

    async def _compare(self) -> None:
        store = self.nodes[0].store
        for session in SESSIONS:
            found, _ = await store.of_session(("app", "u", session), limit=1000)
            known = [one for one in self.turns if one.turn.session_id == session]
            known.sort(key=lambda one: -one.position)
            assert list(found) == [one.turn for one in known]
            unfinished = await store.unfinished(("app", "u", session))
            assert list(unfinished) == [one.turn_id for one in self.unfinished_in(session)]
        cancelled = {one.turn_id for one in self.turns if one.unfinished and one.cancel}
        assert set(await store.cancels_requested()) == cancelled
        last = self.turns[-1]
        stored = await store.stored(last.turn_id)
        assert (stored.run, stored.recoveries, stored.cancel_requested) == (
            last.run,
            last.recoveries,
            last.cancel,
        )
        entries = await log_of(self.nodes[0], last.turn_id)
        assert_whole(entries, final=last.turn.final)
        assert len(entries) == stored.last

    def teardown(self) -> None:
        """Bring every turn to its end, which must still be possible."""
        try:
            for known in self.turns:
                self.end(known)
                entries = self.run(log_of(self.nodes[1], known.turn_id))
                assert_whole(entries)
                assert entries[-1].data == known.turn
        finally:
            self.run(self.stack.aclose())
            self.runner.close()
            self.directory.cleanup()

    def end(self, known: Known) -> None:
        node = self.nodes[0]
        if known.unfinished:
            self.begin_run(known, node)
        if known.status == "running":
            self.write(node, known, became(known.turn, "succeeded"))
        elif not known.turn.final:
            ended = became(known.turn, "failed")
            assert self.run(node.store.end(ended, before=known.status))
            known.turn = ended


TestTurnStore = TurnStoreMachine.TestCase
TestTurnStore.settings = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink would take minutes
    suppress_health_check=[HealthCheck.too_slow],
)
