"""Understanding of messages by words alone, and the step `classify-intent`."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from oda.orchestration import Classification, OrchestrationRules, Step, StepContext, Workflow
from oda.orchestration.classification import ClassifyRequest, by_rules, classify_step
from oda.orchestration.guardrails import Answer, answer_in
from oda.orchestration.rules import CONTINUE

from .safety.answers import unsafe_kind

_HERE = Path(__file__).parent
_GOES_ON = Classification(intent=CONTINUE, score=50, reason="left to the talk with the model")
_CLAUSE_END = re.compile(r"[,，.。!！;；、~]+")


@cache
def rules() -> OrchestrationRules:
    """Commands, words and texts.

    Raises:
        ConfigurationError: the file is wrong.
    """
    return OrchestrationRules.from_yaml(_HERE / "scenes.yaml")


@cache
def _guesses() -> OrchestrationRules:
    commands = yaml.safe_load((_HERE / "guesses.yaml").read_text(encoding="utf-8"))
    return OrchestrationRules(commands=commands)


def agreement_in(message: str) -> Answer:
    """Return the answer on which all meaningful clauses agree.

    Unclear if they contradict each other.
    """
    clauses = (message, *_CLAUSE_END.split(message))
    answers = {answer_in(clause, rules()) for clause in clauses} - {"unclear"}
    return answers.pop() if len(answers) == 1 else "unclear"


def _for_a_child(found: Classification) -> Classification:
    """Return the classification without words of a model that a child must not read."""
    told = [found.reason, *(str(value) for value in found.slots.values())]
    if all(unsafe_kind(text) is None for text in told):
        return found
    return found.model_copy(update={"slots": {}, "reason": ""})


def classify_intent(scenes: Sequence[Workflow]) -> Step[ClassifyRequest, Classification]:
    """Make the kernel's step as this application needs it.

    Without a model it makes a guess that the child is asked about. In a turn with one, the one call
    that answers the child also tells whether it means another scene (`chat/talking.py`).
    """
    by_kernel = classify_step({scene.name: scene.purpose for scene in scenes}, rules())

    async def classify(request: ClassifyRequest, context: StepContext) -> Classification:
        """Tell what a message is taken for, and how sure that is."""
        if (command := by_rules(request.user_input, rules())) is not None:
            return command
        if not context.has_model:
            guess = by_rules(request.user_input, _guesses())
            reason = "no command, and no model" if guess is None else "a guess by words"
            return (guess or _GOES_ON).model_copy(update={"reason": reason})
        if context.session_id is not None:
            return _GOES_ON
        return _for_a_child(await by_kernel.run(request, context))

    return replace(by_kernel, run=classify)
