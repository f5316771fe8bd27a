"""Rule 7: fallback models, limits of a turn, and the circuit breaker."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

from oda.agent.limits import TurnLimits
from oda.agent.model.guarded import Breaker, Fallback, Guarded
from oda.agent.outcome import outcome_of
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Echo, Error, Hang, Text, ToolCalls, Usage
from oda.testing.scripted_model import InProcessStep, Raise, Respond
from tests.support.roots import GRAPH_OF_THREE, LLM, SEQUENTIAL, Cast, Kind, agents_of, every_kind
from tests.support.stage import STREAMED, Stage, stage
from tests.support.transcript import transcript

DOWN = Error(status=503)
ANSWER = Text(text="answer")
REFUSED = "system! NON_RETRYABLE_ERROR"


def work(step: str, usage: Usage | None = None) -> ToolCalls:
    call = Call(name="work", args={"step": step}, id=f"c-{step}")
    return ToolCalls(calls=(call,), usage=usage)


def why(events: Any) -> tuple[str, str]:
    error = outcome_of(events).error or {}
    return error["code"], error["message"]


# --- limits


@every_kind
async def test_rule_7_model_calls_of_all_agents_and_attempts_are_limited(kind: Kind) -> None:
    free = await stage(kind, [work("a"), ANSWER])
    await free.ask()
    needed = sum(len(model.requests) for model in free.cast.models.values())

    enough = await stage(kind, [DOWN, work("a"), DOWN, ANSWER])
    answered = await enough.ask(limits=TurnLimits(model_calls=needed + 2))
    assert outcome_of(answered).status == "succeeded"
    assert enough.agent.last_turn is not None
    assert enough.agent.last_turn.usage.model_calls == needed + 2

    less = await stage(kind, [DOWN, work("a"), DOWN, ANSWER])
    events = await less.ask(limits=TurnLimits(model_calls=needed + 1))
    assert transcript(events)[-1] == REFUSED
    assert why(events) == (
        "limit_exceeded",
        f"The turn has used up its limit of {needed + 1} model calls."
        " (raise the limit or ask for less in one turn)",
    )


async def test_rule_7_tokens_are_limited_over_all_attempts() -> None:
    usage = Usage(prompt_tokens=40, completion_tokens=10)
    play = await stage(
        LLM, [work("a", usage), DOWN, work("b", usage), ANSWER], limits=TurnLimits(tokens=100)
    )
    events = await play.ask()
    assert why(events)[0] == "limit_exceeded"
    assert play.cast.effects == ["a", "b"]
    assert play.agent.last_turn is not None
    assert play.agent.last_turn.usage.input_tokens == 80
    assert play.agent.last_turn.usage.output_tokens == 20


async def test_rule_7_tokens_of_a_streamed_answer_are_counted_once() -> None:
    usage = Usage(prompt_tokens=40, completion_tokens=10)
    play = await stage(LLM, [Text(text="a b c d", usage=usage)])
    await play.ask(run_config=STREAMED)
    assert play.agent.last_turn is not None
    assert play.agent.last_turn.usage.input_tokens == 40
    assert play.agent.last_turn.usage.model_calls == 1


async def test_rule_7_cost_is_limited_where_the_price_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cost_per_token(*, model: str, prompt_tokens: int, completion_tokens: int) -> Any:
        assert model == "priced"
        return prompt_tokens * 0.01, completion_tokens * 0.02

    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(cost_per_token=cost_per_token))
    call = Part.from_function_call(name="work", args={"step": "a"})
    priced = LlmResponse(
        content=Content(role="model", parts=[call]),
        model_version="priced",
        usage_metadata=GenerateContentResponseUsageMetadata(
            prompt_token_count=100, candidates_token_count=50
        ),
    )
    play = await stage(
        LLM, [Respond(responses=(priced,), times=None)], limits=TurnLimits(cost_usd=3.5)
    )
    assert why(await play.ask())[0] == "limit_exceeded"
    assert play.agent.last_turn is not None
    assert play.agent.last_turn.usage.cost_usd == pytest.approx(4.0)


@every_kind
async def test_rule_7_time_of_a_turn_is_limited(kind: Kind) -> None:
    play = await stage(kind, [Hang()], limits=TurnLimits(timeout_s=0.15))
    events = await play.ask()
    assert transcript(events)[-1] == REFUSED
    assert why(events)[0] == "limit_exceeded"
    assert play.agent.is_ready()


async def test_rule_7_waits_between_attempts_count_for_the_time_of_a_turn() -> None:
    play = await stage(LLM, [DOWN, DOWN, Hang()], limits=TurnLimits(timeout_s=3.2))
    events = await play.ask()
    assert play.clock.sleeps == (1.0, 2.0)
    assert why(events)[0] == "limit_exceeded"


async def test_rule_7_limits_of_one_turn_do_not_bind_the_next() -> None:
    play = await stage(LLM, [work("a"), ANSWER], limits=TurnLimits(model_calls=2))
    assert outcome_of(await play.ask()).status == "succeeded"
    assert outcome_of(await play.ask("again")).status == "succeeded"


# --- fallback models


def answering_with(*models: BaseLlm) -> Kind:
    def build(cast: Cast) -> Any:
        worker = cast.worker()
        worker.model = Fallback(models=list(models))
        return worker

    return Kind("fallback", build)


def model(*steps: InProcessStep) -> ScriptedModel:
    return ScriptedModel(steps=steps, default=Echo(prefix="second to "))


@pytest.mark.parametrize(
    "failure",
    [DOWN, Error(status=429), Raise(exception=TimeoutError()), Raise(exception=ConnectionError())],
    ids=["503", "429", "timeout", "connection"],
)
async def test_rule_7_next_model_answers_when_one_cannot(failure: InProcessStep) -> None:
    play = await stage(answering_with(model(failure), model()))
    assert transcript(await play.ask()) == ["worker: second to hello"]
    assert play.clock.sleeps == ()


async def test_rule_7_next_model_is_not_asked_what_is_wrong_with_the_request() -> None:
    second = model()
    play = await stage(answering_with(model(Error(status=400)), second))
    assert transcript(await play.ask()) == [REFUSED]
    assert second.requests == ()


async def test_rule_7_turn_is_retried_when_all_models_fail() -> None:
    play = await stage(answering_with(model(DOWN), model(DOWN)))
    assert transcript(await play.ask()) == [
        "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution",
        "worker: second to hello",
    ]


async def test_rule_7_broken_stream_is_retried_and_not_finished_by_another_model() -> None:
    cut = Raise(exception=ConnectionError("cut"), after_chunks=("half ",))
    play = await stage(answering_with(model(cut, ANSWER), model()))
    yielded = transcript(await play.ask(run_config=STREAMED))
    assert yielded == [
        "worker~ half ",
        "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution",
        "worker~ answer",
        "worker: answer",
    ]


# --- circuit breaker


def guarded(*steps: InProcessStep, failures: int, clock: FakeClock) -> Guarded:
    return Guarded(
        model="gemini-scripted",
        target=ScriptedModel(steps=steps, default=Echo(prefix="back to ")),
        breaker=Breaker(failures=failures, pause_s=30.0),
        clock=clock,
        timeout_s=5.0,
        ends_with_reason=False,
        needs_litellm=False,
    )


async def behind_a_breaker(kind: Kind, *steps: InProcessStep, failures: int) -> Stage:
    play = await stage(kind)
    worker = play.agent.runner.agent
    for agent in agents_of(worker):
        if agent.name == "worker":
            agent.model = guarded(*steps, failures=failures, clock=play.clock)
    return play


@pytest.mark.parametrize("kind", [LLM, SEQUENTIAL, GRAPH_OF_THREE], ids=lambda kind: kind.name)
async def test_rule_7_model_that_keeps_failing_is_left_alone_for_a_while(kind: Kind) -> None:
    play = await behind_a_breaker(kind, DOWN, DOWN, failures=2)
    events = await play.ask()
    assert outcome_of(events).status == "succeeded"
    errors = [(event.custom_metadata or {})["error_type"] for event in events if event.error_code]
    assert errors == ["ScriptedHttpError", "ScriptedHttpError", "CircuitOpenError"]
    assert play.clock.sleeps == (1.0, 2.0, 28.0)


async def test_rule_7_open_circuit_lets_one_call_try_and_closes_when_it_succeeds() -> None:
    play = await behind_a_breaker(LLM, DOWN, DOWN, DOWN, failures=2)
    play.agent.policy = play.agent.policy.model_copy(update={"max_retries": 6})
    events = await play.ask()
    assert transcript(events)[-1] == "worker: back to hello"
    assert play.clock.sleeps == (1.0, 2.0, 28.0, 8.0, 22.0)
    assert transcript(await play.ask("again")) == ["worker: back to again"]


async def test_rule_7_open_circuit_is_passed_over_to_a_fallback_model() -> None:
    clock = FakeClock()
    first = guarded(DOWN, DOWN, failures=1, clock=clock)
    play = await stage(answering_with(first, model()))
    assert transcript(await play.ask()) == ["worker: second to hello"]
    assert transcript(await play.ask("again")) == ["worker: second to again"]
    assert isinstance(first.target, ScriptedModel)
    assert len(first.target.requests) == 1


async def test_rule_7_refused_requests_do_not_open_the_circuit() -> None:
    play = await behind_a_breaker(LLM, *[Error(status=400)] * 3, failures=2)
    for _ in range(3):
        assert transcript(await play.ask()) == [REFUSED]
    assert transcript(await play.ask()) == ["worker: back to hello"]
