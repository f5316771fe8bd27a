"""The agent folder as ADK and `oda` load it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(code: str) -> str:
    """Run Python in a process of its own, in the repository."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_agent_does_not_import_litellm() -> None:
    code = "import sys, agents.cv.agent; print('litellm' in sys.modules)"
    assert run(code) == "False"


def test_adk_loads_the_folder_as_it_is() -> None:
    code = (
        "from google.adk.cli.utils.agent_loader import AgentLoader\n"
        "loader = AgentLoader('agents')\n"
        "print('cv' in loader.list_agents(), loader.load_agent('cv').name)"
    )
    assert run(code).splitlines()[-1] == "True cv"
