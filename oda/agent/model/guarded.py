"""Models that fail in an orderly way: circuit breaker, time limit, complete answers, fallback."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.adk.models import FallbackModel
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from oda.agent.failure import classify
from oda.agent.model.gate import listener, pass_gate
from oda.agent.model.litellm_import import litellm_ready
from oda.errors import CircuitOpenError, IncompleteAnswerError

if TYPE_CHECKING:
    from google.adk.models._capabilities import LlmCapabilities


@dataclass
class Breaker:
    """Circuit that opens after `failures` consecutive failures.

    Every `pause_s` seconds, one call is let through. Times are seconds of the caller's clock.
    """

    failures: int
    pause_s: float
    _in_a_row: int = 0
    _opened_at: float | None = None

    def check(self, name: str, now: float) -> None:
        """Check that a call is allowed.

        Raises:
            CircuitOpenError: the circuit is open; `retry_after_s` is the remaining time.
        """
        if self._opened_at is None:
            return
        wait = self._opened_at + self.pause_s - now
        if wait > 0:
            raise CircuitOpenError(
                f"The model {name!r} has failed {self._in_a_row} times in a row and is left alone.",
                retry_after_s=wait,
            )
        self._opened_at = now

    def failed(self, now: float) -> None:
        """Count a failure caused by the model rather than by the request."""
        self._in_a_row += 1
        if self._in_a_row >= self.failures:
            self._opened_at = now

    def succeeded(self) -> None:
        """Close the circuit."""
        self._in_a_row = 0
        self._opened_at = None


class Guarded(BaseLlm):
    """A model with a circuit breaker, a time limit and a check for incomplete answers."""

    target: BaseLlm
    breaker: Breaker
    clock: Any
    timeout_s: float
    """Time limit for the whole answer, or for each chunk of a stream."""
    needs_litellm: bool
    ends_with_reason: bool
    """Whether each complete answer of the target has a finish reason."""

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.breaker.check(self.model, self.clock.now())
        if self.needs_litellm:
            await litellm_ready()
        llm_request.model = self.target.model
        with await pass_gate(self.model, llm_request) as call:
            try:
                async with aclosing(self.target.generate_content_async(llm_request, stream)) as out:
                    while (response := await self._next(out)) is not None:
                        call.note(response)
                        if not response.partial and (told := listener.get()) is not None:
                            told(response)
                        yield response
            except Exception as error:
                now = self.clock.now()
                if classify(error, now=now).retryable:
                    self.breaker.failed(now)
                raise
            self.breaker.succeeded()

    async def _next(self, responses: AsyncGenerator[LlmResponse, None]) -> LlmResponse | None:
        async with asyncio.timeout(self.timeout_s):
            response = await anext(responses, None)
        if response is not None and self.ends_with_reason and _is_incomplete(response):
            raise IncompleteAnswerError("The model's answer ended before it was complete.")
        return response


def _is_incomplete(response: LlmResponse) -> bool:
    return not response.partial and not response.error_code and response.finish_reason is None


class Fallback(FallbackModel):
    """Tries models in order; any retryable failure, such as a timeout, moves on to the next."""

    def _should_fall_back(self, error: BaseException) -> bool:
        return classify(error, now=0.0).retryable
