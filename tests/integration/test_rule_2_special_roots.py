"""Rule 2 in the corners: parallel branches, function nodes, long turns, questions to people."""

import asyncio
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, RetryConfig, Workflow
from google.genai.types import Content, Part

from oda.agent.outcome import outcome_of
from oda.testing.script import Call, Echo, Error, Malformed, Match, Text, ToolCalls
from tests.support.roots import LLM, SEQUENTIAL, Cast, Kind, every_kind
from tests.support.stage import stage
from tests.support.transcript import transcript

DOWN = Error(status=503)
ANSWER = Text(text="answer")
RETRY_1 = "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution"


def calls(*names: str) -> ToolCalls:
    return ToolCalls(calls=tuple(Call(name=name, id=f"c-{name}") for name in names))


async def test_rule_2_branch_that_its_siblings_failure_cancelled_goes_on_where_it_was() -> None:
    sibling_is_busy, sibling_may_end = asyncio.Event(), asyncio.Event()
    runs: list[str] = []

    async def linger() -> str:
        """Take long."""
        runs.append("linger")
        sibling_is_busy.set()
        await sibling_may_end.wait()
        return "ended"

    async def when_sibling_is_busy(callback_context: CallbackContext) -> None:
        async with asyncio.timeout(5):
            await sibling_is_busy.wait()

    def root(cast: Cast) -> BaseAgent:
        other = Cast(steps=[calls("linger"), Text(text="beside")], tools=[linger])
        sibling = other.worker()
        cast.models["other"] = other.model
        worker = cast.worker(before_agent_callback=when_sibling_is_busy)
        return ParallelAgent(name="root", sub_agents=[worker, sibling.clone({"name": "other"})])

    play = await stage(Kind("parallel_cut", root), [DOWN, ANSWER])
    yielded = transcript(await play.ask())
    assert yielded[:2] == ["other: linger()", RETRY_1]
    assert "Outcome unknown" in yielded[2]
    assert sorted(yielded[3:]) == ["other: beside", "worker: answer"]
    assert runs == ["linger"]
    told = [line for line in await play.history() if line.startswith("other: linger -> ")]
    assert told == yielded[2:3]


async def test_rule_2_round_of_a_parallel_in_a_loop_is_not_taken_for_the_one_before() -> None:
    def root(cast: Cast) -> BaseAgent:
        pair = ParallelAgent(name="pair", sub_agents=[cast.worker()])
        return LoopAgent(name="root", sub_agents=[pair], max_iterations=2)

    play = await stage(
        Kind("loop_of_parallel", root), [Text(text="first round"), DOWN, Text(text="second round")]
    )
    assert transcript(await play.ask()) == [
        "worker: first round",
        RETRY_1,
        "worker: second round",
    ]


async def test_rule_2_loop_that_was_told_to_end_stays_ended() -> None:
    def root(cast: Cast) -> BaseAgent:
        loop = LoopAgent(name="rounds", sub_agents=[cast.worker()])
        closer = cast.closer()
        cast.models["closer"].add(DOWN)
        return cast.router(SequentialAgent(name="line", sub_agents=[loop, closer]))

    play = await stage(
        Kind("loop_behind_transfer", root),
        [Text(text="once more"), calls("exit_loop")],
        tools=[exit_loop],
    )
    yielded = transcript(await play.ask())
    assert yielded[2:] == [
        "worker: once more",
        "worker: exit_loop()",
        "worker: exit_loop -> {'result': None}",
        RETRY_1,
        "closer: closed",
    ]
    assert len(play.model.requests) == 2


async def test_rule_2_function_node_that_fails_runs_again_and_no_node_before_it() -> None:
    tries: list[str] = []

    def publish(node_input: Any) -> str:
        tries.append(str(node_input))
        if len(tries) == 1:
            raise ConnectionError("no route to the printer")
        return "published"

    play = await stage(
        Kind("graph", lambda cast: Workflow(name="root", edges=[(START, cast.worker(), publish)])),
        [ANSWER],
    )
    events = await play.ask()
    assert transcript(events)[:2] == ["worker: answer", RETRY_1]
    assert [event.output for event in events if event.output][-1] == "published"
    assert tries == ["answer", "answer"]
    assert len(play.model.requests) == 1
    assert outcome_of(events).reply == "answer"


async def test_rule_2_node_that_returns_nothing_is_an_end_as_well() -> None:
    tries: list[str] = []

    def publish(node_input: Any) -> None:
        tries.append(str(node_input))
        if len(tries) == 1:
            raise ConnectionError("no route to the printer")

    play = await stage(
        Kind("graph", lambda cast: Workflow(name="root", edges=[(START, cast.worker(), publish)])),
        [ANSWER],
    )
    events = await play.ask()
    assert transcript(events) == ["worker: answer", RETRY_1, "worker: answer"]
    assert outcome_of(events).status == "succeeded"
    assert len(tries) == 2


