"""Interpretation of a message: by words, by what the scene expects, and only then by models."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from oda.orchestration import guardrails
from oda.orchestration.classification import Classification, ClassifyRequest, by_rules
from oda.orchestration.guardrails import Answer
from oda.orchestration.rules import CONTINUE, OrchestrationRules
from oda.orchestration.state import OrchestrationState, PendingSwitch
from oda.orchestration.step import Step
from oda.orchestration.turn_at_hand import TurnAtHand
from oda.orchestration.workflow import Workflow


class ConfirmRequest(BaseModel):
    """A user's message while a question about another scene is open."""

    user_input: Annotated[str, Field(max_length=20_000)]
    session_id: Annotated[str, Field(max_length=128)]
    pending_switch: PendingSwitch


class Confirmation(BaseModel):
    """Whether the message agrees."""

    decision: Answer | None = None
    """None is `unclear`."""


ConfirmStep = Step[Any, Any]
"""Takes a `ConfirmRequest` and returns a `Confirmation`, or models with at least these fields."""


class Understanding:
    """Takes messages for intents, and for answers to the question that is open."""

    def __init__(
        self,
        scenes: Mapping[str, Workflow],
        rules: OrchestrationRules,
        classify: Step[ClassifyRequest, Classification],
        confirm: ConfirmStep | None,
    ) -> None:
        self._scenes = scenes
        self._rules = rules
        self._classify = classify
        self._confirm = confirm

    async def of(
        self, text: str, turn: TurnAtHand, state: OrchestrationState
    ) -> tuple[Classification, Answer]:
        """Return the classification of a message, and its answer to the open question."""
        pending = state.pending_switch
        answer = "unclear" if pending is None else guardrails.answer_in(text, self._rules)
        if answer != "unclear":
            return _ANSWERS, answer
        if (plain := self._plainly(text, state)) is not None:
            return plain, "unclear"
        if pending is not None and self._confirm is not None:
            answer = await self._answer_to(pending, text, turn, self._confirm)
            if answer != "unclear":
                return _ANSWERS, answer
        request = ClassifyRequest(
            user_input=text, active_scene=state.active_scene, pending_switch=pending
        )
        found = await turn.run_step(self._classify, request)
        return Classification.model_validate(found.model_dump()), "unclear"

    def _plainly(self, text: str, state: OrchestrationState) -> Classification | None:
        """Return a classification that needs no model, or None."""
        if not text:
            return Classification(intent=CONTINUE, score=100, reason="there are no words")
        if (command := by_rules(text, self._rules)) is not None:
            return command
        scene, scene_state = self._scenes[state.active_scene], state.scene_state
        if scene.expects(text, scene_state.phase, scene_state.data):
            return Classification(intent=CONTINUE, score=100, reason="the scene waits for it")
        return None

    async def _answer_to(
        self, pending: PendingSwitch, text: str, turn: TurnAtHand, confirm: ConfirmStep
    ) -> Answer:
        request = confirm.request.model_validate(
            {
                "user_input": text,
                "session_id": turn.session_id,
                "pending_switch": pending.model_dump(),
            }
        )
        said = await turn.run_step(confirm, request)
        return Confirmation.model_validate(said.model_dump()).decision or "unclear"


_ANSWERS = Classification(intent=CONTINUE, score=100, reason="answers the question")
