"""The agent folder as ADK and `oda` load it, and the cost of rules."""

import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import yaml

from agents.cv.dialogue.decide import Situation, decide
from mcp_tools.resume import load_resume

ROOT = Path(__file__).parents[2]
RULES_BUDGET_S = 0.010


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


def test_rules_decide_within_ten_milliseconds() -> None:
    file = Path(__file__).with_name("cv_utterances.yaml")
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    situation = Situation(load_resume(data["resume"]), (), "zh", today=date(2026, 11, 21))
    texts = [utterance["say"] for language in ("zh", "en") for utterance in data[language]]
    durations = sorted(min(_duration(text, situation) for _ in range(3)) for text in texts)
    assert durations[int(len(durations) * 0.99)] < RULES_BUDGET_S


def _duration(text: str, situation: Situation) -> float:
    start = time.process_time()
    decide(text, situation)
    return time.process_time() - start
