"""ADK agents of all kinds behind the protocol: what the contract of all adapters does not ask."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps import App
from google.adk.events import RequestInput
from google.adk.models.lite_llm import LiteLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, FunctionNode, Workflow
from google.genai.types import Content, Part

from oda.adapter import AdkAgent, AgentAction, AgentInput, AgentMessage, AgentOutput
from oda.adapter.usage import metered
from oda.agent.failure import ModelReportedError, classify
from oda.agent.limits import TurnLimits, Usage
from oda.agent.running_turn import RunningTurn
from oda.errors import LimitExceededError, NoContentError
from oda.orchestration import StepContext
from oda.testing import ModelServer, ScriptedModel
from oda.testing.script import Blocked, Call, Echo, Match, Text, ToolCalls
from oda.testing.scripted_model import InProcessStep

YES = AgentInput(context={"confirmed": True})


def agent(*steps: InProcessStep, **options: Any) -> tuple[ScriptedModel, LlmAgent]:
    model = ScriptedModel(steps=steps, default=Echo())
    return model, LlmAgent(name="helper", model=model, **options)


async def invoke(adapter: AdkAgent, text: str, **context: Any) -> AgentOutput:
    return await adapter.invoke(AgentInput(content=text, context=context), None)


def again(adapter: AdkAgent, other: AdkAgent) -> AdkAgent:
    other.load_state(json.loads(json.dumps(adapter.export_state())))
    return other


def results_in(output: AgentOutput) -> list[object]:
    """What tools have answered."""
    told = [message.data for message in output.messages if message.kind == "tool"]
    return [data["result"] for data in told if isinstance(data, dict) and "result" in data]


def parts_of(request: LlmRequest) -> list[Part]:
    """What a model was sent, without its instruction."""
    return [part for content in request.contents for part in content.parts or ()]


async def test_tool_calls_and_results_are_messages() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    call = ToolCalls(text="well", calls=(Call(name="add", args={"a": 1, "b": 2}, id="c1"),))
    _, helper = agent(call, Text(text="three"), tools=[add])
    output = await invoke(AdkAgent(helper), "1 + 2?")
    assert [(m.kind, m.content, m.data) for m in output.messages] == [
        ("text", "well", None),
        ("tool", "add", {"id": "c1", "args": {"a": 1, "b": 2}}),
        ("tool", "add", {"id": "c1", "result": {"result": 3}}),
        ("text", "three", None),
    ]


async def test_thoughts_are_told_apart() -> None:
    _, helper = agent(Text(text="four", thinking="two and two"))
    output = await invoke(AdkAgent(helper), "2 + 2?")
    assert (output.content, output.thought) == ("four", "two and two")
    assert [message.kind for message in output.messages] == ["thought", "text"]


async def test_transfers_stay_inside_and_last() -> None:
    to_clerk = ToolCalls(calls=(Call(name="transfer_to_agent", args={"agent_name": "clerk"}),))
    pays = ScriptedModel(default=Text(text="it is paid", times=None))
    clerk = LlmAgent(name="clerk", description="Pays.", model=pays)
    model, helper = agent(to_clerk, sub_agents=[clerk])
    adapter = AdkAgent(helper)
    first = await invoke(adapter, "hello")
    assert [message.content for message in first.messages] == ["it is paid"]
    assert (await invoke(adapter, "more")).content == "it is paid"
    assert (len(model.requests), len(pays.requests)) == (1, 2)


async def test_state_goes_on_elsewhere_but_not_what_is_temporary() -> None:
    def note(text: str, tool_context: ToolContext) -> str:
        """Note."""
        tool_context.state["noted"] = text
        tool_context.state["user:noted"] = text
        tool_context.state["temp:noted"] = text
        return "noted"

    _, helper = agent(
        ToolCalls(calls=(Call(name="note", args={"text": "milk"}),)), Text(text="ok"), tools=[note]
    )
    adapter = AdkAgent(helper, max_events=1)
    await invoke(adapter, "note milk")
    await invoke(adapter, "forget how that came")
    assert adapter.export_state()["state"] == {"noted": "milk", "user:noted": "milk"}
    model, reader = agent(instruction="Known: {noted} {user:noted} {temp:noted?}.")
    await invoke(again(adapter, AdkAgent(reader)), "what?")
    assert "Known: milk milk ." in str(model.requests[0].config.system_instruction)


async def test_media_go_on_elsewhere() -> None:
    picture = Part.from_bytes(data=b"\xff\xfe\x00?>", mime_type="image/png")
    model, helper = agent()
    with_picture = AdkAgent(
        helper, tell=lambda input, state: Content(role="user", parts=[picture, Part(text="see")])
    )
    await invoke(with_picture, "")
    await invoke(again(with_picture, AdkAgent(helper)), "and?")
    sent = parts_of(model.requests[-1])[0].inline_data
    assert sent is not None
    assert sent.data == b"\xff\xfe\x00?>"


async def test_it_remembers_whole_turns_up_to_a_limit() -> None:
    model, helper = agent()
    adapter = AdkAgent(helper, max_events=4)
    for number in range(5):
        await invoke(adapter, f"message {number}")
    await invoke(adapter, "last")
    said = [part.text for part in parts_of(model.requests[-1])]
    kept = ["message 3", "You said: message 3", "message 4", "You said: message 4", "last"]
    assert said == kept
    tiny = AdkAgent(helper, max_events=1)
    await invoke(tiny, "one")
    await invoke(tiny, "two")
    said = [part.text for part in parts_of(model.requests[-1])]
    assert said == ["one", "You said: one", "two"]


async def test_an_application_tells_it_of_the_workflow_and_reads_actions() -> None:
    model, helper = agent(Text(text='{"done": true}'))
    adapter = AdkAgent(
        helper,
        tell=lambda input, state: f"{input.content} ({state['task']})",
        interpret=lambda text: AgentOutput(
            action=AgentAction.HANDOFF, next_agent="editor", content=json.loads(text)
        ),
    )
    output = await adapter.invoke(AgentInput(content="do it"), {"task": "dates"})
    assert (output.action, output.content) == (AgentAction.HANDOFF, {"done": True})
    assert [message.content for message in output.messages] == ['{"done": true}']
    assert parts_of(model.requests[0])[-1].text == "do it (dates)"


async def test_an_agent_goes_on_by_itself() -> None:
    model, helper = agent()
    await invoke(AdkAgent(helper), "")
    assert parts_of(model.requests[0])[-1].text == "Go on."


async def test_tools_know_for_whom_they_work() -> None:
    seen = []

    def who(tool_context: ToolContext) -> str:
        """Tell."""
        seen.append((tool_context.user_id, tool_context.session.id))
        return "seen"

    _, helper = agent(ToolCalls(calls=(Call(name="who"),)), Text(text="ok"), tools=[who])
    await invoke(AdkAgent(helper), "who?", user_id="ann", session_id="s1")
    assert seen == [("ann", "s1")]


async def test_several_questions_are_answered_together() -> None:
    def pay(amount: int) -> str:
        """Pay."""
        return f"{amount} paid"

    calls = (Call(name="pay", args={"amount": 1}), Call(name="pay", args={"amount": 2}))
    model, helper = agent(
        ToolCalls(calls=calls),
        Text(text="both", match=Match(after_tool=True), times=None),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    adapter = AdkAgent(helper)
    asked = await invoke(adapter, "pay both")
    assert asked.content == "May pay(amount=1) be called?\nMay pay(amount=2) be called?"
    assert (await adapter.invoke(YES, None)).content == "both"
    results = [part.function_response for part in parts_of(model.requests[-1])[-2:]]
    assert [result and result.response for result in results] == [
        {"result": "1 paid"},
        {"result": "2 paid"},
    ]


async def test_a_tool_asks_in_its_own_words_and_gets_the_payload() -> None:
    def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Pay."""
        if (confirmation := tool_context.tool_confirmation) is None or not confirmation.payload:
            tool_context.request_confirmation(hint="How much, really?", payload={"amount": amount})
            return {"status": "asked"}
        return {"paid": confirmation.payload["amount"]}

    call = ToolCalls(calls=(Call(name="pay", args={"amount": 9}),))
    _, helper = agent(call, Text(text="asked"), Text(text="done"), tools=[pay])
    adapter = AdkAgent(helper)
    assert (await invoke(adapter, "pay")).content == "How much, really?"
    output = await invoke(adapter, "", confirmed=True, payload={"amount": 5})
    assert results_in(output) == [{"paid": 5}]


