"""Processing of one message by the orchestrator, up to the event that answers it."""

from collections.abc import Mapping
from datetime import datetime

from google.adk.events import Event
from opentelemetry import trace

from oda.orchestration import guardrails
from oda.orchestration.answer_event import TurnRecord, answer_event
from oda.orchestration.classification import Classification, ClassifyRequest
from oda.orchestration.exchanges import exchanges_of, history_in, language_spoken
from oda.orchestration.guardrails import Answer, Decision
from oda.orchestration.response import Problem, Reply
from oda.orchestration.rules import CONTINUE, OrchestrationRules
from oda.orchestration.state import (
    STATE_KEY,
    LastIntent,
    OrchestrationState,
    Restored,
    SceneState,
    carried,
    deadline,
    kept_of_user,
    restore,
)
from oda.orchestration.step import Step
from oda.orchestration.turn_at_hand import TurnAtHand
from oda.orchestration.understanding import ConfirmStep, Understanding
from oda.orchestration.user_input import UserInput, read_input
from oda.orchestration.watch import Watch
from oda.orchestration.wording import Wording
from oda.orchestration.workflow import Entry, SceneTurn, Workflow
from oda.telemetry import get_logger

log = get_logger(__name__)

_RECENT = 10
"""Exchanges of the session that a scene sees."""


