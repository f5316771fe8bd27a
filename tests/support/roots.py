"""Every kind of ADK root, built around one agent, the worker, whose model a test scripts.

The others in the cast always do the same: the preparer calls its tool and says "prepared", the
sibling calls its tool and says "beside", the router hands over to the worker, the closer says
"closed". What they say before and after the worker stands with each kind.
"""

import asyncio
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.events.event_actions import EventActions
from google.adk.workflow import START, JoinNode, Workflow

from oda.testing import ScriptedModel
from oda.testing.script import Call, Match, Text, ToolCalls
from oda.testing.scripted_model import InProcessStep
from tests.support.transcript import transcript

APP = "stage"
ANSWER = "answer"


@dataclass
class Cast:
    """The agents of one test and what their tools have done, in order."""

    steps: Sequence[InProcessStep] = ()
    tools: Sequence[Any] = ()
    """Tools of the worker, besides `work`."""
    played: int = 0
    """How many of the worker's answers were given before, in a process that died."""
    effects: list[str] = field(default_factory=list)
    models: dict[str, ScriptedModel] = field(default_factory=dict)

    @property
    def model(self) -> ScriptedModel:
        """The worker's model."""
        return self.models["worker"]

    def worker(self, lead_in: Sequence[InProcessStep] = (), **options: Any) -> LlmAgent:
        async def work(step: str) -> dict[str, str]:
            """Do a step of the work."""
            self.effects.append(step)
            return {"done": step}

        steps = (*lead_in, *self.steps)[self.played :]
        model = ScriptedModel(steps=steps, default=Text(text=ANSWER, times=None))
        return self._agent("worker", model, tools=[work, *self.tools], **options)

    def preparer(self) -> LlmAgent:
        return self._with_tool("preparer", "prepare", "prepared")

    def sibling(self, **options: Any) -> LlmAgent:
        return self._with_tool("sibling", "help_out", "beside", **options)

    def closer(self) -> LlmAgent:
        return self._agent("closer", ScriptedModel(default=Text(text="closed", times=None)))

    def router(self, target: BaseAgent) -> LlmAgent:
        hand_over = ToolCalls(
            calls=(Call(name="transfer_to_agent", args={"agent_name": target.name}),), times=None
        )
        return self._agent("router", ScriptedModel(default=hand_over), sub_agents=[target])

    def _with_tool(self, name: str, tool_name: str, answer: str, **options: Any) -> LlmAgent:
        async def tool() -> dict[str, str]:
            self.effects.append(tool_name)
            return {"done": tool_name}

        tool.__name__ = tool_name
        model = ScriptedModel(
            steps=(
                Text(text=answer, match=Match(after_tool=True), times=None),
                ToolCalls(calls=(Call(name=tool_name),), times=None),
            )
        )
        return self._agent(name, model, tools=[tool], **options)

    def _agent(self, name: str, model: ScriptedModel, **options: Any) -> LlmAgent:
        self.models[name] = model
        return LlmAgent(name=name, model=model, **options)


def agents_of(node: Any) -> list[Any]:
    """All nodes of a tree or graph."""
    graph = getattr(node, "graph", None)
    below = [*getattr(node, "sub_agents", ()), *getattr(graph, "nodes", ())]
    return [node, *(agent for child in below for agent in agents_of(child))]


@dataclass(frozen=True)
class Kind:
    """A kind of root, with what is seen of the others around the worker's part."""

    name: str
    build: Callable[[Cast], Any]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    effects_before: Sequence[str] = ()
    resumable: bool = False
    next_turn: Sequence[str] = (f"worker: {ANSWER}",)
    """What a second turn yields, in which nothing fails."""

    def app(self, cast: Cast) -> App:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            root = self.build(cast)
        return App(
            name=APP,
            root_agent=root,
            resumability_config=ResumabilityConfig(is_resumable=True) if self.resumable else None,
        )


_PREPARED = (
    "preparer: prepare()",
    "preparer: prepare -> {'done': 'prepare'}",
    "preparer: prepared",
)
_BESIDE = ("sibling: help_out()", "sibling: help_out -> {'done': 'help_out'}", "sibling: beside")
_HANDED_OVER = (
    "router: transfer_to_agent(agent_name='worker')",
    "router: transfer_to_agent -> {'result': None}",
)
_HANDED_TO_LINE = (
    "router: transfer_to_agent(agent_name='line')",
    "router: transfer_to_agent -> {'result': None}",
)
_WORKED = f"worker: {ANSWER}"
_DRAFT = Text(text="draft")


def _one_after_the_other(cast: Cast) -> tuple[LlmAgent, LlmAgent]:
    """Worker and sibling; the sibling is done before the worker begins."""

    ended: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def wait(callback_context: CallbackContext) -> None:
        turn = callback_context.invocation_id
        mine = [e for e in callback_context.session.events if e.invocation_id == turn]
        if "sibling: beside" not in transcript(mine):
            await asyncio.wait_for(ended[turn].wait(), 5)

    async def done(callback_context: CallbackContext) -> None:
        ended[callback_context.invocation_id].set()

    return (
        cast.worker(before_agent_callback=wait),
        cast.sibling(after_agent_callback=done),
    )


def _fork(cast: Cast) -> Workflow:
    """Worker and sibling side by side between preparer and closer; the sibling is first."""
    worker, sibling = _one_after_the_other(cast)
    return Workflow(
        name="root",
        edges=[(START, cast.preparer(), (worker, sibling), JoinNode(name="join"), cast.closer())],
    )


