"""`OdaSession`: the business entry to one conversation."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.genai.types import Content, FunctionResponse, Part

from oda.agent import notices
from oda.agent.limits import TurnLimits
from oda.agent.manager import OdaAgentManager
from oda.agent.oda_agent import CancelReceipt, OdaAgent
from oda.agent.outcome import outcome_of
from oda.agent.sync import iterate
from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock
from oda.errors import ConflictError, SessionNotFoundError
from oda.loop import running_loop
from oda.message.content import Message, to_content
from oda.message.reply import Reply
from oda.session.lane import Lane, OnBusy, Place
from oda.session.state import SessionState

META = "_oda"
"""State key of what we know of a session: `{created_at, turns}`."""


class OdaSession:
    """One conversation with the agents of an app. Get it from an `OdaSessionManager`.

    One turn runs at a time; what a second message does meanwhile is the caller's choice. There is
    one `OdaAgent` for each agent name that has answered.
    """

    def __init__(
        self,
        stored: Session,
        agents: OdaAgentManager,
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
        state_delta: dict[str, Any] | None = None,
        on_start: Callable[[OdaAgent], None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Send a message and yield ADK events until the answer, or one escalating error event.

        Args:
            message: A text or an ADK content.
            agent: Another agent than the app's root.
            on_busy: What to do while another turn runs.
            place: One that was reserved before, instead of `on_busy`.
            run_config: ADK's own; for partial texts set its `streaming_mode`.
            limits: Instead of those of the settings.
            invocation_id: Of a turn that may have been begun before.
            state_delta: Changes that are stored with the message.
            on_start: Called when the turn's time has come.

        Raises:
            InvalidRequestError: the message is empty.
            AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
            SessionBusyError, OverloadedError: see `Lane.reserve`.
        """
        content = to_content(message)
        oda_agent = self.agent(agent)
        place = place or self._lane.reserve(on_busy)
        async with place:
            if place.interrupted:
                yield notices.cancelled(invocation_id="", timestamp=self._clock.now())
                return
            delta = self._delta_of_turn(state_delta)
            if on_start is not None:
                on_start(oda_agent)
            events = oda_agent.run_async(
                content,
                invocation_id=invocation_id,
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
        waiting = {item["id"]: item for item in outcome_of(await self.history()).pending_input}
        parts = []
        for request_id, confirmed, payload in responses:
            if request_id not in waiting:
                raise ConflictError(
                    f"Nothing waits for an answer under {request_id!r}.",
                    remedy="it may have been answered already",
                )
            parts.append(_response_part(waiting[request_id], confirmed, payload))
        return Content(role="user", parts=parts)

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

    async def history(self) -> list[Event]:
        """All stored events, oldest first.

        Raises:
            SessionNotFoundError: it has been deleted meanwhile.
        """
        return (await self._load()).events

    async def rewind(self, invocation_id: str) -> None:
        """Take the conversation back to before that turn, state and artifacts included."""
        async with self._lane.reserve():
            await self.agent().runner.rewind_async(
                user_id=self.user_id,
                session_id=self.session_id,
                rewind_before_invocation_id=invocation_id,
            )
            stored = await self._load(GetSessionConfig(num_recent_events=0))
            self.state = SessionState(stored.state, self._commit)

    async def close(self) -> None:
        """Cancel what runs and drop the live objects; nothing stored is lost."""
        if self.state.pending():
            await self._commit()
        for oda_agent in self._agents.values():
            await oda_agent.cleanup()
        self._agents.clear()

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

    async def _commit(self) -> None:
        """Store the pending changes as an event of their own."""
        async with self._lane.reserve():
            delta = self.state.pending()
            if delta:
                stored = await self._load(GetSessionConfig(num_recent_events=0))
                await self._service.append_event(
                    stored,
                    Event(
                        author="user",
                        invocation_id=Event.new_id(),
                        actions=EventActions(state_delta=delta),
                        timestamp=self._clock.now(),
                    ),
                )
                self.state.stored(delta)

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


def _reply(events: list[Event]) -> Reply:
    outcome = outcome_of(events)
    return Reply(
        text=outcome.reply,
        status=outcome.status,
        events=tuple(events),
        invocation_id=next((e.invocation_id for e in events if e.invocation_id), None),
        error=outcome.error,
    )


def _response_part(asked: dict[str, Any], confirmed: bool | None, payload: Any) -> Part:
    if asked["name"] == "adk_request_confirmation":
        response: dict[str, Any] = {"confirmed": bool(confirmed)}
        if payload is not None:
            response["payload"] = payload
    elif isinstance(payload, dict) and asked["name"] != "adk_request_input":
        response = payload
    else:
        response = {"result": payload}
    return Part(
        function_response=FunctionResponse(id=asked["id"], name=asked["name"], response=response)
    )
