"""Who works next in a team, and what its state holds then."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from oda.adapter import (
    AgentAction,
    AgentInput,
    AgentMessage,
    AgentOutput,
    AgentTeam,
    PlainAgent,
    WorkflowState,
)
from oda.errors import ConfigurationError, LimitExceededError

Told = list[AgentInput]


def agent(name: str, *outputs: AgentOutput | Exception, told: Told | None = None) -> PlainAgent:
    """An agent that comes to these outputs, one after the other; it remembers how many."""

    class Scripted:
        def __init__(self) -> None:
            self.done = 0

        def __call__(self, input: AgentInput) -> Any:
            if told is not None:
                told.append(input)
            yield f"{name} works"
            output = outputs[self.done]
            self.done += 1
            if isinstance(output, Exception):
                raise output
            return output

        def export_state(self) -> dict[str, Any]:
            return {"done": self.done}

        def load_state(self, state: Any) -> None:
            self.done = state["done"]

    return PlainAgent(Scripted, name=name)


def to(name: str, content: Any = None) -> AgentOutput:
    return AgentOutput(action=AgentAction.HANDOFF, next_agent=name, content=content)


def then(action: AgentAction, content: Any = None) -> AgentOutput:
    return AgentOutput(action=action, content=content)


async def run(
    team: AgentTeam, state: WorkflowState, text: str = "go", **context: Any
) -> AgentOutput:
    items = [item async for item in team.run(state, AgentInput(content=text, context=context))]
    assert all(isinstance(item, AgentMessage) for item in items[:-1])
    assert isinstance(items[-1], AgentOutput)
    return items[-1]


WAIT, CONFIRM, FINISH = AgentAction.WAIT_INPUT, AgentAction.REQUEST_CONFIRM, AgentAction.FINISH


@pytest.mark.parametrize(
    ("action", "current"),
    [(WAIT, "a"), (CONFIRM, "a"), (AgentAction.SWITCH_TASK, "a"), (FINISH, None)],
)
async def test_the_user_is_next_after(action: AgentAction, current: str | None) -> None:
    state = WorkflowState()
    output = await run(AgentTeam([agent("a", then(action, "so"))]), state)
    assert (output.action, output.content) == (action, "so")
    assert state.current_agent == current
    assert state.agent_states == {"a": {"done": 1}}


async def test_one_agent_hands_over_to_another() -> None:
    told: Told = []
    team = AgentTeam([agent("a", to("b", "do this")), agent("b", then(WAIT, "done"), told=told)])
    state = WorkflowState()
    output = await run(team, state, "please", trace="t", confirmed=True, payload=1)
    assert output.content == "done"
    assert [(m.agent, m.content) for m in output.messages] == [("a", "a works"), ("b", "b works")]
    assert told[0].content == "do this"
    assert told[0].context == {"trace": "t", "handed_over": "do this", "handed_over_by": "a"}
    assert state.current_agent == "b"
    said = [(message.agent, message.content) for message in state.history]
    assert said == [("user", "please"), ("a", "a works"), ("b", "b works")]


async def test_what_is_no_text_is_handed_over_beside_the_users_text() -> None:
    told: Told = []
    team = AgentTeam([agent("a", to("b", {"edits": []})), agent("b", then(WAIT), told=told)])
    await run(team, WorkflowState(), "please")
    assert (told[0].content, told[0].context["handed_over"]) == ("please", {"edits": []})


async def test_an_agent_that_goes_on_is_told_nothing_new() -> None:
    told: Told = []
    go_on = then(AgentAction.CONTINUE, "half")
    state = WorkflowState()
    output = await run(AgentTeam([agent("a", go_on, then(FINISH, "all"), told=told)]), state)
    assert ([input.content for input in told], output.content) == (["go", ""], "all")
    assert state.agent_states == {"a": {"done": 2}}


async def test_the_next_input_is_for_who_waits_also_in_another_team() -> None:
    def team() -> AgentTeam:
        return AgentTeam(
            [agent("a", to("b"), then(WAIT, "a again")), agent("b", then(WAIT), to("a"))]
        )

    await run(team(), state := WorkflowState())
    stored = WorkflowState.model_validate(json.loads(state.model_dump_json()))
    assert (await run(team(), stored)).content == "a again"
    assert stored.agent_states == {"a": {"done": 2}, "b": {"done": 2}}


async def test_one_may_choose_who_is_asked() -> None:
    team = AgentTeam([agent("a", then(WAIT, "a")), agent("b", then(WAIT, "b"))])
    state = WorkflowState()
    items = [item async for item in team.run(state, AgentInput(), agent="b")]
    assert (items[-1].content, state.history[0].agent) == ("b", "b")


async def test_a_failure_leaves_the_state_before_the_agent_that_has_failed() -> None:
    team = AgentTeam([agent("a", to("b")), agent("b", ConnectionError("down"), then(WAIT, "up"))])
    state = WorkflowState()
    with pytest.raises(ConnectionError):
        await run(team, state)
    assert (state.current_agent, list(state.agent_states)) == ("b", ["a"])
    with pytest.raises(ConnectionError):  # as if nothing had happened
        await run(team, state)


async def test_agents_do_not_go_on_for_ever() -> None:
    told: Told = []
    team = AgentTeam(
        [agent("a", *[to("b")] * 9, told=told), agent("b", *[to("a")] * 9, told=told)], max_hops=5
    )
    with pytest.raises(LimitExceededError, match="5 times"):
        await run(team, WorkflowState())
    assert len(told) == 5


@pytest.mark.parametrize("named", ["c", None])
async def test_an_unknown_agent_is_named(named: str | None) -> None:
    unknown = AgentOutput(action=AgentAction.HANDOFF, next_agent=named)
    team = AgentTeam([agent("a", unknown), agent("b")])
    with pytest.raises(ConfigurationError, match=r"use one of \['a', 'b'\]"):
        await run(team, WorkflowState())


async def test_a_name_is_given_once() -> None:
    team = AgentTeam([agent("a")])
    register: Callable[[PlainAgent], None] = team.register_agent
    for name in ("a", "user"):
        with pytest.raises(ConfigurationError, match=f"'{name}' is taken"):
            register(agent(name))
    assert team.agent_names == ("a",)


async def test_a_team_needs_an_agent() -> None:
    with pytest.raises(ConfigurationError, match="no agents"):
        await run(AgentTeam(), WorkflowState())


async def test_the_history_is_bounded() -> None:
    state = WorkflowState(history=[AgentMessage(content=str(n)) for n in range(500)])
    await run(AgentTeam([agent("a", then(WAIT))]), state)
    assert len(state.history) == 200
    assert state.history[-1].content == "a works"
