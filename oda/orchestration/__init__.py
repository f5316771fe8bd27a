"""Routing of messages to scenes by one orchestrator, which is an ADK root agent.

    message -> user_input -> state (validated) -> classification (a score, no decision)
            -> guardrails (the decision) -> workflow of a scene, through its steps -> response

The kernel knows scenes by name only. A scene is a `Workflow`, and what it does is made of `Step`s.
"""

from oda.orchestration.classification import Classification
from oda.orchestration.model_access import StepContext
from oda.orchestration.orchestrator import Orchestrator
from oda.orchestration.response import Question, Reply, Response
from oda.orchestration.rules import OrchestrationRules
from oda.orchestration.state import PendingSwitch
from oda.orchestration.step import Step, step
from oda.orchestration.team_step import TeamRequest, TeamResponse, team_step
from oda.orchestration.understanding import Confirmation, ConfirmRequest
from oda.orchestration.watch import Watch
from oda.orchestration.workflow import SceneTurn, Workflow

__all__ = [
    "Classification",
    "ConfirmRequest",
    "Confirmation",
    "OrchestrationRules",
    "Orchestrator",
    "PendingSwitch",
    "Question",
    "Reply",
    "Response",
    "SceneTurn",
    "Step",
    "StepContext",
    "TeamRequest",
    "TeamResponse",
    "Watch",
    "Workflow",
    "step",
    "team_step",
]
