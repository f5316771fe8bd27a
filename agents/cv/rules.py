"""Rules before the model: an ADK model callback that answers in the model's place when it can.

A message that rules settle leads to the same events as one that a model settles: function calls,
their responses, and a final text. The model is asked only when `decide` defers to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from mcp_tools.resume import Resume, ResumeError

from .dialogue.advice import known_advice
from .dialogue.asking import question, reminder
from .dialogue.attention import focus_after
from .dialogue.decide import decide, warm_up
from .dialogue.decision import Act, Ask, Decision, Defer, Outcome, ToolCall, ToolName
from .dialogue.phrases import phrase
from .dialogue.plan import after
from .dialogue.reporting import ToolResult, report
from .dialogue.understanding.message import language_of
from .dialogue.understanding.recognition import Recognition
from .files import files_of, keep_attachments
from .memory import Memory, ReplyType, Turn, current_turn
from .task_wishes import task_of

ModelCallback = Callable[[CallbackContext, LlmRequest], Awaitable[LlmResponse | None]]


def rules_before_model(*, model_available: Callable[[], bool]) -> ModelCallback:
    """Make the callback; `model_available` tells whether there is a model to defer to."""
    warm_up()

    async def rules(
        callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        memory = Memory(callback_context.state)
        turn = current_turn(callback_context)
        results = _latest_results(llm_request)
        if turn and results:
            return await asyncio.to_thread(_continued, memory, turn, results)
        text = _message(callback_context, llm_request)
        came = [*memory.attached, *await keep_attachments(callback_context)]
        task = task_of(text, came, await files_of(callback_context))
        # Which models there are is known on the event loop only.
        has_model = model_available()
        return await asyncio.to_thread(_started, memory, text, has_model, task)

    return rules


def _started(
    memory: Memory, text: str, has_model: bool, task: ToolCall | None
) -> LlmResponse | None:
    try:
        situation = memory.situation(datetime.now(tz=UTC).date())
    except ResumeError as error:
        language = language_of(text) or memory.language
        said = Recognition(language=language)
        failed = _turn(Outcome(Defer("unknown"), said, memory.pending, language))
        memory.turn = failed.model_copy(update={"type": "error"})
        return _text(error.message(language))
    outcome = decide(text, situation)
    if task:
        by_model = has_model and task.name == "CVFit"
        decision: Decision = Defer("long") if by_model else Act((task,))
        outcome = replace(outcome, decision=decision, pending=situation.pending)
    turn = _turn(outcome)
    decision = outcome.decision
    if isinstance(decision, Act):
        left = outcome.pending if outcome.pending != situation.pending else None
        asked = _asked_then(decision, outcome, situation.resume)
        memory.turn = turn.model_copy(update={"left": left, "question": asked})
        return _call(decision.calls[0])
    memory.pending = outcome.pending
    if isinstance(decision, Defer):
        if has_model:
            is_advice = decision.reason == "advice"
            memory.turn = turn.model_copy(update={"layer": "llm", "advice": is_advice})
            return None
        kind = "clarify" if decision.reason == "unknown" else "text"
        memory.turn = turn.model_copy(update={"layer": "none", "type": kind})
        return _text(_unmodelled(decision, outcome, situation.resume))
    memory.turn = turn
    return _text(question(decision, outcome, situation.resume))


def _continued(
    memory: Memory, turn: Turn, answered: Sequence[tuple[ToolCall, ToolResult]]
) -> LlmResponse | None:
    """Go on after tools have answered: with the next call, or with the reply."""
    results = (*turn.results, *(result for _, result in answered))
    memory.focus = focus_after(memory.focus, answered)
    if turn.layer == "llm":
        calls = (*turn.calls, *(call for call, _ in answered))
        told = turn.model_copy(update={"calls": calls, "results": results})
        memory.turn = told.with_pending(memory.pending)
        return None
    failed = not results[-1].success
    kind = "error" if failed else "tool_result"
    told = turn.model_copy(update={"results": results, "type": kind})
    memory.turn = told.with_pending(memory.pending)
    if not failed and len(results) < len(turn.calls):
        return _call(turn.calls[len(results)])
    steps = list(zip(turn.calls, results, strict=False))
    said = report(steps, memory.resume, turn.language)
    left = turn.question or reminder(memory.pending, memory.resume, turn.language)
    return _text(f"{said}\n{left}" if left else said)


def _turn(outcome: Outcome) -> Turn:
    said, decision = outcome.recognition, outcome.decision
    kinds: dict[type, ReplyType] = {Act: "tool_call", Ask: "clarify"}
    turn = Turn(
        language=outcome.language,
        layer="rules",
        type=kinds.get(type(decision), "text"),
        intent=said.intent.value,
        section=said.section,
        confidence=said.confidence,
        calls=decision.calls if isinstance(decision, Act) else (),
    )
    return turn.with_pending(outcome.pending)


def _asked_then(act: Act, outcome: Outcome, resume: Resume) -> str:
    """Return the question that follows on what is done; it is about the resume as it is then."""
    return question(act.then, outcome, after(act.calls, resume)) if act.then else ""


def _unmodelled(decision: Defer, outcome: Outcome, resume: Resume) -> str:
    """Say honestly what needs a model, what rules know about it, and what is unfinished."""
    if decision.reason == "advice":
        today = datetime.now(tz=UTC).date()
        said = known_advice(resume, outcome.recognition.section, outcome.language, today=today)
    else:
        said = phrase(f"no_model_{decision.reason}", outcome.language)
    left = reminder(outcome.pending, resume, outcome.language)
    return f"{said}\n{left}" if left else said


def _message(context: CallbackContext, request: LlmRequest) -> str:
    """Return the words of the message that this invocation answers."""
    content = context.user_content or next(
        (content for content in reversed(request.contents) if content.role == "user"), None
    )
    parts = content.parts if content and content.parts else []
    return "\n".join(part.text for part in parts if part.text).strip()


def _latest_results(request: LlmRequest) -> list[tuple[ToolCall, ToolResult]]:
    """Return the tool calls that the end of the conversation answers."""
    if not request.contents:
        return []
    calls = {
        part.function_call.id: part.function_call
        for content in request.contents
        for part in content.parts or []
        if part.function_call
    }
    found: list[tuple[ToolCall, ToolResult]] = []
    for part in request.contents[-1].parts or []:
        response = part.function_response
        if response and response.name in get_args(ToolName):
            call = calls.get(response.id)
            params = dict(call.args or {}) if call else {}
            answer = response.response or {}
            result = ToolResult.model_validate({"success": "error" not in answer, **answer})
            found.append((ToolCall(name=response.name, params=params), result))
    return found


def _call(call: ToolCall) -> LlmResponse:
    part = types.Part.from_function_call(name=call.name, args=dict(call.params))
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def _text(text: str) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))
