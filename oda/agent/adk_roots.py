"""What oda must know of the kinds of ADK roots, and what it sets on a Runner before using it.

Facts (google-adk 2.13): an `LlmAgent` or a graph root runs under an invocation id of our choice and
resumes by it. `SequentialAgent`, `LoopAgent`, `ParallelAgent` and other agents resume only in a
resumable app, and take no id for their first run.
"""

import importlib.util
import sys
from functools import cache

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import ResumabilityConfig
from google.adk.runners import Runner as AdkRunner

from oda.agent.turn_plugin import TurnPlugin
from oda.telemetry import experimental_on_purpose
from oda.tools.gate import Gate

_GATE = Gate()


def takes_invocation_id(root: object) -> bool:
    """Whether a root runs and resumes under an id that the caller chooses."""
    return isinstance(root, LlmAgent) or not isinstance(root, BaseAgent)


def prepare_runner(runner: AdkRunner) -> TurnPlugin:
    """Give a Runner our two plugins, and resumability where its root needs it. Idempotent.

    The first plugin that answers a callback ends it: the turn's plugin goes before the app's own,
    since it must see everything, the gate after them, since theirs may handle a tool's error.
    """
    skip_failing_import()
    if not takes_invocation_id(runner.agent) and runner.resumability_config is None:
        with experimental_on_purpose():
            runner.resumability_config = ResumabilityConfig(is_resumable=True)
    plugins = runner.plugin_manager
    if plugins.get_plugin(Gate.NAME) is None:
        plugins.register_plugin(_GATE)
    plugin = plugins.get_plugin(TurnPlugin.NAME)
    if plugin is None:
        plugin = TurnPlugin()
        plugins.register_plugin(plugin)
        plugins.plugins.insert(0, plugins.plugins.pop())
    assert isinstance(plugin, TurnPlugin)
    return plugin


@cache
def skip_failing_import() -> None:
    """Without `a2a-sdk`, ADK tries and fails to import a module in each turn (up to 16 ms).

    `None` in `sys.modules` makes that import fail at once.
    """
    if importlib.util.find_spec("a2a") is None:
        sys.modules.setdefault("google.adk.agents.remote_a2a_agent", None)  # type: ignore[arg-type]
