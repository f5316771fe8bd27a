"""`OdaSession`: one conversation with the agents of an app."""

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
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.genai.types import Content

from oda.agent import notices
from oda.agent.history import History
from oda.agent.manager import OdaAgentManager
from oda.agent.oda_agent import RECENT_EVENTS, CancelReceipt, OdaAgent
from oda.agent.outcome import outcome_of
from oda.agent.resume import close_for_good, is_stored
from oda.agent.running_turn import TurnRequest
from oda.agent.threads import iterate
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
from oda.session.branches import fork, rewind, select, waiting_turns
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
from oda.session.state import SessionState, writable
from oda.session.user_storage import UserStorage, json_size

_WITHOUT_EVENTS = GetSessionConfig(num_recent_events=0)
_LATEST = GetSessionConfig(num_recent_events=10)
"""Usually enough to see what has happened since a turn."""
_WRITE_TRIES = 4
"""Number of attempts at a write that conflicts with writes of other nodes."""


class OdaSession:
    """One conversation with the agents of an app. Get it from an `OdaSessionManager`.

    One turn runs at a time; `on_busy` chooses what happens to a message sent meanwhile. There is
    one `OdaAgent` for each agent name used in the session.
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
        """Send a message and return the answer. A failed turn gives a reply with an `error`.

        Raises: as `stream`.
        """
        return await reply_to(self.stream(message, agent=agent))

    async def stream(
        self,
        message: Message,
        *,
        agent: str | None = None,
        on_busy: OnBusy = "queue",
        run_config: RunConfig | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Send a message and yield ADK events until the answer, or one escalating error event.

        Args:
            message: Text or ADK content.
            agent: Name of the agent; by default the app's root.
            on_busy: What to do while another turn runs.
            run_config: ADK's run configuration; its `streaming_mode` enables partial text.

        Raises:
            InvalidRequestError: the message is empty.
            AgentNotFoundError, AgentLoadError: the agent does not exist or cannot be loaded.
            SessionBusyError, OverloadedError: see `Lane.reserve`.
        """
        request = TurnRequest(to_content(message), run_config=run_config or RunConfig())
        self.agent(agent)  # an unknown one takes no place
        async with (
            self._lane.reserve(on_busy) as place,
            aclosing(self.run_turn(request, place, agent=agent)) as events,
        ):
            async for event in events:
                yield event

    async def resume(
        self, invocation_id: str, *, agent: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Resume a turn that was interrupted by a crash, and yield its remaining events."""
        request = TurnRequest(turn_id=invocation_id)
        self.agent(agent)
        async with (
            self._lane.reserve() as place,
            aclosing(self.run_turn(request, place, agent=agent)) as events,
        ):
            async for event in events:
                yield event

    async def run_turn(
        self, request: TurnRequest, place: Place, *, agent: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run a turn in the place that the caller has entered, and yield its ADK events.

        Raises:
            AgentNotFoundError, AgentLoadError: the agent does not exist or cannot be loaded.
        """
        oda_agent = self.agent(agent)
        if place.interrupted:
            yield notices.cancelled(invocation_id="", timestamp=self._clock.now())
            return
        delta = self._turn_delta(request.state_delta) if request.message else {}
        self._running = oda_agent
        try:
            turn = oda_agent.run_turn(replace(request, state_delta=delta))
            async with aclosing(turn) as events:
                async for event in events:
                    if not event.partial and event.actions.state_delta:
                        self.state.stored(event.actions.state_delta)
                    yield event
        finally:
            self._running = None
            self.updated_at = self._clock.now()
            if oda_agent.last_turn and oda_agent.last_turn.message_stored:
                self.state.stored(delta)

    async def confirm(
        self, request_id: str, confirmed: bool = True, *, payload: Any = None
    ) -> Reply:
        """Answer a tool confirmation or an input request, and return the agent's reply.

        Args:
            request_id: The id of the pending call, as in `Reply.events`.
            confirmed: Whether the tool may run.
            payload: The requested input.

        Raises:
            ConflictError: there is no pending call with this id.
        """
        return await reply_to(self.stream(await self.answer([(request_id, confirmed, payload)])))

    async def answer(self, responses: Sequence[tuple[str, bool | None, Any]]) -> Content:
        """Return the message that answers pending calls, each given as (id, confirmed, payload).

        Raises:
            ConflictError: an id does not belong to a pending call.
        """
        pending = outcome_of(await self.history()).pending_input
        return answer_content(pending, responses)

    def cancel(self) -> CancelReceipt:
        """End the running turn; waiting turns are unaffected. Await the receipt for its end."""
        return self._running.cancel() if self._running else CancelReceipt(False, None)

    @property
    def busy(self) -> bool:
        """Whether a turn is running or waiting."""
        return self._lane.busy

    def reserve(self, on_busy: OnBusy = "queue") -> Place:
        """Take a place in the session's queue now, to pass to `stream` later.

        Raises: see `Lane.reserve`.
        """
        return self._lane.reserve(on_busy)

    def reserve_again(self) -> Place:
        """Take a place for a turn that was accepted earlier; see `Lane.reserve_again`."""
        return self._lane.reserve_again()

    async def events_of_turn(self, invocation_id: str) -> list[Event]:
        """Return the stored events of a turn in order, without those of the user."""
        turn = await self._history().of_turn(invocation_id)
        return [event for event in turn.events if event.author != "user"] if turn else []

    async def messages_of_turn(self, invocation_id: str) -> list[Event]:
        """Return what the user has said in a turn: the message, and then answers to questions."""
        turn = await self._history().of_turn(invocation_id)
        return [event for event in turn.events if event.author == "user"] if turn else []

    async def state_after(self, turn_id: str) -> dict[str, Any]:
        """Return the session's own state after a turn; the current state if the turn is unknown.

        Raises:
            SessionNotFoundError: the session has been deleted.
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
        """Store the message of a turn that cannot run, unless it is already stored.

        The caller must hold a place in the lane.

        Raises:
            SessionNotFoundError: the session has been deleted.
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
                actions=EventActions(state_delta=self._turn_delta(state_delta)),
            )
            try:
                await self._append(
                    turn.session if turn else await self._load(_WITHOUT_EVENTS), event
                )
            except StaleSessionError:
                continue
            return
        raise _write_conflict()

    async def withdraw(self, invocation_id: str) -> None:
        """Close the open calls and questions of a turn that will not be resumed.

        Does nothing while another turn runs: the session's next message closes open calls anyway.
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
        """Return the session's agent of that name; by default the app's root.

        Raises:
            AgentNotFoundError, AgentLoadError: the agent does not exist or cannot be loaded.
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
        """Number of messages sent."""
        return int((self.state.raw(META) or {}).get("turns") or 0)

    @property
    def artifacts(self) -> SessionArtifacts:
        """The artifacts of the session and its user."""
        return SessionArtifacts(self._manager.services.uploads, self.key)

    async def history(self, *, after: str | None = None) -> list[Event]:
        """Return the stored events, oldest first, without rewound ones.

        Args:
            after: Id of an event; only later events are returned.

        Raises:
            SessionNotFoundError: the session has been deleted.
            CursorExpiredError: the event `after` has been rewound.
            InvalidRequestError: the event `after` never existed.
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
        """Reload the stored state, which other nodes may have changed; pending changes are kept.

        Raises:
            SessionNotFoundError: the session has been deleted.
        """
        while True:
            seen = self.state.revision
            stored = await self._load(_WITHOUT_EVENTS)
            if self.state.revision == seen:  # else a turn stored a newer state during the read
                self._take(stored)
                return

    async def revise(
        self,
        change: Callable[[dict[str, Any]], Mapping[str, Any]],
        *,
        within_s: float | None = None,
        bounded: bool = True,
    ) -> dict[str, Any]:
        """Change the state atomically and return the new state.

        Args:
            change: Returns the values to set, given the state; None removes a key. If it raises,
                nothing is stored. It is called again if another node has written meanwhile.
            within_s: Seconds to wait for the end of a running turn; None to wait without limit.
            bounded: Whether to refuse a change that exceeds the user's quota.

        Raises:
            ValueError: a key is reserved, or a value cannot be stored.
            SessionBusyError: a turn was still running after `within_s`, or other nodes keep
                writing.
            OverloadedError: see `Lane.reserve`.
            StorageQuotaError: the change exceeds the user's quota.
        """
        async with self._hold_lane(within_s=within_s):
            await self._append_delta(
                lambda: writable(change(self.state.to_dict())), bounded=bounded
            )
            return self.state.to_dict()

    async def rewind(self, turn_id: str, *, on_busy: OnBusy = "queue") -> frozenset[str]:
        """Take the conversation back to before a turn, including the session's state and artifacts.

        `user:` and `app:` state and artifacts are not affected, and neither are uploads.

        Args:
            turn_id: The turn's ADK invocation id.
            on_busy: What to do while a turn runs.

        Returns:
            The ids of all turns that were rewound.

        Raises:
            TurnNotFoundError: the history has no such turn, or it is already rewound.
            SessionBusyError, OverloadedError: see `Lane.reserve`; or other nodes keep writing.
        """
        services = self._manager.services
        async with self._hold_lane(on_busy=on_busy):
            for _ in range(_WRITE_TRIES):
                try:
                    taken_back = await rewind(
                        services.session, services.artifact, await self._load(), turn_id
                    )
                except StaleSessionError:
                    continue
                await self.refresh()
                return taken_back
        raise _write_conflict()

    async def fork(
        self, session_id: str, *, turn_id: str | None = None, unfinished: Collection[str] = ()
    ) -> Session:
        """Store a new session with the history up to and including a turn, and return it.

        Turns that are running or waiting for a person are not copied.

        Args:
            session_id: Id of the new session.
            turn_id: Id of the last turn to copy; None for all turns.
            unfinished: Ids of turns that run on other nodes.

        Raises:
            TurnNotFoundError: the history has no such turn.
            ConflictError: the turn has not ended.
            AlreadyExistsError: the id is taken.
            StorageQuotaError: the fork exceeds the user's quota.
        """
        running = self._running.last_turn if self._running else None
        source = await self._load()
        skipped = {*unfinished, *waiting_turns(source.events)}
        if running is not None and running.turn_id is not None:
            skipped.add(running.turn_id)
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
        """Cancel the running turn, store pending state changes and release the agents."""
        for oda_agent in self._agents.values():
            await oda_agent.cleanup()
        self._agents.clear()
        if self.state.pending():
            with suppress(SessionNotFoundError):
                await self._commit()

    # --- for callers without an event loop

    def ask_sync(self, message: Message, *, agent: str | None = None) -> Reply:
        """Blocking version of `ask`; it must not be called on the event loop's thread."""
        events = [event for event in self.run(message, agent=agent) if not event.partial]
        return _reply(events)

    def run(self, message: Message, *, agent: str | None = None) -> Iterator[Event]:
        """Blocking version of `stream`."""
        return iterate(lambda: self.stream(message, agent=agent), self._home)

    # --- inside

    @property
    def _service(self) -> BaseSessionService:
        return self._manager.services.session

    def _interrupt(self) -> None:
        self.cancel()

    def _turn_delta(self, given: dict[str, Any] | None) -> dict[str, Any]:
        meta = {"created_at": self.created_at, "turns": self.turns + 1}
        return {**self.state.pending(), **(given or {}), META: meta}

    @asynccontextmanager
    async def _hold_lane(
        self, *, on_busy: OnBusy = "queue", within_s: float | None = None
    ) -> AsyncIterator[None]:
        """Hold the lane, so that no turn runs on this node."""
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
        async with self._hold_lane():
            await self._append_delta(self.state.pending, bounded=False)

    async def _append_delta(self, delta: Callable[[], dict[str, Any]], *, bounded: bool) -> None:
        """Store the result of `delta`, which is called after the stored state was reloaded.

        Raises:
            SessionBusyError: other nodes keep writing.
            StorageQuotaError: a bounded change exceeds the user's quota.
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
            except Exception as error:  # not on cancellation: the event may still be stored
                await self._storage.give_back(self.key, size)
                if not isinstance(error, StaleSessionError):
                    raise
            else:
                return
        raise _write_conflict()

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
    """Run a turn to its end and return the reply."""
    async with aclosing(events):
        return _reply([event async for event in events if not event.partial])


def _write_conflict() -> SessionBusyError:
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
