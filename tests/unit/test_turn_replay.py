"""Which runs of agents are finished when a turn goes on."""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events import Event, EventActions
from google.adk.events.event import NodeInfo
from google.adk.workflow import START, Workflow
from google.genai.types import Content, FunctionCall, Part

from oda.agent.replay import (
    agents_below,
    ended_in_earlier_round,
    finished_runs,
    interrupted_nodes,
    speaks_for,
)

warnings.filterwarnings("ignore", category=DeprecationWarning)


def llm(name: str, *sub_agents: Any) -> LlmAgent:
    return LlmAgent(name=name, model="none", sub_agents=list(sub_agents))


def said(author: str, text: str = "hi", **fields: Any) -> Event:
    content = Content(role="model", parts=[Part(text=text)])
    return Event(author=author, invocation_id="t1", content=content, **fields)


def called(author: str, **fields: Any) -> Event:
    part = Part(function_call=FunctionCall(id="c1", name="look"))
    content = Content(role="model", parts=[part])
    return Event(author=author, invocation_id="t1", content=content, **fields)


def checkpoint(author: str) -> Event:
    return Event(author=author, invocation_id="t1", actions=EventActions(agent_state={"at": 1}))


def end(author: str) -> Event:
    return Event(author=author, invocation_id="t1", actions=EventActions(end_of_agent=True))


def escalated(author: str) -> Event:
    return said(author, actions=EventActions(escalate=True))


# --- agents and who speaks for them


def test_agents_of_a_graph_and_below_them_are_found() -> None:
    line = SequentialAgent(name="line", sub_agents=[llm("a"), llm("b", llm("c"))])
    graph = Workflow(name="root", edges=[(START, line, llm("d"))])
    assert [agent.name for agent in agents_below(graph)] == ["line", "a", "b", "c", "d"]


def test_agent_is_done_when_one_has_answered_to_whom_only_llm_agents_lead() -> None:
    line = SequentialAgent(name="line", sub_agents=[llm("step")])
    root = llm("root", llm("expert", llm("helper")), line)
    assert [
        name for name in ("root", "expert", "helper", "step", "who") if speaks_for(root, name)
    ] == [
        "root",
        "expert",
        "helper",
    ]
    assert not speaks_for(line, "step")


# --- finished runs


def line_of(*names: str) -> SequentialAgent:
    return SequentialAgent(name="root", sub_agents=[llm(name) for name in names])


def finished(
    turn: Sequence[Event], root: object, *, from_checkpoints: bool
) -> dict[str, list[bool]]:
    runs = finished_runs(turn, root, from_checkpoints=from_checkpoints)
    return {name: escalations for (name, _), escalations in runs.items()}


def test_answer_finishes_a_run_and_a_call_does_not() -> None:
    turn = [said("a"), called("b")]
    assert finished(turn, line_of("a", "b"), from_checkpoints=False) == {"a": [False]}


def test_each_round_of_a_loop_counts() -> None:
    loop = LoopAgent(name="root", sub_agents=[llm("a"), llm("b")])
    turn = [said("a"), said("b"), said("a"), called("b")]
    assert finished(turn, loop, from_checkpoints=False) == {"a": [False, False], "b": [False]}


def test_run_that_told_its_loop_to_end_is_told_apart() -> None:
    loop = LoopAgent(name="root", sub_agents=[llm("a")])
    turn = [said("a"), escalated("a")]
    assert finished(turn, loop, from_checkpoints=False) == {"a": [False, True]}


def test_only_what_follows_the_last_checkpoint_is_run_again() -> None:
    root = line_of("a", "b")
    turn = [checkpoint("root"), said("a"), checkpoint("root"), said("b")]
    assert finished(turn, root, from_checkpoints=True) == {"b": [False]}
    assert finished(turn, root, from_checkpoints=False) == {"a": [False], "b": [False]}


