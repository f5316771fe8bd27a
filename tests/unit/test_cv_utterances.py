"""How many everyday utterances rules settle rightly, per language and intent."""

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.cv.dialogue.decide import decide
from agents.cv.dialogue.decision import Act, Ask, Defer, Outcome, ToolCall
from agents.cv.dialogue.pending import PendingEntry
from agents.cv.dialogue.situation import Situation
from mcp_tools.resume import Language, load_resume

FLOOR = 0.97
DATA: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("cv_utterances.yaml").read_text(encoding="utf-8")
)
RESUME = load_resume(DATA["resume"])


def called(call: ToolCall) -> list[Any]:
    return list(call.params.values())


def observed(outcome: Outcome) -> dict[str, Any]:
    """What a message led to, in the notation of the data file."""
    decision = outcome.decision
    top = outcome.pending[-1] if outcome.pending else None
    seen: dict[str, Any] = {"data": top.data} if isinstance(top, PendingEntry) else {}
    if isinstance(decision, Act):
        return seen | {"calls": [called(call) for call in decision.calls]}
    if isinstance(decision, Ask):
        return seen | {"ask": decision.topic}
    return seen | ({"defer": decision.reason} if isinstance(decision, Defer) else {})


@pytest.mark.parametrize("language", ["zh", "en"])
def test_everyday_utterances_are_settled_rightly(language: Language) -> None:
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for utterance in DATA[language]:
        situation = Situation(RESUME, (), language, today=date(2026, 11, 21))
        outcome = decide(utterance["say"], situation)
        wanted = {key: value for key, value in utterance.items() if key != "say"}
        seen = {key: value for key, value in observed(outcome).items() if key in wanted}
        intent = outcome.recognition.intent.value
        total[intent] += 1
        if json.dumps(seen, sort_keys=True) == json.dumps(wanted, sort_keys=True):
            right[intent] += 1
        else:
            wrong.append(f"{utterance['say']}\n    wanted {wanted}\n    seen   {seen}")
    accuracy = right.total() / total.total()
    print(f"\n{language}: {right.total()} of {total.total()} = {accuracy:.1%}")
    for intent, count in sorted(total.items()):
        print(f"    {intent:<8}{right[intent]:>4} of {count}")
    print("\n".join(wrong))
    assert accuracy >= FLOOR
