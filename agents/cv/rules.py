"""Rules before the model: an ADK model callback that answers in the model's place when it can.

A message that rules settle leads to the same events as one that a model settles: function calls,
their responses, and a final text. The model is asked only when `decide` defers to it.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.genai import types

from mcp_tools.resume import Resume, ResumeError

from .dialogue.asking import question, reminder
from .dialogue.decide import Situation, decide
from .dialogue.decision import Act, Ask, Defer, Outcome, Say, ToolCall
from .dialogue.pending import PendingEntry
from .dialogue.phrases import phrase
from .dialogue.reporting import ToolResult, report
from .memory import Memory, Turn

ModelCallback = Callable[[CallbackContext, LlmRequest], Awaitable[LlmResponse | None]]


def rules_before_model(*, model_available: Callable[[], bool]) -> ModelCallback:
    """Make the callback; `model_available` tells whether there is a model to defer to."""

    async def rules(
        callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        memory = Memory(callback_context.state)
        turn = memory.turn
        results = _latest_results(llm_request)
        if turn and results and turn.invocation_id == callback_context.invocation_id:
            return _continued(memory, turn, results)
        text = _message(callback_context, llm_request)
        return _started(memory, text, callback_context.invocation_id, model_available)

    return rules


def _started(
    memory: Memory, text: str, invocation_id: str, model_available: Callable[[], bool]
) -> LlmResponse | None:
    try:
        resume = memory.settle_resume()
    except ResumeError as error:
        return _text(error.message(memory.language))
    today = datetime.now(tz=UTC).date()
    outcome = decide(text, Situation(resume, memory.pending, memory.language, today))
    memory.pending = outcome.pending
    turn = _turn(outcome, invocation_id)
    decision = outcome.decision
    if isinstance(decision, Act):
        memory.turn = turn
        return _call(decision.calls[0])
    if isinstance(decision, Defer):
        if model_available():
            memory.turn = turn.model_copy(update={"layer": "llm"})
            return None
        kind = "clarify" if decision.reason == "unknown" else "text"
        memory.turn = turn.model_copy(update={"layer": "none", "type": kind})
        return _text(_unmodelled(decision, outcome))
    memory.turn = turn
    return _text(_spoken(decision, outcome, resume))
