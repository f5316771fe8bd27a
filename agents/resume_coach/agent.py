"""The ADK root of the coach."""

from google.adk.apps import App

from oda.orchestration import OrchestrationRules, Orchestrator

from .scene import CoachScene

LONGEST_MESSAGE = 200_000
"""Characters; the first message is a whole resume."""

root_agent = Orchestrator(
    "resume_coach",
    scenes=(CoachScene(),),
    description="Diagnoses a resume and mends it task by task, in Chinese and English.",
    rules=OrchestrationRules(
        time_zone="Asia/Shanghai", max_chars=LONGEST_MESSAGE, forgets=False, history=0
    ),
)

app = App(name="resume_coach", root_agent=root_agent)
