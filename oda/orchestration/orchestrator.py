"""The orchestrator: an ADK graph root that directs each message to a scene.

Every step of a turn is a node that ADK runs below the orchestrator's own. ADK stores their results,
so a turn that failed or whose process died resumes at the step that it had reached. The state of
the session is written once, with the event that answers.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.platform.time import get_time
from google.adk.workflow import START, BaseNode, FunctionNode
from google.adk.workflow import Workflow as AdkWorkflow
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel, PrivateAttr

from oda.agent.model.configured import configured_model
from oda.agent.turn_plugin import running_turn
from oda.errors import ConfigurationError
from oda.message.progress import progress_event
from oda.orchestration.asking import answers_in, words_of
from oda.orchestration.classification import Classification, ClassifyRequest, classify_step
from oda.orchestration.model_access import StepContext
from oda.orchestration.rules import CONTINUE, EXIT, OrchestrationRules
from oda.orchestration.scene_leader import SceneLeader
from oda.orchestration.state import user_time_zone
from oda.orchestration.step import Outcome, Step
from oda.orchestration.turn_at_hand import TurnAtHand
from oda.orchestration.understanding import ConfirmStep
from oda.orchestration.user_input import read_image, transcribe_audio
from oda.orchestration.watch import Watch
from oda.orchestration.workflow import Workflow
from oda.tools.progress import tell

STEP_KEY = "oda_step"
"""Metadata of the event of a step: its name and attempts, why its fallback has answered, and what
the form of its model's answers took."""


class Orchestrator(AdkWorkflow):
    """An ADK root made of scenes.

    Args:
        scenes: Each by one `Workflow`; the first one is the default, where a session begins and to
            which it comes back.
        rules: Thresholds, times, words and texts.
        classify: Takes the place of the kernel's own step `classify-intent`.
        confirm: Tells whether a message agrees to another scene where its words alone do not.
        watch: Looks after the user; by default nobody does.

    Raises:
        ConfigurationError: there is no scene; two of them, or two steps that differ, have one name;
            a scene has no phases or the name of an intent; a command means a scene that is not
            there.
    """

    _leader: SceneLeader = PrivateAttr()
    _steps: dict[str, Step[Any, Any]] = PrivateAttr()

    def __init__(
        self,
        name: str,
        *,
        scenes: Sequence[Workflow],
        description: str = "",
        rules: OrchestrationRules | None = None,
        classify: Step[ClassifyRequest, Classification] | None = None,
        confirm: ConfirmStep | None = None,
        watch: Watch | None = None,
    ) -> None:
        watch = watch or Watch()
        rules = rules or OrchestrationRules()
        by_name = _by_name("scenes", [(scene.name, scene) for scene in scenes])
        _check(by_name, rules)
        classify = classify or classify_step({n: s.purpose for n, s in by_name.items()}, rules)
        node = FunctionNode(func=self._conduct, name="orchestrate", rerun_on_resume=True)
        super().__init__(name=name, description=description, edges=[(START, node)])
        self._leader = SceneLeader(by_name, rules, classify, confirm, watch)
        own = (classify, transcribe_audio, read_image, *((confirm,) if confirm else ()))
        steps = [*own, *watch.steps, *(step for scene in scenes for step in scene.steps)]
        self._steps = _by_name("steps", [(step.name, step) for step in steps])

    @property
    def steps(self) -> Sequence[Step[Any, Any]]:
        """All steps that its turns may take."""
        return tuple(self._steps.values())

    @property
    def models(self) -> Sequence[BaseLlm]:
        """The models that its steps use."""
        return (configured_model(),)

    @property
    def leader(self) -> SceneLeader:
        """Processes each message."""
        return self._leader

    async def _conduct(self, ctx: Context) -> AsyncGenerator[Event, None]:
        """Answer a message; called again by ADK when the turn resumes after a failure or
        an answer.
        """
        answered = len(answers_in(ctx.session.events, ctx.invocation_id))
        if answered:
            # a node of its own, since what is replayed of this one are the steps before the answer
            node = FunctionNode(func=self._go_on, name="go_on", rerun_on_resume=True)
            await ctx.run_node(node, run_id=f"answer-{answered}")
            return
        said_at = _said_at(ctx.session.events, ctx.invocation_id)
        yield await self._leader.answer(self._turn(ctx, ctx.user_content, said_at))

    async def _go_on(self, ctx: Context) -> AsyncGenerator[Event, None]:
        """Take the latest answer to a question as the message."""
        answers = answers_in(ctx.session.events, ctx.invocation_id)
        message = Content(role="user", parts=[Part(text=words_of(answers[-1]))])
        turn = self._turn(ctx, message, answers[-1].timestamp, after=f"{len(answers)}-")
        yield await self._leader.answer(turn)

    def _turn(
        self, ctx: Context, message: Content | None, said_at: float, *, after: str = ""
    ) -> TurnAtHand:
        """Return the data of the turn.

        Args:
            after: Prefix for the numbers of its steps, which distinguishes them from those of other
                messages.
        """
        state = ctx.state.to_dict()
        now = datetime.fromtimestamp(said_at, user_time_zone(state, self._leader.rules))
        numbers = (f"{after}{number}" for number in count(1))
        return TurnAtHand(
            message=message,
            state=state,
            events=ctx.session.events,
            user_id=ctx.user_id,
            session_id=ctx.session.id,
            now=now,
            run_step=partial(_run, ctx, now, numbers),
        )