async def test_a_text_does_not_confirm_and_the_question_stays_open() -> None:
    def pay() -> str:
        """Pay."""
        return "paid"

    _, helper = agent(
        ToolCalls(calls=(Call(name="pay"),)),
        Text(text="done", match=Match(after_tool=True), times=None),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    adapter = AdkAgent(helper)
    await invoke(adapter, "pay")
    other = await invoke(adapter, "what is it for?")
    assert (other.action, other.content) == (
        AgentAction.WAIT_INPUT,
        "You said: what is it for?",
    )
    assert (await adapter.invoke(YES, None)).content == "done"


def graph() -> Workflow:
    async def ask(node_input: Any) -> Any:
        yield RequestInput(message="Your name?")

    def greet(node_input: Any) -> str:
        return f"Hello {node_input}"

    asks, greets = FunctionNode(func=ask, name="ask"), FunctionNode(func=greet, name="greet")
    return Workflow(name="greeter", edges=[(START, asks), (asks, greets)])


@pytest.mark.parametrize(
    "answer",
    [
        AgentInput(content="Ann"),
        AgentInput(context={"confirmed": True, "payload": "Ann"}),
    ],
)
async def test_a_graph_asks_for_input_and_has_an_output_without_a_text(answer: AgentInput) -> None:
    adapter = AdkAgent(graph())
    asked = await invoke(adapter, "hi")
    assert (asked.action, asked.content) == (AgentAction.REQUEST_CONFIRM, "Your name?")
    output = await again(adapter, AdkAgent(graph())).invoke(answer, None)
    assert (output.action, output.content) == (AgentAction.WAIT_INPUT, "Hello Ann")


async def test_a_sequence_goes_on_after_a_question() -> None:
    def sequence() -> SequentialAgent:
        def pay() -> str:
            """Pay."""
            return "paid"

        call = ToolCalls(calls=(Call(name="pay"),), match=Match(after_tool=False))
        model = ScriptedModel(steps=(call,), default=Text(text="first", times=None))
        tools = [FunctionTool(pay, require_confirmation=True)]
        first = LlmAgent(name="first", model=model, tools=tools)
        last = LlmAgent(name="last", model=ScriptedModel(default=Text(text="last", times=None)))
        return SequentialAgent(name="both", sub_agents=[first, last])

    adapter = AdkAgent(sequence())
    assert (await invoke(adapter, "go")).action is AgentAction.REQUEST_CONFIRM
    after = again(adapter, AdkAgent(sequence()))
    assert (await after.invoke(YES, None)).content == "last"


async def test_an_app_keeps_its_name_and_its_root() -> None:
    _, helper = agent(description="Helps.")
    adapter = AdkAgent(App(name="desk", root_agent=helper))
    assert (adapter.name, adapter.description) == ("helper", "Helps.")
    assert (await invoke(adapter, "hi")).content == "You said: hi"


async def test_a_failure_leaves_no_trace() -> None:
    _, helper = agent(Blocked(text="no"), Text(text="fine"))
    adapter = AdkAgent(helper)
    with pytest.raises(ModelReportedError):
        await invoke(adapter, "one")
    assert adapter.export_state() == {}
    assert (await invoke(adapter, "two")).content == "fine"


async def test_silence_is_a_failure() -> None:
    def nothing(node_input: Any) -> None:
        return None

    node = FunctionNode(func=nothing, name="nothing")
    with pytest.raises(NoContentError):
        await invoke(AdkAgent(Workflow(name="mute", edges=[(START, node)])), "hi")


async def test_what_models_cost_is_told_to_whoever_pays() -> None:
    _, helper = agent(
        ToolCalls(calls=(Call(name="note"),)), Text(text="ok"), tools=[FunctionTool(note)]
    )
    paid = StepContext(user_id="ann", now=datetime.now(UTC))
    with metered(paid):
        await invoke(AdkAgent(helper), "note it")
    assert len(paid.used) == 2
    assert all(one.tokens.total_token_count for one in paid.used)


async def test_models_are_called_as_often_as_the_turn_may_only() -> None:
    model, helper = agent(
        ToolCalls(calls=(Call(name="note"),), times=None), tools=[FunctionTool(note)]
    )
    turn = RunningTurn(limits=TurnLimits(model_calls=4), usage=Usage(model_calls=1))
    with metered(StepContext(user_id="ann", now=datetime.now(UTC), turn=turn)):
        with pytest.raises(Exception, match="limit") as failed:
            await invoke(AdkAgent(helper), "note it")
        assert classify(failed.value, now=0.0).code == "limit_exceeded"
        assert (len(model.requests), turn.usage.model_calls) == (3, 4)
        with pytest.raises(LimitExceededError):
            await invoke(AdkAgent(helper), "note it")
    assert len(model.requests) == 3


def note() -> str:
    """Note."""
    return "noted"


async def test_sync_tools_do_not_stop_the_loop() -> None:
    loop = asyncio.get_running_loop()
    answered = asyncio.Event()

    def wait() -> str:
        """Wait for the loop, which this would block for ever if it ran there."""
        return str(asyncio.run_coroutine_threadsafe(answered.wait(), loop).result(10))

    _, helper = agent(ToolCalls(calls=(Call(name="wait"),)), Text(text="ok"), tools=[wait])
    working = asyncio.create_task(invoke(AdkAgent(helper), "wait"))
    answered.set()
    assert results_in(await working) == [{"result": "True"}]


async def test_one_agent_serves_many_adapters_at_once() -> None:
    _, helper = agent()
    adapters = [AdkAgent(helper) for _ in range(10)]
    outputs = await asyncio.gather(*(invoke(a, f"{n}") for n, a in enumerate(adapters)))
    assert [output.content for output in outputs] == [f"You said: {n}" for n in range(10)]


async def test_a_model_over_http_streams_through() -> None:
    async with ModelServer([Text(text="from far away")]) as server:
        model = LiteLlm(
            model="openai/any", api_base=server.openai_base, api_key="none", num_retries=0
        )
        helper = LlmAgent(name="helper", model=model)
        stream = AdkAgent(helper).stream(AgentInput(content="hi"), None)
        items = [item async for item in stream]
    pieces = [item.content for item in items if isinstance(item, AgentMessage) and item.partial]
    assert pieces == ["from ", "far ", "away"]
    assert items[-1].content == "from far away"
