"""What one run of one agent may use up before it must come to an end with what it has.

Softer than the limits of a turn, which end it as failed: the last model call that is left is told
to conclude and gets no tools, so there is an answer. What has been used is read from the stored
events of the turn, so a run that goes on after a crash goes on counting; calls that failed and were
made again are not rounds.
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
"""Key in the `custom_metadata` of a model's answer: the number of its round, from 1."""
CONCLUDED_AT = "oda_concluded_at"
"""Key in the `custom_metadata` of a concluding answer: the limit, such as `15 rounds`."""

_ENDING_TOOLS = frozenset({"set_model_response", "finish_task"})
"""ADK's own tools by which an agent gives its answer."""
_CALLS_THAT_FAILED = (FinishReason.MALFORMED_FUNCTION_CALL, FinishReason.UNEXPECTED_TOOL_CALL)


class RunLimits(BaseModel):
    """Limits of one run of one agent within a turn; None means no limit.

    Of the rounds the last one concludes; of the others, the first call after they are used up.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int | None = Field(default=15, ge=1)
    """Calls of the model."""
    wall_s: float | None = Field(default=None, gt=0)
    """Seconds since a person has last said something, so that waiting for one does not count."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars, where the model's price is known."""


@dataclass(frozen=True)
class LimitedRun:
    """Model callbacks that hold an agent to its limits."""

    limits: RunLimits
    clock: Clock

    async def before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """A `before_model_callback`: the last call is told to conclude; none comes after it."""
        said = _said(callback_context)
        marks = [(event.custom_metadata or {}).get(CONCLUDED_AT) for event in said]
        if concluded_at := next(filter(None, marks), None):
            return _answer(concluded_at)
        asked_at = last_asked_at(callback_context.session.events, callback_context.invocation_id)
        reached = reached_limit(self.limits, said, running_s=self.clock.now() - asked_at)
        if reached is not None:
            callback_context.state[_key(callback_context)] = reached
            _conclude(llm_request, reached)
        return None

    async def after_model(
        self, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """An `after_model_callback`: numbers the round, and drops the calls of the last one."""
        reached = callback_context.state.get(_key(callback_context))
        if reached is not None:
            _drop_calls(llm_response, reached)
        if llm_response.partial or llm_response.content is None:
            return
        marks = {ROUND: rounds_of(_said(callback_context)) + 1}
        if reached is not None:
            marks[CONCLUDED_AT] = reached
        llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), **marks}


def reached_limit(limits: RunLimits, said: Sequence[Event], *, running_s: float) -> str | None:
    """The limit for which the next call must conclude, such as `15 rounds`. Pure."""
    if limits.rounds is not None and rounds_of(said) + 1 >= limits.rounds:
        return f"{limits.rounds} rounds"
    if limits.wall_s is not None and running_s >= limits.wall_s:
        return f"{limits.wall_s:g} seconds"
    usage = Usage()
    usage.recall(said)
    counted = Limits(model_calls=None, tokens=limits.tokens, cost_usd=limits.cost_usd)
    return exceeded_limit(usage, counted)


def rounds_of(said: Sequence[Event]) -> int:
    """How many rounds the events of an agent hold."""
    return max((int((event.custom_metadata or {}).get(ROUND, 0)) for event in said), default=0)


def last_asked_at(events: Iterable[Event], invocation_id: str) -> float:
    """When a person has last said something in the turn; what a graph puts in has a path. Pure."""
    said = (
        event.timestamp
        for event in events_of(events, invocation_id)
        if event.author == "user" and not event.node_info.path
    )
    return max(said, default=float("inf"))


def _said(context: CallbackContext) -> list[Event]:
    return said_by(
        context.session.events, context.agent_name, context.node_path, context.invocation_id
    )


def _key(context: CallbackContext) -> str:
    """Of the state that holds during the turn: why this agent's call must conclude."""
    return f"temp:oda_concludes:{context.agent_name}:{context.node_path}"


def _conclude(request: LlmRequest, reached: str) -> None:
    """Tell the model to come to its end, and let it call nothing but what ends the run.

    The tools stay declared, as providers want those of the history to be; none may be chosen.
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
    """Take out calls that are made all the same; what is left is the answer."""
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
        response.content = _answer(reached).content


def _is_dropped(part: Part) -> bool:
    return part.function_call is not None and part.function_call.name not in _ENDING_TOOLS


def _answer(reached: str) -> LlmResponse:
    text = f"I have stopped at the limit of {reached} for this task, before it was finished."
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]))