async def _run(
    ctx: Context,
    now: datetime,
    numbers: Iterator[str],
    step: Step[Any, Any],
    request: BaseModel,
) -> BaseModel:
    """Run a step as a node of its own; its stored result, where the turn has one already."""
    context = StepContext(
        user_id=ctx.user_id,
        session_id=ctx.session.id,
        now=now,
        call_id=f"{ctx.invocation_id}-{next(numbers)}",
        turn=running_turn(ctx.get_invocation_context()),
        app=ctx.session.app_name,
        keeps=ctx.save_artifact,
        tells=partial(_tell, ctx, step),
        says=partial(_say, ctx),
    )
    answer = await ctx.run_node(_StepNode(step, context), request)
    response: BaseModel = step.response.model_validate(answer)
    return response


def _tell(ctx: Context, step: Step[Any, Any], said: dict[str, Any]) -> None:
    """Report the progress of a running step."""
    event = progress_event(
        {"step": step.name, **said}, author=_node_name(step), invocation_id=ctx.invocation_id
    )
    event.node_info.path = ctx.node_path
    tell(event)


def _say(ctx: Context, piece: str) -> None:
    """Show a piece of the reply, as if the event that answers had begun."""
    content = Content(role="model", parts=[Part(text=piece)])
    event = Event(
        author=ctx.node.name if ctx.node else "",
        invocation_id=ctx.invocation_id,
        content=content,
        partial=True,
    )
    event.node_info.path = ctx.node_path
    tell(event)


class _StepNode(BaseNode):
    """Runs a step once; its usage is recorded even if it fails.

    Not a `FunctionNode`: ADK caches the signatures of their functions, and with a function of a
    turn the whole turn.
    """

    _step: Step[Any, Any] = PrivateAttr()
    _context: StepContext = PrivateAttr()

    def __init__(self, step: Step[Any, Any], context: StepContext) -> None:
        super().__init__(name=_node_name(step))
        self._step, self._context = step, context

    async def _run_impl(self, *, ctx: Context, node_input: Any) -> AsyncGenerator[Event, None]:
        try:
            outcome = await self._step(node_input, self._context)
        except Exception:
            if self._context.used:
                yield Event(**_costs(self._context))
            raise
        yield _on_record(self._step, outcome, self._context)


def _node_name(step: Step[Any, Any]) -> str:
    return step.name.replace("-", "_")


def _by_name(kind: str, named: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, one in named:
        if found.setdefault(name, one) is not one:
            raise ConfigurationError(f"two {kind} are called {name!r}", remedy="rename one")
    return found


def _check(scenes: Mapping[str, Workflow], rules: OrchestrationRules) -> None:
    if not scenes:
        raise ConfigurationError("an orchestrator needs a scene", remedy="give it a Workflow")
    for name, scene in scenes.items():
        if name in (CONTINUE, EXIT):
            raise ConfigurationError(f"{name!r} is an intent, not a scene", remedy="rename it")
        if not scene.phases:
            raise ConfigurationError(f"the scene {name!r} has no phases", remedy="name one")
    for command in rules.commands:
        if command.intent not in (*scenes, CONTINUE, EXIT):
            raise ConfigurationError(
                f"a command means {command.intent!r}, which is no scene",
                remedy=f"use one of {[*scenes, CONTINUE, EXIT]}",
            )


def _said_at(events: Sequence[Event], invocation_id: str) -> float:
    """Return the time at which a turn's message was stored: a resumed turn keeps that time."""
    turn = [event.timestamp for event in events if event.invocation_id == invocation_id]
    return min(turn, default=get_time())


def _on_record(step: Step[Any, Any], outcome: Outcome[Any], context: StepContext) -> Event:
    told: dict[str, Any] = {"name": step.name, "attempts": outcome.attempts}
    if outcome.failure is not None:
        told["fell_back"] = outcome.failure.code
    if forms := [used.form for used in context.used if used.form is not None]:
        told["answer_forms"] = forms
    return Event(
        output=outcome.response.model_dump(mode="json"),
        custom_metadata={STEP_KEY: told},
        **_costs(context),
    )


def _costs(context: StepContext) -> dict[str, Any]:
    """Return the event fields in which ADK reports model usage."""
    if not context.used:
        return {}
    names = ("prompt_token_count", "candidates_token_count", "thoughts_token_count")
    counts = {name: sum(getattr(one.tokens, name) or 0 for one in context.used) for name in names}
    return {
        "usage_metadata": GenerateContentResponseUsageMetadata(
            **counts, total_token_count=sum(counts.values())
        ),
        "model_version": context.used[-1].model,
    }
