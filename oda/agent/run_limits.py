"""Limits of a single run of an agent, after which it must conclude with what it has.

They are softer than the limits of a turn, which make the turn fail: the last allowed model call is
told to conclude and may only call what ends the run, so the run has an answer. Each call is told
how many are left. Usage is read from the stored events of the turn, so counting continues after a
crash; failed calls that were retried do not count.

A run may have to leave something behind, its `Deliverable`. The last call may still make it, and an
answer that would end the run without it makes the next call the last one.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import (
    Content,
    FinishReason,
    FunctionCall,
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

_WITHOUT_RESULT = "an answer without the result"
"""In place of a limit: the run would have ended without its deliverable."""
_LATE = 3
"""Rounds before the end from which on a model is told at each what is missing."""

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
class Deliverable:
    """What a run has to leave behind."""

    missing: Callable[[CallbackContext, str], Awaitable[str | None]]
    """Tells the model what is missing, given the answer with which it would end, if it would; None
    if nothing is, or the answer is it."""
    tools: Collection[str]
    """Tools that make it, which may be called in the last round, too."""
    look: FunctionCall
    """The call that is made for a model that would end without it, to see what there is."""


@dataclass(frozen=True)
class LimitedRun:
    """Model callbacks that enforce the limits of an agent's run."""

    limits: RunLimits
    clock: Clock
    deliverable: Deliverable | None = None

    async def before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Tell how many calls are left and the last one to conclude; refuse further calls.

        A `before_model_callback`.
        """
        said = _agent_events(callback_context)
        if concluding := next((event for event in said if _mark(event, CONCLUDED_AT)), None):
            limit = str(_mark(concluding, CONCLUDED_AT))
            return (
                _spent_answer(limit) if concluding.get_function_calls() else _stopped_answer(limit)
            )
        asked_at = last_asked_at(callback_context.session.events, callback_context.invocation_id)
        reached = reached_limit(self.limits, said, running_s=self.clock.now() - asked_at)
        if any(_mark(event, _WITHOUT_RESULT) for event in said):
            reached = reached or _WITHOUT_RESULT
        if reached is not None:
            callback_context.state[_key(callback_context)] = reached
            missing = await self._missing(callback_context)
            _conclude(llm_request, reached, self._ending_tools, missing)
        elif self.limits.rounds is not None:
            left = self.limits.rounds - rounds_of(said)
            late = left <= _LATE and await self._missing(callback_context)
            _tell(llm_request, self.limits.rounds, left, late or None)
        return None

    async def after_model(
        self, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Number the round, and drop function calls from the concluding answer.

        An answer that would end the run without its deliverable goes on with a look at what there
        is. An `after_model_callback`.
        """
        reached = callback_context.state.get(_key(callback_context))
        if reached is not None:
            _drop_calls(llm_response, reached, self._ending_tools)
        if llm_response.partial or llm_response.content is None:
            return
        marks: dict[str, object] = {ROUND: rounds_of(_agent_events(callback_context)) + 1}
        if reached is not None:
            marks[CONCLUDED_AT] = reached
        elif _would_end(llm_response) and await self._missing(
            callback_context, answer=_text(llm_response.content)
        ):
            llm_response.content = self._with_look(llm_response.content)
            marks[_WITHOUT_RESULT] = True
        llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), **marks}

    def _with_look(self, content: Content) -> Content:
        assert self.deliverable is not None
        call = Part(function_call=self.deliverable.look.model_copy())
        return content.model_copy(update={"parts": [*(content.parts or ()), call]})

    @property
    def _ending_tools(self) -> Collection[str]:
        return {*_ENDING_TOOLS, *(self.deliverable.tools if self.deliverable else ())}

    async def _missing(self, context: CallbackContext, answer: str = "") -> str | None:
        return None if self.deliverable is None else await self.deliverable.missing(context, answer)


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


def _mark(event: Event, name: str) -> object:
    return (event.custom_metadata or {}).get(name)


def _text(content: Content) -> str:
    return "".join(part.text or "" for part in content.parts or () if not part.thought)


def _would_end(response: LlmResponse) -> bool:
    """Return whether an answer has no calls, so that the run ends with it."""
    parts = (response.content and response.content.parts) or ()
    return not response.error_code and not any(part.function_call for part in parts)


def _tell(request: LlmRequest, rounds: int, left: int, missing: str | None) -> None:
    """Tell how many rounds are left: in the newest results of tools, so that the rest of the prompt
    stays as it was and a provider's cache holds."""
    request.append_instructions(
        [
            f"You have {rounds} rounds for this task; an answer of yours is one. The newest "
            "results of tools say in rounds_left how many there still are."
        ]
    )
    if left == rounds or not request.contents:
        return
    told: dict[str, object] = {"rounds_left": left}
    if missing is not None:
        told["still_missing"] = missing
    *before, last = request.contents
    parts = [_with_result(part, told) for part in last.parts or ()]
    if not any(part.function_response for part in parts):
        words = "; ".join(f"{name}: {value}" for name, value in told.items())
        parts.append(Part(text=f"({words})"))
    request.contents = [*before, last.model_copy(update={"parts": parts})]


def _with_result(part: Part, told: Mapping[str, object]) -> Part:
    """Return a copy of a tool's result with more in it; of other parts the part."""
    if (answer := part.function_response) is None:
        return part
    more = answer.model_copy(update={"response": {**(answer.response or {}), **told}})
    return part.model_copy(update={"function_response": more})


def _conclude(
    request: LlmRequest, reached: str, ending_tools: Collection[str], missing: str | None
) -> None:
    """Tell the model to conclude, and allow only calls that end the run.

    The tools stay declared, because providers require declarations of the tools in the history.
    """
    config = request.config
    config.tools = [
        tool for tool in config.tools or () if getattr(tool, "function_declarations", None)
    ]
    ending = sorted(request.tools_dict.keys() & ending_tools)
    why = (
        "You have answered, but the result is missing."
        if reached == _WITHOUT_RESULT
        else f"You have reached the limit of {reached} for this task."
    )
    if missing is not None:
        what = f"{missing} Do it now, with what you have, and say in it what is missing."
    else:
        what = "Conclude now with what you have, and say what is missing."
    tools = f"Of the tools only {', '.join(ending)} can be called." if ending else ""
    last = f"{why} This is your last answer: {what} {tools or 'Call no further tools.'}"
    request.append_instructions([last])
    if not config.tools:
        return
    mode = FunctionCallingConfigMode
    if ending and (missing is not None or set(ending) <= _ENDING_TOOLS):
        choice = FunctionCallingConfig(mode=mode.ANY, allowed_function_names=ending)
    else:
        choice = FunctionCallingConfig(mode=mode.AUTO if ending else mode.NONE)
    config.tool_config = ToolConfig(function_calling_config=choice)


def _drop_calls(response: LlmResponse, reached: str, ending_tools: Collection[str]) -> None:
    """Remove calls that the model makes nevertheless; the rest is the answer."""
    failed = response.error_code in _CALLS_THAT_FAILED
    parts = (response.content and response.content.parts) or []
    kept = [
        part
        for part in parts
        if part.function_call is None or part.function_call.name in ending_tools
    ]
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


def _stopped_answer(reached: str) -> LlmResponse:
    return _answer(f"I have stopped at {_named(reached)} for this task, before it was finished.")


def _spent_answer(reached: str) -> LlmResponse:
    return _answer(
        f"I have stopped at {_named(reached)} for this task; the last went into the result."
    )


def _named(reached: str) -> str:
    return "the last round" if reached == _WITHOUT_RESULT else f"the limit of {reached}"


def _answer(text: str) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]))
