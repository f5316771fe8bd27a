"""The gate that each model call passes: it checks cancellation and the user's daily budget.

A running turn, and a request to an application's own routes, set a gate. Every model call made on
their behalf passes it: agents, steps, agents behind adapters and tools, summaries, fallbacks,
transcription. Calls of configured models pass it in `guarded.py`, calls of an agent's other models
in `turn_plugin.py`.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from oda.agent.day_budget import DayBudgets
from oda.agent.limits import Usage
from oda.agent.model.prices import cost_usd

_CHARACTERS_PER_TOKEN = 4
_TOKENS_OF_AN_ANSWER = 500
"""Estimate for requests that do not limit the length of the answer."""


class ModelGate:
    """Admits the model calls of one turn or one request.

    Args:
        days: Daily budgets of all users; None if calls are not drawn from them.
        user_id: The user who pays.
        bounded: Whether daily limits apply; the user may have lifted them.
        before_call: Awaited before each call; it raises if no call is wanted any more.
    """

    def __init__(
        self,
        days: DayBudgets | None,
        user_id: str,
        *,
        bounded: bool = True,
        before_call: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.exceeded: str | None = None
        """The daily limit for which a call was refused, such as `20 model calls`."""
        self._days = days
        self._user_id = user_id
        self._bounded = bounded
        self._cheaper_model = days.cheaper_model if days is not None else None
        self._before_call = before_call

    async def enter(self, model: str, request: LlmRequest | None) -> "ModelCall":
        """Admit a call.

        Raises:
            DailyLimitError: the user's day is used up.
        """
        if self._before_call is not None:
            await self._before_call()
        if self._days is None:
            return ModelCall()
        expected = _expected(model, request if self._days.counts_tokens else None)
        is_cheap = self._cheaper_model is not None and stand_in.get() == self._cheaper_model
        day = self._days.today
        exceeded = await self._days.draw(
            self._user_id, day, expected, bounded=self._bounded and not is_cheap
        )
        if exceeded is not None:
            self.exceeded = exceeded
            raise self._days.used_up(exceeded)
        return ModelCall(self._days, self._user_id, day, model, expected)

    def give_way(self) -> bool:
        """Switch to the cheaper model; return False if there is none or it is already in use."""
        if self._cheaper_model is None or stand_in.get() == self._cheaper_model:
            return False
        stand_in.set(self._cheaper_model)
        return True


@dataclass
class ModelCall:
    """An admitted call; on exit the day is corrected by the actual usage."""

    days: DayBudgets | None = None
    user_id: str = ""
    day: str = ""
    model: str = ""
    expected: Usage | None = None
    _used: Usage | None = None

    def note(self, response: LlmResponse) -> None:
        """Record the usage that a response reports."""
        tokens = response.usage_metadata
        if self.days is not None and tokens is not None and not response.partial:
            self._used = Usage()
            self._used.add("", response.model_version or self.model, tokens)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.days is None or self.expected is None:
            return
        used = self._used or (Usage() if isinstance(exc, Exception) else self.expected)
        if used is not self.expected:  # else the usage is unknown, e.g. the call was cut off
            self.days.add(self.user_id, self.day, _difference(used, self.expected))


stand_in: ContextVar[str | None] = ContextVar("oda_stand_in_model", default=None)
"""Name of the model that replaces the configured ones at a used-up limit; None if none does."""

calls_left: ContextVar[int | None] = ContextVar("oda_model_calls_left", default=None)
"""How many calls the turn may make, this one included; None if that is not limited."""

listener: ContextVar[Callable[[LlmResponse], None] | None] = ContextVar(
    "oda_model_listener", default=None
)
"""Told each whole answer of a configured model; None if nobody listens."""

current_gate: ContextVar[ModelGate | None] = ContextVar("oda_model_gate", default=None)
"""The gate of the current turn or request; None if calls are not limited."""


async def pass_gate(model: str, request: LlmRequest | None = None) -> ModelCall:
    """Pass the current gate before a model call; leave the returned context when the call ends.

    Raises:
        DailyLimitError: the user's day is used up.
    """
    gate = current_gate.get()
    return ModelCall() if gate is None else await gate.enter(model, request)


def _expected(model: str, request: LlmRequest | None) -> Usage:
    """Return the estimated usage of a call; without a request, only the call itself is counted."""
    if request is None:
        return Usage(model_calls=1)
    parts = [part for content in request.contents for part in content.parts or ()]
    size = len(str(request.config.system_instruction or ""))
    for part in parts:
        called = part.function_call or part.function_response
        size += len(part.text or "") + (len(str(called)) if called else 0)
    usage = Usage(
        model_calls=1,
        input_tokens=size // _CHARACTERS_PER_TOKEN,
        output_tokens=request.config.max_output_tokens or _TOKENS_OF_AN_ANSWER,
    )
    usage.cost_usd = cost_usd(model, usage.input_tokens, usage.output_tokens)
    return usage


def _difference(used: Usage, expected: Usage) -> Usage:
    return Usage(
        input_tokens=used.input_tokens - expected.input_tokens,
        output_tokens=used.output_tokens - expected.output_tokens,
        cost_usd=(used.cost_usd or 0.0) - (expected.cost_usd or 0.0),
    )