async def test_rule_2_node_that_had_only_changed_the_state_is_not_taken_for_finished() -> None:
    def note(callback_context: CallbackContext) -> None:
        callback_context.state["noted"] = True

    kind = Kind(
        "graph",
        lambda cast: Workflow(
            name="root",
            edges=[(START, cast.worker(before_agent_callback=note), cast.closer())],
        ),
    )
    calm = await stage(kind, [ANSWER])
    await calm.ask()
    whole = await calm.stored()
    assert whole[1].content is None
    assert whole[1].actions.state_delta == {"noted": True}
    play = await stage(kind, [ANSWER], history=whole[:2])
    assert transcript(await play.resume(whole[0].invocation_id)) == [
        "worker: answer",
        "closer: closed",
    ]


async def test_rule_2_turn_longer_than_the_window_is_gone_on_with_whole() -> None:
    steps = [calls("look") for _ in range(12)]
    looks: list[int] = []

    async def look() -> int:
        """Look."""
        looks.append(len(looks))
        return looks[-1]

    play = await stage(LLM, [*steps, DOWN, ANSWER], tools=[look], recent_events=10)
    assert transcript(await play.ask())[-2:] == [RETRY_1, "worker: answer"]
    before, after = play.model.requests[-2:]
    assert after.contents == before.contents
    assert len(after.contents) == 25
    assert len(looks) == 12


async def test_rule_2_question_to_a_person_is_asked_again_and_not_answered_by_the_model() -> None:
    async def approve() -> str:
        """Needs leave."""
        return "done"

    tools = [FunctionTool(approve, require_confirmation=True)]
    first = await stage(LLM, [calls("approve")], tools=tools)
    asked = outcome_of(await first.ask())
    assert asked.status == "waiting_input"
    whole = await first.stored()
    second = await stage(LLM, [ANSWER], tools=tools, history=whole)
    again = outcome_of(await second.resume(whole[0].invocation_id))
    assert again == asked
    assert second.model.requests == ()


async def test_rule_2_steps_after_a_confirmed_call_are_still_made() -> None:
    approvals: list[str] = []

    async def approve() -> str:
        """Needs leave."""
        approvals.append("approved")
        return "done"

    play = await stage(
        SEQUENTIAL,
        [calls("approve"), DOWN, ANSWER],
        tools=[FunctionTool(approve, require_confirmation=True)],
    )
    question = outcome_of(await play.ask()).pending_input[0]
    leave = Part.from_function_response(name=question["name"], response={"confirmed": True})
    assert leave.function_response is not None
    leave.function_response.id = question["id"]
    yielded = transcript(await play.ask(Content(role="user", parts=[leave])))
    assert yielded == [
        "worker: approve -> {'result': 'done'}",
        RETRY_1,
        "worker: answer",
        "closer: closed",
    ]
    assert approvals == ["approved"]


async def test_rule_2_failure_that_adk_mends_by_itself_is_not_announced() -> None:
    patient = RetryConfig(max_attempts=2, initial_delay=0.0, jitter=0.0)
    play = await stage(Kind("llm", lambda cast: cast.worker(retry_config=patient)), [DOWN, ANSWER])
    assert transcript(await play.ask()) == ["worker: answer"]
    assert play.clock.sleeps == ()


class RulesFirst(BasePlugin):
    """An app's plugin that answers before the model does, and rewrites events."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        last = llm_request.contents[-1].parts or []
        if last and last[0].text == "ping":
            return LlmResponse(content=Content(role="model", parts=[Part(text="pong")]))
        return None

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        return event


async def test_rule_2_plugins_of_the_app_do_not_hide_a_turn_from_ours() -> None:
    def change(app: App) -> None:
        app.plugins.append(RulesFirst(name="rules"))

    play = await stage(LLM, [Malformed(kind="tool_arguments"), ANSWER], change=change)
    assert transcript(await play.ask("ping")) == ["worker: pong"]
    assert transcript(await play.ask("hello")) == [RETRY_1, "worker: answer"]


async def test_rule_2_agent_shared_by_many_sessions_goes_on_in_each() -> None:
    service = InMemorySessionService()
    questions = [f"question {number:02}" for number in range(20)]
    plays = [await stage(LLM, service=service) for _ in questions]
    shared = plays[0].agent.runner
    for play, question in zip(plays, questions, strict=True):
        play.agent.runner = shared
        of_this = Match(last_user=question)
        plays[0].model.add(Error(status=503, match=of_this), Echo(prefix="to ", match=of_this))
    asked = zip(plays, questions, strict=True)
    answers = await asyncio.gather(*(play.ask(question) for play, question in asked))
    assert [transcript(events) for events in answers] == [
        [RETRY_1, f"worker: to {question}"] for question in questions
    ]


@every_kind
async def test_rule_2_turn_of_which_nothing_is_stored_cannot_be_gone_on_with(kind: Kind) -> None:
    play = await stage(kind)
    events = await play.resume("never-heard-of")
    outcome = outcome_of(events)
    assert (outcome.status, outcome.error and outcome.error["code"]) == ("failed", "turn_not_found")
    assert play.model.requests == ()


async def test_rule_2_agent_used_as_a_tool_fails_as_a_tool_does() -> None:
    expert = LlmAgent(name="expert", model=Cast(steps=[DOWN]).worker().canonical_model)
    play = await stage(LLM, [calls("expert"), ANSWER], tools=[AgentTool(expert)])
    yielded = transcript(await play.ask())
    assert yielded[-1] == "worker: answer"
    assert play.clock.sleeps == ()
