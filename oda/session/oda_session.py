"""`OdaSession`: the business entry to one conversation."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, nullcontext, suppress
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.genai.types import Content

from oda.agent import notices
from oda.agent.history import History
from oda.agent.limits import TurnLimits
from oda.agent.manager import OdaAgentManager
from oda.agent.oda_agent import RECENT_EVENTS, CancelReceipt, OdaAgent
from oda.agent.outcome import outcome_of
from oda.agent.resume import close_for_good, is_stored
from oda.agent.sync import iterate
from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock
from oda.errors import (
    CursorExpiredError,
    InvalidRequestError,
    SessionBusyError,
    SessionNotFoundError,
)
from oda.loop import running_loop
from oda.message.content import Message, to_content
from oda.message.reply import Reply
from oda.session.answers import answer_content, withdraw_questions
from oda.session.artifacts import SessionArtifacts
from oda.session.fork import fork, select, waiting_turns
from oda.session.lane import Lane, OnBusy, Place
from oda.session.live_history import LiveHistory
from oda.session.past_state import (
    META,
    changed_since,
    events_until,
    initial_state,
    own,
    state_after,
)
from oda.session.rewind import rewind
from oda.session.state import SessionState, writable
from oda.session.user_storage import UserStorage, json_size

_WITHOUT_EVENTS = GetSessionConfig(num_recent_events=0)
_LATEST = GetSessionConfig(num_recent_events=10)
"""Mostly enough to see what has happened since a turn."""
_WRITE_TRIES = 4
"""How often a change of the state is tried when other nodes write at the same time."""


class OdaSession:
    """One conversation with the agents of an app. Get it from an `OdaSessionManager`.

    One turn runs at a time; what a second message does meanwhile is the caller's choice. There is
    one `OdaAgent` for each agent name that has answered.
    """

    def __init__(
        self,
        stored: Session,
        agents: OdaAgentManager,
        storage: UserStorage,
        *,
        max_queued: int,
        clock: Clock,
    ) -> None:
        self.app_name = stored.app_name
        self.user_id = stored.user_id
        self.session_id = stored.id
        self.state = SessionState(stored.state, self._commit)
        self.updated_at = stored.last_update_time
        self._manager = agents
        self._storage = storage
        self._clock = clock
        self._agents: dict[str, OdaAgent] = {}
        self._running: OdaAgent | None = None
        self._lane = Lane(max_queued=max_queued, interrupt=self._interrupt)
        self._home = running_loop()

    # --- turns

    async def ask(self, message: Message, *, agent: str | None = None) -> Reply:
        """Send a message and wait for the answer. A failed turn is a reply with an `error`.

        Raises: as `stream`.
        """
        return await reply_to(self.stream(message, agent=agent))

    async def stream(
        self,
        message: Message,
        *,
        agent: str | None = None,
        on_busy: OnBusy = "queue",
        place: Place | None = None,
        run_config: RunConfig | None = None,
        limits: TurnLimits | None = None,
        invocation_id: str | None = None,
        begun: bool = True,
        state_delta: dict[str, Any] | None = None,
        on_start: Callable[[OdaAgent], None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Send a message and yield ADK events until the answer, or one escalating error event.

        Args:
            message: A text or an ADK content.
            agent: Another agent than the app's root.
            on_busy: What to do while another turn runs.
            place: One that the caller has entered, instead of `on_busy`.
            run_config: ADK's own; for partial texts set its `streaming_mode`.
            limits: Instead of those of the settings.
            invocation_id: The turn's name in the session, by default a new one.
            begun: Whether a turn of that name may have been begun before; then it goes on.
            state_delta: Changes that are stored with the message.
            on_start: Called when the turn's time has come.

        Raises:
            InvalidRequestError: the message is empty.
            AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
            SessionBusyError, OverloadedError: see `Lane.reserve`.
        """
        content = to_content(message)
        oda_agent = self.agent(agent)
        entered = nullcontext(place) if place is not None else self._lane.reserve(on_busy)
        async with entered as place:
            if place.interrupted:
                yield notices.cancelled(invocation_id="", timestamp=self._clock.now())
                return
            delta = self._delta_of_turn(state_delta)
            if on_start is not None:
                on_start(oda_agent)
            events = oda_agent.run_async(
                content,
                invocation_id=invocation_id,
                begun=begun,
                state_delta=delta,
                run_config=run_config,
                limits=limits,
            )
            async with aclosing(self._running_turn(oda_agent, events)) as events:
                try:
                    async for event in events:
                        yield event
                finally:
                    if oda_agent.last_turn and oda_agent.last_turn.scope.begun:
                        self.state.stored(delta)

    async def resume(
        self, invocation_id: str, *, agent: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Go on with a turn that was interrupted by a crash, and yield what is left of it."""
        oda_agent = self.agent(agent)
        async with self._lane.reserve():
            events = self._running_turn(oda_agent, oda_agent.resume(invocation_id))
            async with aclosing(events):
                async for event in events:
                    yield event

    async def confirm(
        self, request_id: str, confirmed: bool = True, *, payload: Any = None
    ) -> Reply:
        """Answer a tool confirmation or an input request, and wait for what follows.

        Args:
            request_id: The id of the call that asked, as in `Reply.events`.
            confirmed: Whether the tool may run.
            payload: What the tool or the node asked for.

        Raises:
            ConflictError: nothing with this id waits for an answer.
        """
        return await reply_to(self.stream(await self.answer([(request_id, confirmed, payload)])))

    async def answer(self, responses: Sequence[tuple[str, bool | None, Any]]) -> Content:
        """The message that answers waiting calls, each given as (id, confirmed, payload).

        Raises:
            ConflictError: an id is not one that waits for an answer.
        """
        pending = outcome_of(await self.history()).pending_input
        return answer_content(pending, responses)

    def cancel(self) -> CancelReceipt:
        """End the running turn; those that wait are not touched. May be awaited."""
        return self._running.cancel() if self._running else CancelReceipt(False, None)

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self._lane.busy

    def reserve(self, on_busy: OnBusy = "queue") -> Place:
        """Take a place in the session's line at once, to stream in it later.

        Raises: see `Lane.reserve`.
        """
        return self._lane.reserve(on_busy)

    def reserve_again(self) -> Place:
        """A place for a turn that was accepted before; see `Lane.reserve_again`."""
        return self._lane.reserve_again()

    async def events_of_turn(self, invocation_id: str) -> list[Event]:
        """What agents have stored of a turn, in order."""
        turn = await self._history().of_turn(invocation_id)
        return [event for event in turn.events if event.author != "user"] if turn else []

    async def state_after(self, turn_id: str) -> dict[str, Any]:
        """Return the session's own state as a turn has left it; as it is for an unknown turn.

        Raises:
            SessionNotFoundError: it has been deleted meanwhile.
        """
        stored = await self._load(_LATEST)
        if not changed_since(turn_id, stored.events):
            return own(stored.state)
        stored = await self._load()
        before = events_until(turn_id, stored.events)
        return state_after(initial_state(stored.state, stored.events), before)

    async def keep_message(
        self,
        message: Content,
        *,
        invocation_id: str,
        state_delta: dict[str, Any] | None = None,
    ) -> None:
        """Store a turn's message unless it is stored; for whoever holds a place and cannot run it.

        Raises:
            SessionNotFoundError: it has been deleted meanwhile.
            SessionBusyError: other nodes keep writing.
        """
        for _ in range(_WRITE_TRIES):
            turn = await self._history().of_turn(invocation_id)
            if turn is not None and is_stored(turn.events, message):
                return
            event = Event(
                author="user",
                invocation_id=invocation_id,
                content=message,
                actions=EventActions(state_delta=self._delta_of_turn(state_delta)),
            )
            try:
                await self._append(
                    turn.session if turn else await self._load(_WITHOUT_EVENTS), event
                )
            except StaleSessionError:
                continue
            return
        raise _written_elsewhere()

    async def withdraw(self, invocation_id: str) -> None:
        """Close what a turn has left open that will not go on, questions to people included.

        While another turn runs nothing is done: the session's next message sees to open calls.
        """
        if self.busy:
            return
        async with self._lane.reserve():
            history = self._history()
            if turn := await history.of_turn(invocation_id):
                await history.append(turn.session, close_for_good(turn.events, "cancelled"))
                await history.append(turn.session, withdraw_questions(turn.events))

    def _history(self) -> History:
        return History(self._service, self.key, RECENT_EVENTS)

    def agent(self, name: str | None = None) -> OdaAgent:
        """The session's agent of that name; None for the app's own.

        Raises:
            AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
        """
        name = name or self.app_name
        if name not in self._agents:
            self._agents[name] = self._manager.create(name, self.key)
        return self._agents[name]

    # --- what is stored

    @property
    def key(self) -> SessionKey:
        return self.app_name, self.user_id, self.session_id

    @property
    def created_at(self) -> float:
        """Epoch seconds."""
        return float((self.state.raw(META) or {}).get("created_at") or self.updated_at)

    @property
    def turns(self) -> int:
        """How many messages have been sent."""
        return int((self.state.raw(META) or {}).get("turns") or 0)

    @property
    def artifacts(self) -> SessionArtifacts:
        """The files of the session and of its user."""
        return SessionArtifacts(self._manager.services.uploads, self.key)

    async def history(self, *, after: str | None = None) -> list[Event]:
        """The stored events as they hold now, oldest first; what has been rewound is left out.

        Args:
            after: Id of an event; only those that follow it.

        Raises:
            SessionNotFoundError: it has been deleted meanwhile.
            CursorExpiredError: the event `after` has been rewound.
            InvalidRequestError: there never was an event `after`.
        """
        stored = await self._load()
        if after is None:
            return stored.events
        position = next((n for n, event in enumerate(stored.events) if event.id == after), None)
        if position is not None:
            return stored.events[position + 1 :]
        if isinstance(self._service, LiveHistory):
            everything = await self._service.whole(stored)
            if any(event.id == after for event in everything):
                raise CursorExpiredError(
                    f"The event {after!r} has been rewound.", remedy="read from the beginning"
                )
        raise InvalidRequestError(f"after: there is no event {after!r} in this session.")

    async def refresh(self) -> None:
        """Take over what is stored now, by other nodes too; changes that wait are kept.

        Raises:
            SessionNotFoundError: it has been deleted meanwhile.
        """
        while True:
            seen = self.state.revision
            stored = await self._load(_WITHOUT_EVENTS)
            if self.state.revision == seen:  # else a turn has gone on while it was read
                self._take(stored)
                return

    async def revise(
        self,
        change: Callable[[dict[str, Any]], Mapping[str, Any]],
        *,
        within_s: float | None = None,
        bounded: bool = True,
    ) -> dict[str, Any]:
        """Change the state with nothing in between reading and storing it; returns what it is then.

        Args:
            change: Given the state, returns the values to set; None removes. What it raises is
                raised, and nothing is stored. It may be called again when another node was faster.
            within_s: How long to wait for the end of a running turn.
            bounded: Whether the change is refused when its user has no room for it.

        Raises:
            ValueError: a key is reserved, or a value cannot be stored.
            SessionBusyError: a turn has been running for longer, or other nodes keep writing.
            OverloadedError: see `Lane.reserve`.
            StorageQuotaError: there is no room for the change.
        """
        async with self._alone(within_s=within_s):
            await self._append_delta(
                lambda: writable(change(self.state.to_dict())), bounded=bounded
            )
            return self.state.to_dict()

    async def rewind(self, turn_id: str, *, on_busy: OnBusy = "queue") -> frozenset[str]:
        """Take the conversation back to before that turn, its own state and artifacts included.

        `user:` and `app:` state and artifacts stay, and so do uploads.

        Args:
            turn_id: The turn's ADK invocation id.
            on_busy: What to do while a turn runs.

        Returns the ids of all turns that have been taken back.

        Raises:
            TurnNotFoundError: the history has no such turn, or not any more.
            SessionBusyError, OverloadedError: see `Lane.reserve`; or other nodes keep writing.
        """
        services = self._manager.services
        async with self._alone(on_busy=on_busy):
            for _ in range(_WRITE_TRIES):
                try:
                    taken_back = await rewind(
                        services.session, services.artifact, await self._load(), turn_id
                    )
                except StaleSessionError:
                    continue
                await self.refresh()
                return taken_back
        raise _written_elsewhere()

    async def fork(
        self, session_id: str, *, turn_id: str | None = None, unfinished: Collection[str] = ()
    ) -> Session:
        """Store a new session with the history up to and including a turn; returns what is stored.

        Turns that run or wait for a person are not taken along.

        Args:
            session_id: Of the new session.
            turn_id: The last turn that is wanted; None for all.
            unfinished: Ids of turns that run elsewhere.

        Raises:
            TurnNotFoundError: the history has no such turn.
            ConflictError: it has not ended.
            AlreadyExistsError: the id is taken.
            StorageQuotaError: the user has no room for it.
        """
        running = self._running.last_turn if self._running else None
        source = await self._load()
        skipped = {*unfinished, *waiting_turns(source.events)}
        if running is not None and running.invocation_id is not None:
            skipped.add(running.invocation_id)
        events = select(source.events, until=turn_id, unfinished=skipped)
        return await fork(
            self._manager.services,
            self._storage,
            source,
            events,
            session_id=session_id,
            until=events[-1].timestamp if turn_id is not None else None,
            now=self._clock.now(),
        )

    async def close(self) -> None:
        """Cancel what runs and drop the live objects; nothing stored is lost."""
        for oda_agent in self._agents.values():
            await oda_agent.cleanup()
        self._agents.clear()
        if self.state.pending():
            with suppress(SessionNotFoundError):
                await self._commit()

    # --- for callers without an event loop

    def ask_sync(self, message: Message, *, agent: str | None = None) -> Reply:
        """`ask`, blocking; not to be called on the event loop's own thread."""
        events = [event for event in self.run(message, agent=agent) if not event.partial]
        return _reply(events)

    def run(self, message: Message, *, agent: str | None = None) -> Iterator[Event]:
        """`stream` as an ordinary generator."""
        return iterate(lambda: self.stream(message, agent=agent), self._home)

    # --- inside

    @property
    def _service(self) -> BaseSessionService:
        return self._manager.services.session

    async def _running_turn(
        self, oda_agent: OdaAgent, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        self._running = oda_agent
        try:
            async with aclosing(events):
                async for event in events:
                    if not event.partial and event.actions.state_delta:
                        self.state.stored(event.actions.state_delta)
                    yield event
        finally:
            self._running = None
            self.updated_at = self._clock.now()

    def _interrupt(self) -> None:
        self.cancel()

    def _delta_of_turn(self, given: dict[str, Any] | None) -> dict[str, Any]:
        meta = {"created_at": self.created_at, "turns": self.turns + 1}
        return {**self.state.pending(), **(given or {}), META: meta}

    @asynccontextmanager
    async def _alone(
        self, *, on_busy: OnBusy = "queue", within_s: float | None = None
    ) -> AsyncIterator[None]:
        """Hold the lane, so that no turn of this node runs."""
        place = self._lane.reserve(on_busy)
        try:
            async with asyncio.timeout(within_s):
                await place.__aenter__()
        except TimeoutError as error:
            raise SessionBusyError(
                "A turn is running in this session.", remedy="try again when it has ended"
            ) from error
        try:
            yield
        finally:
            self._lane.leave(place)

    async def _commit(self) -> None:
        """Store the pending changes as an event of their own."""
        async with self._alone():
            await self._append_delta(self.state.pending, bounded=False)

    async def _append_delta(self, delta: Callable[[], dict[str, Any]], *, bounded: bool) -> None:
        """Store what `delta` makes of the state as it is stored now.

        Raises:
            SessionBusyError: other nodes keep writing.
            StorageQuotaError: it is bounded, and there is no room for it.
        """
        for _ in range(_WRITE_TRIES):
            stored = await self._load(_WITHOUT_EVENTS)
            self._take(stored)
            if not (change := delta()):
                return
            event = Event(
                author="user",
                invocation_id=Event.new_id(),
                actions=EventActions(state_delta=change),
            )
            size = json_size(change)
            await self._storage.take(self.key, size, bounded=bounded)
            try:
                await self._append(stored, event)
            except Exception as error:  # one that is cancelled may be stored yet
                await self._storage.give_back(self.key, size)
                if not isinstance(error, StaleSessionError):
                    raise
            else:
                return
        raise _written_elsewhere()

    async def _append(self, stored: Session, event: Event) -> None:
        await self._service.append_event(stored, event)
        self.state.stored(event.actions.state_delta)
        self.updated_at = stored.last_update_time

    def _take(self, stored: Session) -> None:
        self.state.reload(stored.state)
        self.updated_at = stored.last_update_time

    async def _load(self, config: GetSessionConfig | None = None) -> Session:
        stored = await self._service.get_session(
            app_name=self.app_name, user_id=self.user_id, session_id=self.session_id, config=config
        )
        if stored is None:
            raise SessionNotFoundError(f"There is no session {self.session_id!r}.")
        return stored


async def reply_to(events: AsyncGenerator[Event, None]) -> Reply:
    """Run a turn to its end."""
    async with aclosing(events):
        return _reply([event async for event in events if not event.partial])


def _written_elsewhere() -> SessionBusyError:
    return SessionBusyError("Another node is writing to this session.", remedy="try again")


def _reply(events: list[Event]) -> Reply:
    outcome = outcome_of(events)
    return Reply(
        text=outcome.reply,
        status=outcome.status,
        events=tuple(events),
        invocation_id=next((e.invocation_id for e in events if e.invocation_id), None),
        error=outcome.error,
    )
