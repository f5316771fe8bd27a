"""Adapter for unmodified ADK agents.

The agent runs in an in-memory session that is rebuilt from the exported state for each call. So
continuing in this process and continuing elsewhere are the same, and a failed call leaves no trace.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from copy import deepcopy
from typing import Any, cast

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.workflow import BaseNode
from google.genai.types import Content
from pydantic import JsonValue, TypeAdapter

from oda.adapter import usage
from oda.adapter.adk_events import answer_to, messages_of, open_questions, remembered, wording
from oda.adapter.base import Adapter
from oda.adapter.protocol import (
    AgentAction,
    AgentInput,
    AgentMessage,
    AgentOutput,
    AgentStream,
)
from oda.agent.adk_roots import prepare_runner
from oda.agent.failure import ModelReportedError
from oda.agent.pump import Pump
from oda.agent.resume import is_answer, is_error, text_of
from oda.agent.threads import sync_tools_in_threads
from oda.errors import NoContentError
from oda.message.content import to_content
from oda.message.storable import storable
from oda.tools.limits import ToolLimits
from oda.tools.recording import current_recorder

GO_ON = "Go on."
"""Message for an agent that continues without input: ADK and A2A require one for each turn."""

_Events = TypeAdapter(list[Event])


class AdkAgent(Adapter):
    """Adapts an ADK agent, graph, or `App` with its plugins.

    Texts arrive as the model writes them, tool calls and results as messages of the kind `tool`.
    Anything that waits for a person, such as a tool's confirmation or `RequestInput`, becomes
    `REQUEST_CONFIRM`; the next input answers it by `confirmed`. Text answers it only if text was
    requested. Transfers between sub-agents are internal; the next input goes to the one that has
    spoken last, as in ADK.

    Args:
        agent: May be shared by any number of adapters.
        name: By default the agent's own.
        description: By default the agent's own.
        tell: Returns the message for an input and the workflow's state; by default the content.
        interpret: Converts the agent's answer to an output, e.g. parses structured text.
        then: The action of an answer if `interpret` is not given.
        max_events: Maximum number of events the agent remembers, in whole turns. The latest turn is
            always remembered.
    """

    _is_metered = True
    """Whether we pay for the agent's model calls."""

    def __init__(
        self,
        agent: BaseNode | App,
        *,
        name: str | None = None,
        description: str | None = None,
        tell: Callable[[AgentInput, Any], str | Content] | None = None,
        interpret: Callable[[str], AgentOutput] | None = None,
        then: AgentAction = AgentAction.WAIT_INPUT,
        max_events: int = 100,
    ) -> None:
        app = agent if isinstance(agent, App) else App(name=agent.name, root_agent=agent)
        root = app.root_agent or agent
        described = getattr(root, "description", "") if description is None else description
        super().__init__(name or root.name, described)
        self._app = app
        self._tell = tell
        self._interpret = interpret
        self._then = then
        self._max_events = max_events
        self._state: dict[str, JsonValue] = {}

    def export_state(self) -> dict[str, JsonValue]:
        return deepcopy(self._state)

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        """Become what `export_state` has described.

        Raises:
            ValidationError: it has not.
        """
        _events_in(state)
        self._state = deepcopy(dict(state))

    async def _run(self, input: AgentInput, state: Any) -> AgentStream:
        before = _events_in(self._state)
        message = answer_to(open_questions(before), input) or self._message(input, state)
        runner, session = await self._session(input, before)
        happened: list[Event] = []
        reported: Exception | None = None
        async with aclosing(self._events(runner, session, message)) as events:
            async for event in events:
                if not event.partial:
                    happened.append(event)
                    if self._is_metered:
                        usage.count(event.usage_metadata, event.model_version)
                if (failure := self._failure(event)) is not None:
                    reported = failure  # ADK reports an error as an event before it raises it
                elif text_of(event):
                    reported = None
                for said in self._messages(event):
                    yield said
        if reported is not None:
            raise reported
        output = self._output(happened)
        await self._remember(runner, session)
        yield output

    def _message(self, input: AgentInput, state: Any) -> Content:
        told = input.content if self._tell is None else self._tell(input, state)
        return to_content(told or GO_ON)

    async def _session(self, input: AgentInput, before: Sequence[Event]) -> tuple[Runner, Session]:
        """The session as it was, and what runs in it."""
        sessions = InMemorySessionService()
        runner = Runner(app=self._app, session_service=sessions)
        prepare_runner(runner)
        session = await sessions.create_session(
            app_name=runner.app_name,
            user_id=str(input.context.get("user_id") or "somebody"),
            session_id=str(input.context.get("session_id") or "session"),
            state=deepcopy(cast(dict[str, Any], self._state.get("state") or {})),
        )
        for event in before:
            await sessions.append_event(session, event)
        return runner, session

    def _events(
        self, runner: Runner, session: Session, message: Content
    ) -> AsyncGenerator[Event, None]:
        """One run, in a task of its own, which ends with its reader."""
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        if self._is_metered and (left := usage.calls_left()) is not None:
            config.max_llm_calls = left

        async def source() -> AsyncGenerator[Event, None]:
            run = runner.run_async(
                user_id=session.user_id,
                session_id=session.id,
                new_message=message,
                run_config=config,
            )
            with self._surroundings():
                async with aclosing(run) as events:
                    async for event in events:
                        yield event

        return Pump().events(source, within=nullcontext())

    def _surroundings(self) -> AbstractContextManager[None]:
        """In which the agent runs."""
        recorder = current_recorder()
        limits = recorder.limits if recorder is not None else ToolLimits()
        return sync_tools_in_threads(limits.threads)

    def _messages(self, event: Event) -> Iterable[AgentMessage]:
        """Return the messages in an event."""
        return messages_of(event)

    def _failure(self, event: Event) -> Exception | None:
        """Why the agent has failed, if an event reports that."""
        if is_error(event):
            return ModelReportedError(event.error_code or "", event.error_message)
        if event.error_message and not event.error_code:  # from agents that call services
            return ModelReportedError("UNKNOWN_ERROR", event.error_message)
        return None

    def _output(self, happened: Sequence[Event]) -> AgentOutput:
        if questions := open_questions(happened):
            return AgentOutput(action=AgentAction.REQUEST_CONFIRM, content=wording(questions))
        answers = [event for event in happened if is_answer(event)]
        if answers:
            text = text_of(answers[-1])
            if self._interpret is not None:
                return self._interpret(text)
            return AgentOutput(thought=_thought(answers[-1]), action=self._then, content=text)
        made = [event.output for event in happened if event.output is not None]
        if not made:
            raise NoContentError(f"The agent {self.name!r} ended without an answer.")
        return AgentOutput(action=self._then, content=made[-1])

    async def _remember(self, runner: Runner, session: Session) -> None:
        stored = await runner.session_service.get_session(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )
        assert stored is not None
        events = remembered(stored.events, self._max_events)
        self._state = {
            "events": [self._stored(event) for event in events],
            "state": storable(stored.state),
        }

    def _stored(self, event: Event) -> dict[str, JsonValue]:
        """An event as it is remembered."""
        return event.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def _events_in(state: Mapping[str, JsonValue]) -> list[Event]:
    return _Events.validate_python(state.get("events") or [])


def _thought(event: Event) -> str:
    parts = (event.content and event.content.parts) or ()
    return "".join(part.text or "" for part in parts if part.thought)
