"""Differences between the kinds of ADK root agents, and the preparation of a Runner.

In google-adk 2.13, an `LlmAgent` or a graph as root runs and resumes under an invocation id chosen
by the caller. `SequentialAgent`, `LoopAgent`, `ParallelAgent` and other agents resume only in a
resumable app, and choose the id of their first run themselves.
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
    """Return whether a root runs and resumes under an id chosen by the caller."""
    return isinstance(root, LlmAgent) or not isinstance(root, BaseAgent)


def prepare_runner(runner: AdkRunner) -> TurnPlugin:
    """Register ODA's plugins with a Runner and make it resumable if its root requires that.

    Idempotent. A callback ends at the first plugin that returns a value, so order matters: the turn
    plugin comes before the app's own to see everything, the gate after them so that they can handle
    tool errors first.
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
    """Make ADK's optional import of `a2a-sdk` fail at once if the package is missing.

    Otherwise ADK tries the import in each turn, which takes up to 16 ms. `None` in `sys.modules`
    makes it fail immediately.
    """
    if importlib.util.find_spec("a2a") is None:
        sys.modules.setdefault("google.adk.agents.remote_a2a_agent", None)  # type: ignore[arg-type]
