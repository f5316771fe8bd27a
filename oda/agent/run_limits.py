"""Limits of a single run of an agent, after which it must conclude with what it has.

They are softer than the limits of a turn, which make the turn fail: the last allowed model call is
told to conclude and gets no tools, so the run has an answer. Usage is read from the stored events
of the turn, so counting continues after a crash; failed calls that were retried do not count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import (
    Content,
    FinishReason,
    FunctionCallingConfig,
    FunctionCallingConfigMode,
    Part,
    ToolConfig,
)
from pydantic import BaseModel, ConfigDict, Field

from oda.agent.agent_record import said_by
from oda.agent.limits import Limits, Usage, exceeded_limit
from oda.agent.resume import events_of
from oda.clock import Clock

ROUND = "oda_round"
"""Key in the `custom_metadata` of a model's answer: the number of its round, starting at 1."""
CONCLUDED_AT = "oda_concluded_at"
"""Key in the `custom_metadata` of a concluding answer: the limit, such as `15 rounds`."""

_ENDING_TOOLS = frozenset({"set_model_response", "finish_task"})
"""ADK's own tools with which an agent gives its answer."""
_CALLS_THAT_FAILED = (FinishReason.MALFORMED_FUNCTION_CALL, FinishReason.UNEXPECTED_TOOL_CALL)


class RunLimits(BaseModel):
    """Limits of a run of an agent within a turn; None means no limit.

    The last round concludes. For the other limits, the first call after the limit concludes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int | None = Field(default=15, ge=1)
    """Model calls."""
    wall_s: float | None = Field(default=None, gt=0)
    """Seconds since the last message of a person, so that waiting for a person does not count."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars, where the model's price is known."""


@dataclass(frozen=True)
class LimitedRun:
    """Model callbacks that enforce the limits of an agent's run."""

    limits: RunLimits
    clock: Clock

    async def before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Tell the last allowed call to conclude, and refuse further calls.

        A `before_model_callback`.
        """
        said = _agent_events(callback_context)
        marks = [(event.custom_metadata or {}).get(CONCLUDED_AT) for event in said]
        if concluded_at := next(filter(None, marks), None):
            return _stopped_answer(concluded_at)
        asked_at = last_asked_at(callback_context.session.events, callback_context.invocation_id)
        reached = reached_limit(self.limits, said, running_s=self.clock.now() - asked_at)
        if reached is not None:
            callback_context.state[_key(callback_context)] = reached
            _conclude(llm_request, reached)
        return None

    async def after_model(
        self, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Number the round, and drop function calls from the concluding answer.

        An `after_model_callback`.
        """
        reached = callback_context.state.get(_key(callback_context))
        if reached is not None:
            _drop_calls(llm_response, reached)
        if llm_response.partial or llm_response.content is None:
            return
        marks = {ROUND: rounds_of(_agent_events(callback_context)) + 1}
        if reached is not None:
            marks[CONCLUDED_AT] = reached
        llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), **marks}


def reached_limit(limits: RunLimits, said: Sequence[Event], *, running_s: float) -> str | None:
    """Return the limit because of which the next call must conclude, such as `15 rounds`, if any.

    Args:
        limits: The limits of the run.
        said: The agent's events in the turn.
        running_s: Seconds since the last message of a person.
    """
    if limits.rounds is not None and rounds_of(said) + 1 >= limits.rounds:
        return f"{limits.rounds} rounds"
    if limits.wall_s is not None and running_s >= limits.wall_s:
        return f"{limits.wall_s:g} seconds"
    usage = Usage()
    usage.recall(said)
    counted = Limits(model_calls=None, tokens=limits.tokens, cost_usd=limits.cost_usd)
    return exceeded_limit(usage, counted)


def rounds_of(said: Sequence[Event]) -> int:
    """Return the number of rounds in the events of an agent."""
    return max((int((event.custom_metadata or {}).get(ROUND, 0)) for event in said), default=0)


def last_asked_at(events: Iterable[Event], invocation_id: str) -> float:
    """Return the time of the last message of a person in the turn, in epoch seconds.

    Infinity if there is none.
    """
    said = (  # the inputs of graph nodes also have the author `user`, but have a path
        event.timestamp
        for event in events_of(events, invocation_id)
        if event.author == "user" and not event.node_info.path
    )
    return max(said, default=float("inf"))


def _agent_events(context: CallbackContext) -> list[Event]:
    return said_by(
        context.session.events, context.agent_name, context.node_path, context.invocation_id
    )


def _key(context: CallbackContext) -> str:
    """Return the temporary state key of the limit because of which the agent must conclude."""
    return f"temp:oda_concludes:{context.agent_name}:{context.node_path}"


def _conclude(request: LlmRequest, reached: str) -> None:
    """Tell the model to conclude, and allow only calls that end the run.

    The tools stay declared, because providers require declarations of the tools in the history.
    """
    request.append_instructions(
        [
            f"You have reached the limit of {reached} for this task. This is your last answer: "
            "conclude now with what you have, and say what is missing. Call no further tools."
        ]
    )
    config = request.config
    config.tools = [
        tool for tool in config.tools or () if getattr(tool, "function_declarations", None)
    ]
    if not config.tools:
        return
    mode = FunctionCallingConfigMode
    ending = sorted(_ENDING_TOOLS & request.tools_dict.keys())
    choice = (
        FunctionCallingConfig(mode=mode.ANY, allowed_function_names=ending)
        if ending
        else FunctionCallingConfig(mode=mode.NONE)
    )
    config.tool_config = ToolConfig(function_calling_config=choice)


def _drop_calls(response: LlmResponse, reached: str) -> None:
    """Remove calls that the model makes nevertheless; the rest is the answer."""
    failed = response.error_code in _CALLS_THAT_FAILED
    parts = (response.content and response.content.parts) or []
    kept = [part for part in parts if not _is_dropped(part)]
    if len(kept) == len(parts) and not failed:
        return
    if response.partial:
        response.content = Content(role="model", parts=kept) if kept else None
        return
    response.error_code = response.error_message = None
    response.finish_reason = FinishReason.STOP
    if any(part.function_call or (part.text and not part.thought) for part in kept):
        response.content = Content(role="model", parts=kept)
    else:
        response.content = _stopped_answer(reached).content


def _is_dropped(part: Part) -> bool:
    return part.function_call is not None and part.function_call.name not in _ENDING_TOOLS


def _stopped_answer(reached: str) -> LlmResponse:
    text = f"I have stopped at the limit of {reached} for this task, before it was finished."
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]))
