"""A drill: clients talk to an app while its processes are killed and what they need is cut off."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle
from random import Random

from oda.cli.chaos.crash_points import OF_AGENTS, POINTS
from oda.cli.chaos.patient_client import FORMS, PatientClient
from oda.cli.chaos.place import Place
from oda.cli.chaos.processes import Server, children, command_of
from oda.cli.chaos.promises import Fault, Frame, SentMessage
from oda.cli.chaos.relay import Relay

_MESSAGES_TO_A_POINT = 3
"""Messages of each client after which a point counts as one that the app does not come to."""
_LOOK_AGAIN_S = 0.05
_SECONDS_OF_LIFE = (0.0, 0.6)
"""Time to a random kill after the first event that a client has read."""
_HEARD_WITHIN_S = 60.0
_SILENCE_S = 2.0


@dataclass(frozen=True)
class Plan:
    """Messages to send, and number of kills."""

    texts: Sequence[str]
    """Messages, sent in turn; each gets an ending of its own."""
    kills: int
    seed: int
    sessions: int = 4
    clients_of_each: int = 2


@dataclass(frozen=True)
class Phase:
    """Result of one kind of fault."""

    name: str
    times: int
    """How often it was done."""
    messages: int
    errors: Mapping[str, int]
    """Errors with which turns have failed, which breaks no promise, and how many have."""
    seconds: float
    broken: Sequence[Fault]
    note: str = ""


class Drill:
    """Runs the phases of a plan at a place whose processes have been started.

    Args:
        model: The relay in front of the model, if it can be cut off.
        database: The same for the database.
        mcp: Commands of MCP servers that run as children of the processes.
    """

    def __init__(
        self,
        place: Place,
        plan: Plan,
        *,
        model: Relay | None = None,
        database: Relay | None = None,
        mcp: Sequence[str] = (),
    ) -> None:
        self._place = place
        self._plan = plan
        self._relays = {"model": model, "database": database}
        self._mcp = mcp
        self._random = Random(plan.seed)
        self._heard = asyncio.Event()
        self._numbers = count(1)
        self._clients = plan.sessions * plan.clients_of_each
        self._restarted_at = 0.0

    async def run(self) -> AsyncIterator[Phase]:
        """Run the phases and yield their results; stop if promises are broken without any fault."""
        first = await self._phase("no fault", self._calm)
        yield first
        if first.broken:
            return
        yield await self._phase("killed at commits", self._kill_at_points)
        yield await self._phase("killed at random", self._kill_at_random)
        for name, relay in self._relays.items():
            if relay is not None:
                yield await self._phase(f"{name} cut off", partial(self._cut, relay))
                yield await self._phase(f"{name} silent", partial(self._silence, relay))
        if self._mcp:
            yield await self._phase("MCP servers killed", self._kill_mcp_servers)

    async def _phase(self, name: str, work: Callable[[], Awaitable[tuple[int, str]]]) -> Phase:
        """Have clients talk while something is done, and check what is known at its end."""
        before = {id(message) for message in self._messages}
        began = time.monotonic()
        times, note = 0, ""
        silent: list[Fault] = []
        async with self._talking():
            try:
                times, note = await work()
            except TimeoutError:
                silent = [Fault("G2", f"no client heard of an event for {_HEARD_WITHIN_S:g} s")]
        broken = silent + await self._place.broken_promises(since=self._restarted_at)
        sent = [message for message in self._messages if id(message) not in before]
        errors = dict(Counter(message.error for message in sent if message.error))
        seconds = round(time.monotonic() - began, 1)
        return Phase(name, times, len(sent), errors, seconds, broken, note)

    @asynccontextmanager
    async def _talking(self) -> AsyncIterator[None]:
        enough = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for session in range(self._plan.sessions):
                for _ in range(self._plan.clients_of_each):
                    client = self._place.client(f"s{session}", user_id=f"user{session}")
                    random = Random(self._random.random())
                    group.create_task(self._talk(client, random, enough))
            yield
            enough.set()

    async def _talk(self, client: PatientClient, random: Random, enough: asyncio.Event) -> None:
        async def note(frame: Frame) -> None:
            if frame.kind in ("event", "done"):
                self._heard.set()

        await client.open_session()
        texts = cycle(self._plan.texts)
        while True:
            text = f"{next(texts)} ({next(self._numbers)})"
            await client.send(text, form=random.choice(FORMS), on_frame=note)
            if enough.is_set():
                return

    # --- faults

    async def _calm(self) -> tuple[int, str]:
        await self._hear()
        return 0, ""

    async def _kill_at_points(self) -> tuple[int, str]:
        reached, missed = 0, []
        for point in POINTS:
            if point in OF_AGENTS:
                continue
            self._place.arm(point)
            await self._armed_for_long_enough()
            if self._place.disarm():
                missed.append(point)
                continue
            reached += 1
            await self._start_again(await self._exited())
        return reached, f"not reached: {', '.join(missed)}" if missed else ""

    async def _kill_at_random(self) -> tuple[int, str]:
        for _ in range(self._plan.kills):
            await self._hear()
            await asyncio.sleep(self._random.uniform(*_SECONDS_OF_LIFE))
            process = self._random.choice(self._place.processes)
            await process.kill()
            await self._start_again(process)
        return self._plan.kills, ""

    async def _cut(self, relay: Relay) -> tuple[int, str]:
        times = 5
        for _ in range(times):
            await self._hear()
            relay.cut()
        return times, ""

    async def _silence(self, relay: Relay) -> tuple[int, str]:
        await self._hear()
        relay.fall_silent()
        await asyncio.sleep(_SILENCE_S)
        relay.cut()
        relay.speak()
        return 1, f"for {_SILENCE_S:g} s"

    async def _kill_mcp_servers(self) -> tuple[int, str]:
        times = 0
        for _ in range(5):
            await self._hear()
            for pid in children(process.pid for process in self._place.processes):
                if any(command in command_of(pid) for command in self._mcp):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        times += 1
        return times, ""

    # --- processes

    async def _hear(self) -> None:
        """Wait until a client has read an event from now on."""
        self._heard.clear()
        await asyncio.wait_for(self._heard.wait(), _HEARD_WITHIN_S)

    @property
    def _messages(self) -> list[SentMessage]:
        return [message for client in self._place.clients for message in client.sent]

    async def _armed_for_long_enough(self) -> None:
        """Wait until a process dies at a point, or enough messages have passed it."""
        enough = len(self._messages) + _MESSAGES_TO_A_POINT * self._clients
        while self._place.all_running and len(self._messages) < enough:  # noqa: ASYNC110 - as in `_exited`
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _exited(self) -> Server:
        """Return a process that has ended, or is about to."""
        async with asyncio.timeout(_HEARD_WITHIN_S):
            while self._place.all_running:  # noqa: ASYNC110 - the program tells nobody
                await asyncio.sleep(_LOOK_AGAIN_S)
        return next(process for process in self._place.processes if not process.running)

    async def _start_again(self, process: Server) -> None:
        await process.start()
        self._restarted_at = process.ready_at
