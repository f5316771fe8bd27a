"""The decision about a message. Pure.

    score              target is the active scene    target is another scene
    high  (>= 75)      continue                      switch
    middle (50..74)    continue                      ask, and remember the question
    low   (< 50)       continue                      continue

`exit_current` requests the default scene. While a question is open, the next message agrees,
refuses, names another scene with a high score, or lets the question age. If a third scene may be
meant, it replaces the one asked about; if the same one may be meant, it is asked about again, and
the question ages nevertheless. Source: the specification of the kernel ("Guardrails").
"""

import re
from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict

from oda.orchestration.classification import Classification
from oda.orchestration.rules import CONTINUE, EXIT, OrchestrationRules, bare
from oda.orchestration.state import Data, PendingSwitch

Action = Literal["continue", "switch", "exit", "reject"]
Answer = Literal["confirm", "deny", "unclear"]
Refusal = Literal["empty", "too_long", "not_allowed"]

_MARKS = re.compile(r"[\s]*[,，、。.!！?？;；~～…]+[\s]*")
"""Between the parts of an answer."""


class Decision(BaseModel):
    """The action for a message, and its reason."""

    model_config = ConfigDict(frozen=True)

    action: Action
    scene: str
    """The scene in which the turn continues."""
    slots: Data = {}
    """Values for the scene, extracted from the message or from the one that led to the question."""
    pending: PendingSwitch | None = None
    """The question that is open after this turn."""
    asks: bool = False
    """Whether the user is asked about `pending` in this turn."""
    declined: str | None = None
    """The scene that the user has just refused."""
    refusal: Refusal | None = None
    reason: str


def refusal_of(text: str, *, has_media: bool, rules: OrchestrationRules) -> Refusal | None:
    """Why a message is rejected; None when it is not."""
    if not text.strip() and not has_media:
        return "empty"
    if len(text) > rules.max_chars:
        return "too_long"
    if rules.forbidden is not None and rules.forbidden.search(text):
        return "not_allowed"
    return None


def answer_in(text: str, rules: OrchestrationRules) -> Answer:
    """Return whether a message agrees or refuses; the whole message must consist of such words."""
    said = bare(text)
    parts = {said} if said in rules.confirm | rules.deny else set(_MARKS.split(said))
    answers = {_answer(part, rules) for part in parts}
    return answers.pop() if len(answers) == 1 else "unclear"


def _answer(words: str, rules: OrchestrationRules) -> Answer:
    for said in (words, re.sub(rules.particles, "", words)):
        if said in rules.confirm:
            return "confirm"
        if said in rules.deny:
            return "deny"
    return "unclear"


def reject(refusal: Refusal, active: str, pending: PendingSwitch | None) -> Decision:
    """Leave everything as it is."""
    return Decision(
        action="reject",
        scene=active,
        pending=pending,
        refusal=refusal,
        reason=f"the message is {refusal.replace('_', ' ')}",
    )


def decide(
    classification: Classification,
    answer: Answer,
    *,
    active: str,
    pending: PendingSwitch | None,
    scenes: Collection[str],
    rules: OrchestrationRules,
) -> Decision:
    """Decide on a message that is not rejected.

    Args:
        classification: The classification of the message; unknown scenes are ignored.
        answer: Its answer to the open question; ignored if there is none.
        active: The active scene.
        scenes: All scenes, the default one first.
    """
    default = next(iter(scenes))
    if pending is not None and answer != "unclear":
        return _answered(pending, answer, active, default)
    target = _target(classification, active, default, scenes)
    score, slots = classification.score, classification.slots
    leaves = classification.intent == EXIT
    same = pending if pending is not None and pending.target == target else None
    if score >= rules.high and (target != active or leaves):
        told = {**same.slots, **slots} if same is not None else slots
        return _go(target, told, active, leaves, f"{target} is meant: {score} >= {rules.high}")
    aged = _aged(pending, rules)
    if score >= rules.middle and target != active:
        question = PendingSwitch(target=target, slots=slots)
        if same is not None and aged is not None:
            question = aged.model_copy(update={"slots": {**aged.slots, **slots}})
        return Decision(
            action="continue",
            scene=active,
            pending=question,
            asks=True,
            reason=f"{target} may be meant: {rules.middle} <= {score} < {rules.high}",
        )
    told = slots if classification.intent in (active, CONTINUE) else {}
    why = "the active scene is meant" if target == active else f"{score} < {rules.middle}"
    return Decision(action="continue", scene=active, slots=told, pending=aged, reason=why)


def _answered(pending: PendingSwitch, answer: Answer, active: str, default: str) -> Decision:
    if answer == "confirm":
        leaves = pending.target == default
        return _go(pending.target, pending.slots, active, leaves, "the user has agreed")
    return Decision(
        action="continue",
        scene=active,
        declined=pending.target,
        reason="the user has refused the other scene",
    )


def _target(
    classification: Classification, active: str, default: str, scenes: Collection[str]
) -> str:
    if classification.intent == EXIT:
        return default
    return classification.intent if classification.intent in scenes else active


def _go(target: str, slots: Data, active: str, leaves: bool, reason: str) -> Decision:
    action: Action = "exit" if leaves else "continue" if target == active else "switch"
    return Decision(action=action, scene=target, slots=slots, reason=reason)


def _aged(pending: PendingSwitch | None, rules: OrchestrationRules) -> PendingSwitch | None:
    if pending is None or pending.age_turns + 1 >= rules.pending_turns:
        return None
    return pending.model_copy(update={"age_turns": pending.age_turns + 1})
