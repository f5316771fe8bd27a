"""The orchestrator: an ADK graph root that leads each message to a scene.

Every step that a turn takes is a node, run by ADK under the orchestrator's own. ADK keeps their
results, so a turn that failed or whose process died goes on at the step that it had come to. The
state of the session is written once, with the event that answers.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event
from google.adk.workflow import START, FunctionNode
from google.adk.workflow import Workflow as AdkWorkflow
from google.genai.types import GenerateContentResponseUsageMetadata
from pydantic import BaseModel, PrivateAttr

from oda.errors import ConfigurationError
from oda.orchestration.classification import Classification, ClassifyRequest, classify_step
from oda.orchestration.model_access import StepContext
from oda.orchestration.rules import OrchestrationRules
from oda.orchestration.scene_leader import ConfirmStep, SceneLeader
from oda.orchestration.state import user_time_zone
from oda.orchestration.step import Outcome, Step
from oda.orchestration.turn_at_hand import TurnAtHand
from oda.orchestration.user_input import read_image, transcribe_audio
from oda.orchestration.workflow import Workflow

STEP_KEY = "oda_step"
"""Metadata of the event of a step: its name, attempts, and why its fallback has answered."""


class Orchestrator(AdkWorkflow):
    """An ADK root made of scenes.

    Args:
        scenes: Each by one `Workflow`; the first one is the default, where a session begins and to
            which it comes back.
        rules: Thresholds, times, words and texts.
        classify: Takes the place of the kernel's own step `classify-intent`.
        confirm: Tells whether a message agrees to another scene where its words alone do not.

    Raises:
        ConfigurationError: two scenes, or two steps that differ, have one name.
    """

    _leader: SceneLeader = PrivateAttr()
    _steps: dict[str, Step[Any, Any]] = PrivateAttr()
    _nodes: dict[str, FunctionNode] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        name: str,
        *,
        scenes: Sequence[Workflow],
        description: str = "",
        rules: OrchestrationRules | None = None,
        classify: Step[ClassifyRequest, Classification] | None = None,
        confirm: ConfirmStep | None = None,
    ) -> None:
        rules = rules or OrchestrationRules()
        by_name = _by_name("scenes", [(scene.name, scene) for scene in scenes])
        if not by_name:
            raise ConfigurationError(
                f"the orchestrator {name!r} has no scene", remedy="give it a Workflow"
            )
        classify = classify or classify_step({n: s.purpose for n, s in by_name.items()}, rules)
        node = FunctionNode(func=self._conduct, name="orchestrate", rerun_on_resume=True)
        super().__init__(name=name, description=description, edges=[(START, node)])
        self._leader = SceneLeader(by_name, rules, classify, confirm)
        own = (classify, transcribe_audio, read_image, *((confirm,) if confirm else ()))
        steps = [*own, *(step for scene in scenes for step in scene.steps)]
        self._steps = _by_name("steps", [(step.name, step) for step in steps])

    @property
    def steps(self) -> Sequence[Step[Any, Any]]:
        """All steps that its turns may take."""
        return tuple(self._steps.values())

    @property
    def leader(self) -> SceneLeader:
        """What it does with a message."""
        return self._leader

    async def _conduct(self, ctx: Context) -> AsyncGenerator[Event, None]:
        """Answer a message; ADK calls this again when the turn goes on after a failure."""
        state = ctx.state.to_dict()
        zone = user_time_zone(state, self._leader.rules)
        events = ctx.session.events
        now = datetime.fromtimestamp(_said_at(events, ctx.invocation_id), zone)
        turn = TurnAtHand(
            message=ctx.user_content,
            state=state,
            events=events,
            user_id=ctx.user_id,
            session_id=ctx.session.id,
            now=now,
            run_step=partial(self._run, ctx, now, count(1)),
        )
        yield await self._leader.answer(turn)

    async def _run(
        self,
        ctx: Context,
        now: datetime,
        numbers: Iterator[int],
        step: Step[Any, Any],
        request: BaseModel,
    ) -> BaseModel:
        context = StepContext(
            user_id=ctx.user_id,
            session_id=ctx.session.id,
            now=now,
            call_id=f"{ctx.invocation_id}-{next(numbers)}",
        )
        answer = await ctx.run_node(self._node(step), (request, context))
        response: BaseModel = step.response.model_validate(answer)
        return response

    def _node(self, step: Step[Any, Any]) -> FunctionNode:
        if step.name not in self._nodes:

            async def run(node_input: Any) -> AsyncGenerator[Event, None]:
                request, context = node_input
                yield _on_record(step, await step(request, context), context)

            name = step.name.replace("-", "_")
            self._nodes[step.name] = FunctionNode(func=run, name=name)
        return self._nodes[step.name]


def _by_name(kind: str, named: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, one in named:
        if found.setdefault(name, one) is not one:
            raise ConfigurationError(f"two {kind} are called {name!r}", remedy="rename one")
    return found


def _said_at(events: Sequence[Event], invocation_id: str) -> float:
    """When the message of a turn was stored: a turn that goes on later belongs to that moment."""
    turn = [event.timestamp for event in events if event.invocation_id == invocation_id]
    return min(turn) if turn else Event(author="user").timestamp


def _on_record(step: Step[Any, Any], outcome: Outcome[Any], context: StepContext) -> Event:
    told: dict[str, Any] = {"name": step.name, "attempts": outcome.attempts}
    if outcome.failure is not None:
        told["fell_back"] = outcome.failure.code
    return Event(
        output=outcome.response.model_dump(mode="json"),
        custom_metadata={STEP_KEY: told},
        usage_metadata=_sum(context.usage),
    )


def _sum(
    usage: Sequence[GenerateContentResponseUsageMetadata],
) -> GenerateContentResponseUsageMetadata | None:
    if len(usage) < 2:
        return usage[0] if usage else None
    names = ("prompt_token_count", "candidates_token_count", "total_token_count")
    return GenerateContentResponseUsageMetadata(
        **{name: sum(getattr(one, name) or 0 for one in usage) for name in names}
    )