def test_inner_sequence_is_finished_when_it_has_said_so() -> None:
    inner = SequentialAgent(name="inner", sub_agents=[llm("a")])
    root = SequentialAgent(name="root", sub_agents=[inner, llm("b")])
    turn = [checkpoint("root"), checkpoint("inner"), escalated("a"), end("a")]
    assert "inner" not in finished(turn, root, from_checkpoints=True)
    assert finished([*turn, end("inner")], root, from_checkpoints=True)["inner"] == [True]


def test_branch_that_has_ended_is_left_to_adk() -> None:
    pair = ParallelAgent(name="root", sub_agents=[llm("a"), llm("b")])
    turn = [checkpoint("root"), said("a"), end("a"), said("b")]
    assert finished(turn, pair, from_checkpoints=True) == {"b": [False]}


def test_agent_that_waits_for_a_person_has_not_finished() -> None:
    waiting = called("a", long_running_tool_ids={"c1"})
    assert finished([waiting], line_of("a", "b"), from_checkpoints=False) == {}


def test_agents_of_llm_agents_start_again_by_themselves() -> None:
    root = llm("root", llm("expert"))
    assert finished([said("root"), said("expert")], root, from_checkpoints=False) == {}


def test_runs_on_different_branches_are_told_apart() -> None:
    turn = [said("a", branch="left"), said("a", branch="right")]
    runs = finished_runs(turn, line_of("a"), from_checkpoints=False)
    assert dict(runs) == {("a", "left"): [False], ("a", "right"): [False]}


# --- rounds of a parallel


def test_branches_ended_before_the_parallel_was_last_begun_are_of_an_earlier_round() -> None:
    pair = ParallelAgent(name="pair", sub_agents=[llm("a"), llm("b")])
    round_one = [checkpoint("pair"), end("a"), end("b"), end("pair")]
    assert ended_in_earlier_round(round_one[:3], pair) == []
    assert ended_in_earlier_round(round_one, pair) == ["a", "b"]
    assert ended_in_earlier_round([*round_one, checkpoint("pair")], pair) == ["a", "b"]
    assert ended_in_earlier_round([*round_one, checkpoint("pair"), end("a")], pair) == ["b"]


# --- nodes of a graph


def at(path: str, **fields: Any) -> dict[str, Any]:
    return {"node_info": NodeInfo(path=path, **fields)}


GRAPH = Workflow(
    name="root",
    edges=[(START, llm("a"), SequentialAgent(name="line", sub_agents=[llm("step")]))],
)
CHANGE = EventActions(state_delta={"x": 1})


@pytest.mark.parametrize(
    ("turn", "interrupted"),
    [
        ([Event(author="a", actions=CHANGE, **at("root@1/a@1"))], ["root@1/a@1"]),
        ([called("a", **at("root@1/a@1"))], []),
        ([said("a", **at("root@1/a@1", message_as_output=True))], []),
        ([Event(author="a", output="hi", **at("root@1/a@1"))], []),
        ([Event(author="a", error_code="Error", **at("root@1/a@1"))], []),
        ([called("a", long_running_tool_ids={"c1"}, **at("root@1/a@1"))], []),
        ([said("step", **at("root@1/line@1"))], ["root@1/line@1"]),
        ([called("step", **at("root@1/line@1"))], ["root@1/line@1"]),
        ([Event(author="f", actions=CHANGE, **at("root@1/f@1"))], []),
        (
            [
                said("a", **at("root@1/a@1", message_as_output=True)),
                Event(author="a", actions=CHANGE, **at("root@1/a@2")),
            ],
            ["root@1/a@2"],
        ),
    ],
)
def test_agent_of_a_graph_without_a_result_was_interrupted(
    turn: list[Event], interrupted: list[str]
) -> None:
    marks = interrupted_nodes(turn, GRAPH)
    assert [mark.node_info.path for mark in marks] == interrupted
    assert [mark.error_code for mark in marks] == ["INTERRUPTED"] * len(marks)
    assert interrupted_nodes([*turn, *marks], GRAPH) == []