class SceneLeader:
    """Leads messages to scenes.

    Args:
        scenes: By their names, the default one first.
    """

    def __init__(
        self,
        scenes: Mapping[str, Workflow],
        rules: OrchestrationRules,
        classify: Step[ClassifyRequest, Classification],
        confirm: ConfirmStep | None,
        watch: Watch,
    ) -> None:
        self.rules = rules
        self._watch = watch
        self._scenes = scenes
        self._default = next(iter(scenes))
        self._understanding = Understanding(scenes, rules, classify, confirm)
        self._wording = Wording(rules.texts)

    def restore(self, stored: object, user_id: str, session_id: str, now: datetime) -> Restored:
        """The valid state of a session; see `state.restore`."""
        return restore(
            stored,
            user_id=user_id,
            session_id=session_id,
            scenes={name: scene.phases for name, scene in self._scenes.items()},
            now=now,
            rules=self.rules,
        )

    async def answer(self, turn: TurnAtHand) -> Event:
        """Answer a message.

        Raises:
            Exception: a step has failed that has no fallback.
        """
        restored = self.restore(turn.state.get(STATE_KEY), turn.user_id, turn.session_id, turn.now)
        if restored.resets:
            tell = log.warning if restored.details else log.info
            tell("orchestration_reset", why=restored.resets, details=restored.details)
        said = await read_input(turn.message, turn.run_step)
        found, decision = _NOTHING, _interrupted(restored.state.active_scene)
        before, entry = restored.state.scene_state, None
        scene_turn = self._scene_turn(turn, said, decision, before, entry)
        reply = await self._watch.interrupts(decision.scene, scene_turn)
        if reply is None:
            found, decision = await self._decided(turn, restored.state, said)
            before, entry = self._entered(restored.state, decision)
            scene_turn = self._scene_turn(turn, said, decision, before, entry)
            reply = await self._reply(scene_turn, decision, said)
            if reply.means is not None:
                found, decision = reply.means, self._decision(reply.means, restored.state)
                before, entry = self._entered(restored.state, decision)
                scene_turn = self._scene_turn(turn, said, decision, before, entry)
                reply = await self._reply(scene_turn, decision, said)
        _tell_operators(found, decision)
        reply = self._watch.completed(scene_turn, reply)
        phases = self._scenes[decision.scene].phases
        if reply.phase is not None and reply.phase not in phases:
            raise ValueError(f"the scene {decision.scene!r} has no phase {reply.phase!r}")
        after = self._after(restored.state, found, decision, before, reply, turn.now)
        record = TurnRecord(classification=found, decision=decision, resets=restored.resets)
        return answer_event(turn, scene_turn, reply, after, record, said, self.rules)

    async def _decided(
        self, turn: TurnAtHand, state: OrchestrationState, said: UserInput
    ) -> tuple[Classification, Decision]:
        """Return the classification of the message, and the decision about it."""
        has_media = bool(said.images or said.problems)
        if refusal := guardrails.refusal_of(said.text, has_media=has_media, rules=self.rules):
            return _NOTHING, guardrails.reject(refusal, state.active_scene, state.pending_switch)
        found, answer = await self._understanding.of(said.text, turn, state)
        return found, self._decision(found, state, answer)

    def _decision(
        self, found: Classification, state: OrchestrationState, answer: Answer = "unclear"
    ) -> Decision:
        return guardrails.decide(
            found,
            answer,
            active=state.active_scene,
            pending=state.pending_switch,
            scenes=self._scenes,
            rules=self.rules,
        )

    def _entered(
        self, state: OrchestrationState, decision: Decision
    ) -> tuple[SceneState, Entry | None]:
        """The state with which the scene of the decision begins this turn."""
        if decision.scene == state.active_scene:
            if decision.action == "exit":
                return self._beginning(decision.scene, state.scene_state), "exited"
            return state.scene_state, None if decision.declined is None else "declined"
        entry: Entry = "exited" if decision.action == "exit" else "switched"
        return self._beginning(decision.scene, state.scene_state), entry

    def _beginning(self, scene: str, before: SceneState) -> SceneState:
        return SceneState.of(self._scenes[scene].phases[0], carried(before.data, self.rules))

    def _scene_turn(
        self,
        turn: TurnAtHand,
        said: UserInput,
        decision: Decision,
        before: SceneState,
        entry: Entry | None,
    ) -> SceneTurn:
        recent = exchanges_of(turn.events, turn.now.tzinfo)[-_RECENT:]
        return SceneTurn(
            text=said.text,
            phase=before.phase,
            data=before.data,
            slots=dict(decision.slots),
            language=language_spoken(said.text, recent),
            user_id=turn.user_id,
            session_id=turn.session_id,
            now=turn.now,
            wording=self._wording,
            entry=entry,
            pending=decision.pending,
            images=said.images,
            recent=recent,
            user=kept_of_user(turn.state),
            history=history_in(turn.state),
            run_step=turn.run_step,
        )

    async def _reply(self, turn: SceneTurn, decision: Decision, said: UserInput) -> Reply:
        scene = self._scenes[decision.scene]
        if decision.refusal is not None:
            text = self._wording(decision.refusal, turn.language)
            remedy = self._wording("retry_hint", turn.language)
            problem = Problem(code=decision.refusal, message=text, remedy=remedy)
            return Reply(text=text, problem=problem)
        if not said.text and said.problems:
            problem = said.problems[0]
            return Reply(
                text=" ".join(filter(None, (problem.message, problem.remedy))), problem=problem
            )
        if decision.asks and decision.pending is not None:
            return scene.ask_about(turn, self._scenes[decision.pending.target].title(turn.language))
        if decision.declined is not None:
            return scene.declined(turn)
        return await scene.run(turn)

    def _after(
        self,
        state: OrchestrationState,
        found: Classification,
        decision: Decision,
        before: SceneState,
        reply: Reply,
        now: datetime,
    ) -> OrchestrationState:
        """Return the state to store after the turn."""
        scene = decision.scene
        data = before.data if reply.data is None else reply.data
        scene_state = SceneState.of(reply.phase or before.phase, data)
        if reply.leaves and scene != self._default:
            scene, scene_state = self._default, self._beginning(self._default, scene_state)
        return state.model_copy(
            update={
                "active_scene": scene,
                "scene_state": scene_state,
                "pending_switch": decision.pending,
                "ttl_deadline": deadline(scene, self._default, now, self.rules),
                "last_intent": LastIntent(
                    intent=found.intent, score=found.score, reason=found.reason
                ),
                "last_activity": now,
                "updated_at": now,
                "version": state.version + 1,
            }
        )


_NOTHING = Classification(intent=CONTINUE, score=0, reason="answered before it was classified")


def _interrupted(active: str) -> Decision:
    return Decision(action="continue", scene=active, reason="answered in place of the scenes")


def _tell_operators(found: Classification, decision: Decision) -> None:
    log.info("orchestrated", action=decision.action, scene=decision.scene, why=decision.reason)
    trace.get_current_span().set_attributes(
        {
            "oda.intent": found.intent,
            "oda.score": found.score,
            "oda.decision": decision.action,
            "oda.scene": decision.scene,
            "oda.reason": decision.reason,
        }
    )
