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

_HERE = Path(__file__).parent
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


def classify_intent(scenes: Sequence[Workflow]) -> Step[ClassifyRequest, Classification]:
    """Make the kernel's step, which without a model makes a guess that the child is asked about."""
    by_kernel = classify_step({scene.name: scene.purpose for scene in scenes}, rules())

    async def classify(request: ClassifyRequest, context: StepContext) -> Classification:
        """Tell what a message is taken for, and how sure that is."""
        found = await by_kernel.run(request, context)
        if context.has_model or by_rules(request.user_input, rules()) is not None:
            return found
        guess = by_rules(request.user_input, _guesses())
        return found if guess is None else guess.model_copy(update={"reason": "a guess by words"})

    return replace(by_kernel, run=classify)