def _rounds(cast: Cast) -> Workflow:
    """The worker's draft goes back to the worker; its next text is the end."""

    def judge(node_input: Any) -> Event:
        again = "draft" in str(node_input)
        return Event(output=node_input, actions=EventActions(route="again" if again else "enough"))

    worker, closer = cast.worker([_DRAFT]), cast.closer()
    return Workflow(
        name="root",
        edges=[(START, worker, judge), (judge, {"again": worker, "enough": closer})],
    )


LLM = Kind("llm", lambda cast: cast.worker())
LLM_RESUMABLE = Kind("llm_resumable", lambda cast: cast.worker(), resumable=True)
TRANSFER = Kind("transfer", lambda cast: cast.router(cast.worker()), before=_HANDED_OVER)
TRANSFER_RESUMABLE = Kind(
    "transfer_resumable",
    lambda cast: cast.router(cast.worker()),
    before=_HANDED_OVER,
    resumable=True,
)
SEQUENTIAL = Kind(
    "sequential",
    lambda cast: SequentialAgent(
        name="root", sub_agents=[cast.preparer(), cast.worker(), cast.closer()]
    ),
    before=_PREPARED,
    after=("closer: closed",),
    effects_before=("prepare",),
    next_turn=(*_PREPARED, _WORKED, "closer: closed"),
)
LOOP = Kind(
    "loop",
    lambda cast: LoopAgent(
        name="root", sub_agents=[cast.preparer(), cast.worker([_DRAFT])], max_iterations=2
    ),
    before=(*_PREPARED, "worker: draft", *_PREPARED),
    effects_before=("prepare", "prepare"),
    next_turn=(*_PREPARED, _WORKED, *_PREPARED, _WORKED),
)
PARALLEL = Kind(
    "parallel",
    lambda cast: ParallelAgent(name="root", sub_agents=[*_one_after_the_other(cast)]),
    before=_BESIDE,
    effects_before=("help_out",),
    next_turn=(*_BESIDE, _WORKED),
)
GRAPH = Kind("graph", lambda cast: Workflow(name="root", edges=[(START, cast.worker())]))
GRAPH_OF_THREE = Kind(
    "graph_of_three",
    lambda cast: Workflow(
        name="root", edges=[(START, cast.preparer(), cast.worker(), cast.closer())]
    ),
    before=_PREPARED,
    after=("closer: closed",),
    effects_before=("prepare",),
    next_turn=(*_PREPARED, _WORKED, "closer: closed"),
)
GRAPH_IN_ROUNDS = Kind(
    "graph_in_rounds",
    _rounds,
    before=("worker: draft",),
    after=("closer: closed",),
    next_turn=(_WORKED, "closer: closed"),
)
GRAPH_RESUMABLE = Kind(
    "graph_resumable",
    GRAPH_OF_THREE.build,
    before=_PREPARED,
    after=("closer: closed",),
    effects_before=("prepare",),
    resumable=True,
    next_turn=(*_PREPARED, _WORKED, "closer: closed"),
)

GRAPH_WITH_FORK = Kind(
    "graph_with_fork",
    _fork,
    before=(*_PREPARED, *_BESIDE),
    after=("closer: closed",),
    effects_before=("prepare", "help_out"),
    next_turn=(*_PREPARED, *_BESIDE, _WORKED, "closer: closed"),
)
SEQUENCE_BEHIND_TRANSFER = Kind(
    "sequence_behind_transfer",
    lambda cast: cast.router(
        SequentialAgent(name="line", sub_agents=[cast.preparer(), cast.worker(), cast.closer()])
    ),
    before=(*_HANDED_TO_LINE, *_PREPARED),
    after=("closer: closed",),
    effects_before=("prepare",),
    next_turn=(*_HANDED_TO_LINE, *_PREPARED, _WORKED, "closer: closed"),
)
SEQUENCE_IN_GRAPH = Kind(
    "sequence_in_graph",
    lambda cast: Workflow(
        name="root",
        edges=[
            (
                START,
                SequentialAgent(name="line", sub_agents=[cast.preparer(), cast.worker()]),
                cast.closer(),
            )
        ],
    ),
    before=_PREPARED,
    after=("closer: closed",),
    effects_before=("prepare",),
    next_turn=(*_PREPARED, _WORKED, "closer: closed"),
)
NESTED = Kind(
    "nested",
    lambda cast: SequentialAgent(
        name="root",
        sub_agents=[
            LoopAgent(name="rounds", sub_agents=[cast.preparer()], max_iterations=2),
            SequentialAgent(name="line", sub_agents=[cast.worker()]),
            cast.closer(),
        ],
    ),
    before=(*_PREPARED, *_PREPARED),
    after=("closer: closed",),
    effects_before=("prepare", "prepare"),
    next_turn=(*_PREPARED, *_PREPARED, _WORKED, "closer: closed"),
)

KINDS = (
    LLM,
    LLM_RESUMABLE,
    TRANSFER,
    TRANSFER_RESUMABLE,
    SEQUENTIAL,
    LOOP,
    PARALLEL,
    GRAPH,
    GRAPH_OF_THREE,
    GRAPH_IN_ROUNDS,
    GRAPH_RESUMABLE,
    GRAPH_WITH_FORK,
    SEQUENCE_BEHIND_TRANSFER,
    SEQUENCE_IN_GRAPH,
    NESTED,
)

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
