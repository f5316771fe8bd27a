"""ADK plugin that observes and controls a turn from inside ADK's run.

It sets the invocation id, counts usage, enforces limits, repeats interrupted calls, skips finished
agents, lets an LLM agent in a graph node continue where it stopped, and raises failures that models
report in events.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import Session
from google.genai.types import Content, Part

from oda.agent.agent_record import concludes, put_node_input_before_its_record, said_by
from oda.agent.failure import ModelReportedError
from oda.agent.model.answer_form import calls_of
from oda.agent.model.configured import ConfiguredModel
from oda.agent.model.gate import ModelCall, pass_gate
from oda.agent.model.own_models import missing_key
from oda.agent.model.registry import current_models
from oda.agent.model.unconfigured import NOT_CONFIGURED
from oda.agent.replay import ended_in_earlier_round
from oda.agent.resume import (
    RECORDED_CALLS,
    Repeat,
    close_for_good,
    events_of,
    is_error,
    open_calls,
)
from oda.agent.running_turn import RunningTurn
from oda.errors import DailyLimitError, NoContentError
from oda.secret_mask import secrets
from oda.tools.client_tools import CLIENT_CALLS, offer, offered_names
from oda.tools.idempotency import (
    IDEMPOTENT_TOOLS,
    CallKey,
    is_idempotent,
    original_call_id,
)
from oda.tools.ledger import ToolLedger

SessionKey = tuple[str, str, str]

_SET_BY_ADK = frozenset({"MODEL_RETURNED_NO_CONTENT"})
"""Error codes that ADK sets on a model's answer after the model callbacks."""


_passed: ContextVar[ModelCall | None] = ContextVar("oda_passed_model_call", default=None)
"""The model call that the gate has admitted; ADK runs both model callbacks in one context."""


