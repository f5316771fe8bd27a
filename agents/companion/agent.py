"""The `companion` agent: it listens to a child recite, helps with homework and talks.

Four scenes on the orchestration kernel, in Chinese and English. Words are understood by rules
(`scenes.yaml`), recitation and homework are judged by code (`mcp_tools`), so all of it works
without a model; one makes it understand and answer more. What is learnt is kept in SQL
(`learning/`), what a session is about in its ADK state.

    message -> safety/ -> breaks/ -> lookback/ -> oda.orchestration
            -> chat/ | recite/ | homework/ | practice/ -> steps -> mcp_tools, learning/
"""

from google.adk.apps import App

from oda.orchestration import Orchestrator

from .breaks.watch import BreakWatch
from .chat.scene import ChatScene
from .chat.steps import confirm_handoff
from .homework.scene import HomeworkScene
from .lookback.answering import RecordsWatch
from .practice.scene import PracticeScene
from .recite.scene import ReciteScene
from .rules import classify_intent, rules
from .safety.watch import ChildWatch
from .watch import Watches

_SCENES = (ChatScene(), ReciteScene(), HomeworkScene(), PracticeScene())

root_agent = Orchestrator(
    "companion",
    scenes=_SCENES,
    description="A child's learning companion: recitation, homework and talk, zh and en.",
    rules=rules(),
    classify=classify_intent(_SCENES),
    confirm=confirm_handoff,
    watch=Watches((ChildWatch(), BreakWatch(), RecordsWatch())),
)

app = App(name="companion", root_agent=root_agent)
