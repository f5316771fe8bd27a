"""Wishes about how something is written are the model's; concrete edits stay with the rules."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from agents.cv.dialogue.decision import Act, Defer
from tests.unit.cv_evaluation.talk import Talk
from tests.unit.test_cv_not_data import RESUME, SITUATIONS

CASES: Mapping[str, Mapping[str, list[Any]]] = yaml.safe_load(
    Path(__file__).with_name("cv_wishes.yaml").read_text(encoding="utf-8")
)
LANGUAGES = ("zh", "en")
FLOORS: Mapping[str, float] = MappingProxyType({"learned": 1.0, "unseen": 0.95})
"""The share of wishes of which nothing is kept in any situation."""


def left_to_the_model(said: str, before: tuple[str, ...]) -> bool:
    """Tell whether a wish is the model's and nothing is kept of it."""
    talk = Talk(RESUME, date(2026, 11, 23))
    for message in before:
        talk.say(message)
    resume, pending = talk.resume, talk.pending
    seen = talk.say(said)
    kept = talk.resume != resume or talk.pending != pending
    return isinstance(seen.outcome.decision, Defer) and not kept


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", ["learned", "unseen"])
def test_a_wish_about_the_writing_is_the_models(half: str, language: str) -> None:
    wrong = [
        (said, name)
        for said in CASES[half][language]
        for name, before in SITUATIONS.items()
        if not left_to_the_model(said, before[language])
    ]
    said = {said for said, _ in wrong}
    shown = wrong if half == "learned" else len(said)
    right = 1 - len(said) / len(CASES[half][language])
    assert right >= FLOORS[half], shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_concrete_edit_is_done_by_rules(language: str) -> None:
    wrong = []
    for case in CASES["edits"][language]:
        decision = Talk(RESUME, date(2026, 11, 23)).say(case["say"]).outcome.decision
        calls = decision.calls if isinstance(decision, Act) else ()
        done = [list(call.params.values()) for call in calls]
        wrong += [(case["say"], done or decision)] if done != case["calls"] else []
    assert not wrong