class TurnPlugin(BasePlugin):
    """Plugin for any number of sessions, each with at most one turn at a time."""

    NAME = "oda_turn"

    def __init__(self) -> None:
        super().__init__(name=self.NAME)
        self._turns: dict[SessionKey, RunningTurn] = {}

    @contextmanager
    def watch(self, session: SessionKey, turn: RunningTurn) -> Iterator[None]:
        """Watch the runs of `session` on behalf of `turn`."""
        self._turns[session] = turn
        try:
            yield
        finally:
            if self._turns.get(session) is turn:
                del self._turns[session]

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: Content
    ) -> None:
        """Set the turn's invocation id and close open calls of other turns.

        Called before the message is stored.
        """
        turn = self._turn_of(invocation_context.session)
        if turn is None:
            return
        if turn.turn_id is None:
            turn.turn_id = invocation_context.invocation_id
        else:
            invocation_context.invocation_id = turn.turn_id
        await _close_other_turns(invocation_context, turn.turn_id, turn.ledger)
        if turn.ledger is not None:
            _record_late_results(user_message, turn.turn_id, turn.ledger)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        if turn := self._turn_of(invocation_context.session):
            turn.message_stored = True
            if turn.complete is not None:
                await turn.complete(invocation_context.session)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> Content | None:
        turn = self._turn_of(callback_context.session)
        if turn is None:
            return None
        put_node_input_before_its_record(
            callback_context.session.events,
            callback_context.node_path,
            callback_context.invocation_id,
        )
        if isinstance(agent, ParallelAgent):
            _forget_earlier_rounds(agent, callback_context.get_invocation_context())
        key = agent.name, callback_context.node_path
        turn.said.pop(key, None)
        skipped = _skip_if_finished(agent, callback_context, turn)
        if skipped is None and isinstance(agent, LlmAgent) and agent.mode != "task":
            said = said_by(callback_context.session.events, *key, callback_context.invocation_id)
            turn.said[key] = len(said)
        return skipped

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Check that an agent has not ended without an answer, which ADK considers regular.

        Called when an agent ends, also by cancellation.

        Raises:
            NoContentError: the agent has ended without an answer.
        """
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return
        if turn := self._turn_of(callback_context.session):
            events, invocation_id = callback_context.session.events, callback_context.invocation_id
            _check_answered(turn, agent.name, callback_context.node_path, events, invocation_id)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        turn = self._turn_of(callback_context.session)
        agent = callback_context.get_invocation_context().agent
        model = getattr(agent, "canonical_model", None)
        if turn is None:
            await _pass_gate_unless_configured(model, llm_request)
            return None
        _add_what_the_client_brings(turn, llm_request)
        turn.offered[callback_context.agent_name] = offered_names(llm_request)
        turn.idempotent_tools[callback_context.agent_name] = frozenset(
            name for name, tool in llm_request.tools_dict.items() if is_idempotent(tool)
        )
        if repeats := _take_repeats(turn, callback_context):
            return LlmResponse(
                content=Content(
                    role="model", parts=[Part(function_call=repeat.call) for repeat in repeats]
                )
            )
        turn.check_limits(replaceable=isinstance(model, ConfiguredModel))
        await _pass_gate_unless_configured(model, llm_request)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        if llm_response.partial or llm_response.custom_metadata == NOT_CONFIGURED:
            return
        if (call := _passed.get()) is not None:
            _passed.set(None)
            with call:
                call.note(llm_response)
        if turn := self._turn_of(callback_context.session):
            turn.usage.model_calls += calls_of(llm_response.custom_metadata)
            if llm_response.error_code:
                turn.reported.add(llm_response.error_code)
            _replace_used_call_ids(llm_response, turn.call_ids)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Count the failed call, and detect missing keys.

        Raises:
            ConfigurationError: the call failed because the model has no key.
        """
        turn = self._turn_of(callback_context.session)
        if turn is None:
            return
        if isinstance(error, DailyLimitError):
            turn.raised = error  # raised before the call, so there is nothing to count
            return
        turn.usage.model_calls += 1
        model = getattr(callback_context.get_invocation_context().agent, "canonical_model", None)
        # Client libraries raise all kinds of errors for a missing key; Gemini's is a ValueError.
        if isinstance(model, BaseLlm):
            missing = await asyncio.to_thread(missing_key, model, current_models())
            if missing is not None:
                turn.raised = missing
                raise missing from error

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Count usage, and raise failures reported in events. Called before an event is stored.

        Raises:
            ModelReportedError: the event is a model's failure. Without the error, ADK would
                continue, for example with the next agent of a sequence, and pass the failed
                answer to later model calls.
            NoContentError: the event ends an agent that has not answered.
        """
        turn = self._turn_of(invocation_context.session)
        if turn is None or event.partial:
            return
        if event.usage_metadata:
            turn.usage.add(event.id, event.model_version, event.usage_metadata)
        if is_error(event) and event.error_code in turn.reported | _SET_BY_ADK:
            await _store_without_content(event, invocation_context)
            turn.raised = ModelReportedError(event.error_code or "", event.error_message)
            raise turn.raised
        # Not in a graph, which waits for its agents: `after_agent_callback` suffices there.
        if event.actions.end_of_agent and not event.node_info.path:
            events = invocation_context.session.events
            _check_answered(turn, event.author, "", events, event.invocation_id)
        _mark_calls(event, turn)

    def _turn_of(self, session: Session) -> RunningTurn | None:
        return self._turns.get((session.app_name, session.user_id, session.id))


async def _pass_gate_unless_configured(model: BaseLlm | None, request: LlmRequest) -> None:
    """Pass the gate for a model that an agent brings; configured models pass it themselves."""
    if model is not None and not isinstance(model, ConfiguredModel):
        _passed.set(await pass_gate(model.model, request))


def _add_what_the_client_brings(turn: RunningTurn, request: LlmRequest) -> None:
    """Add the client's tools and context; an answer that must have a form calls no client."""
    if turn.request.client_tools and request.config.response_schema is None:
        offer(turn.request.client_tools, request)
    if turn.request.context:
        request.append_instructions([turn.request.context])


def running_turn(context: InvocationContext) -> RunningTurn | None:
    """Return the turn that runs in a context's session; None if ODA does not run it."""
    plugin = context.plugin_manager.get_plugin(TurnPlugin.NAME)
    return plugin._turn_of(context.session) if isinstance(plugin, TurnPlugin) else None


async def _store_without_content(event: Event, context: InvocationContext) -> None:
    node_info = event.node_info.model_copy(update={"output_for": None, "message_as_output": None})
    record = event.model_copy(
        update={
            "content": None,
            "output": None,
            "node_info": node_info,
            "error_message": secrets.mask(event.error_message or ""),
        }
    )
    await context.session_service.append_event(context.session, record)


def _check_answered(
    turn: RunningTurn, agent: str, node_path: str, events: list[Event], invocation_id: str
) -> None:
    before = turn.said.get((agent, node_path))
    if before is None:
        return
    said = said_by(events, agent, node_path, invocation_id)
    if len(said) == before or not concludes(said[-1]):
        turn.raised = NoContentError("The model ended without an answer.")
        raise turn.raised


def _forget_earlier_rounds(parallel: ParallelAgent, context: InvocationContext) -> None:
    turn = events_of(context.session.events, context.invocation_id)
    for name in ended_in_earlier_round(turn, parallel):
        context.set_agent_state(name)


def _skip_if_finished(
    agent: BaseAgent, callback_context: CallbackContext, turn: RunningTurn
) -> Content | None:
    """Return empty content, which makes ADK end the agent, if its run is already finished."""
    context = callback_context.get_invocation_context()
    runs = turn.finished.get((agent.name, context.branch))
    if not runs:
        return None
    callback_context.actions.escalate = runs.pop(0) or None
    if context.is_resumable:
        context.set_agent_state(agent.name, end_of_agent=True)
        callback_context.actions.end_of_agent = True
    return Content(role="model", parts=[])


async def _close_other_turns(
    context: InvocationContext, invocation_id: str, ledger: ToolLedger | None
) -> None:
    """Seal open calls of interrupted turns, which ADK would drop from the prompt silently."""
    others = [event for event in context.session.events if event.invocation_id != invocation_id]
    for turn in dict.fromkeys(call.event.invocation_id for call in open_calls(others)):
        recorded = await ledger.of_turn(turn) if ledger is not None else None
        for seal in close_for_good(events_of(others, turn), "unknown", recorded):
            await context.session_service.append_event(context.session, seal)
        if ledger is not None:
            await ledger.close_turn(turn)


def _record_late_results(message: Content, invocation_id: str, ledger: ToolLedger) -> None:
    """Record results of long-running tools that arrive in a message."""
    for part in message.parts or ():
        response = part.function_response
        if response and response.id and not (response.name or "").startswith("adk_request_"):
            key = CallKey(invocation_id, original_call_id(response.id))
            ledger.finish(key, secrets.mask(json.dumps(response.response, default=str)))


def _replace_used_call_ids(response: LlmResponse, taken: set[str]) -> None:
    """Give calls with an id that is already used a new one.

    Some servers number calls from zero in each answer.
    """
    for part in (response.content and response.content.parts) or ():
        if (call := part.function_call) and call.id:
            if call.id in taken:
                call.id = f"{call.id}-{uuid4().hex[:12]}"
            taken.add(call.id)


def _take_repeats(turn: RunningTurn, context: CallbackContext) -> list[Repeat]:
    taken = [
        repeat
        for repeat in turn.repeats
        if repeat.agent == context.agent_name
        and (not repeat.node_path or repeat.node_path == context.node_path)
    ]
    turn.repeats = [repeat for repeat in turn.repeats if repeat not in taken]
    return taken


def _mark_calls(event: Event, turn: RunningTurn) -> None:
    """Store with calls what a resume after a crash must know before tools are listed."""
    called = {call.name or "" for call in event.get_function_calls()}
    if not called:
        return
    marks: dict[str, Any] = {}
    if idempotent := called & turn.idempotent_tools.get(event.author, frozenset()):
        marks[IDEMPOTENT_TOOLS] = sorted(idempotent)
    if turn.ledger is not None:
        marks[RECORDED_CALLS] = True
    if offered := called & turn.offered.get(event.author, frozenset()):
        calls = event.get_function_calls()
        marks[CLIENT_CALLS] = [call.id for call in calls if call.id and call.name in offered]
    if marks:
        event.custom_metadata = {**(event.custom_metadata or {}), **marks}
