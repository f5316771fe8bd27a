"""What the companion understands by words alone, and what it only guesses."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.companion.agent import root_agent
from agents.companion.rules import agreement_in, rules
from oda.orchestration import Classification, StepContext
from oda.orchestration.classification import ClassifyRequest, by_rules
from oda.orchestration.guardrails import answer_in

LABELLED = Path(__file__).with_name("companion_commands.yaml")


def labelled() -> Iterator[tuple[str, str, dict[str, str]]]:
    for intent, messages in yaml.safe_load(LABELLED.read_text(encoding="utf-8")).items():
        for message in messages:
            text, slots = message if isinstance(message, list) else (message, {})
            yield intent, text, slots


@pytest.mark.parametrize(("intent", "message", "slots"), [*labelled()])
def test_a_command(intent: str, message: str, slots: dict[str, str]) -> None:
    found = by_rules(message, rules())
    assert (found.intent if found else "nothing") == intent
    assert found is None or (found.slots, found.score >= rules().high) == (slots, True)


async def classified(message: str, scene: str = "chat") -> Classification:
    (classify,) = [step for step in root_agent.steps if step.name == "classify-intent"]
    context = StepContext(user_id="child", now=datetime(2026, 3, 10, tzinfo=UTC))
    outcome = await classify(ClassifyRequest(user_input=message, active_scene=scene), context)
    assert outcome.failure is None
    found: Classification = outcome.response
    return found


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("我喜欢古诗", "recite"),
        ("I like poems", "recite"),
        ("我的数学题好难", "homework"),
        ("3加4等于多少", "homework"),
        ("12-5", "homework"),
        ("我累了", "exit_current"),
        ("I'm so bored", "exit_current"),
    ],
)
async def test_without_a_model_the_child_is_asked_about_a_guess(message: str, intent: str) -> None:
    found = await classified(message)
    assert (found.intent, rules().middle <= found.score < rules().high) == (intent, True)


async def test_what_nobody_can_guess_belongs_to_the_active_scene() -> None:
    assert (await classified("我家有一只猫")).intent == "continue_current"


@pytest.mark.parametrize(
    "word", ["对", "好的", "好的呀", "嗯，好的", "是的！", "Yes.", "yes, let's go"]
)
def test_words_that_agree(word: str) -> None:
    assert answer_in(word, rules()) == "confirm"


@pytest.mark.parametrize("word", ["不", "不用了", "不要啦", "不，算了", "先不要", "No", "not now"])
def test_words_that_refuse(word: str) -> None:
    assert answer_in(word, rules()) == "deny"


def test_all_steps_of_the_contract_can_be_called() -> None:
    contract: dict[str, set[str]] = {
        "classify-intent": {"intent", "score", "slots", "reason"},
        "chat": {"reply", "suggested_actions", "decision"},
        "clarify": {"reply", "suggested_actions", "decision"},
        "confirm-handoff": {"reply", "suggested_actions", "decision"},
        "analyze-idle-intent": {"wants_recitation", "title", "text", "reason"},
        "check-is-recitation-content": {"is_recitation", "similarity"},
        "compare-and-evaluate": {"score", "passed", "errors", "normalized"},
        "generate-memory-tips": {"tips"},
        "generate-standard-answer": {"text", "source", "confidence"},
        "save-history": {"id", "saved_at"},
        "homework-correct": {"items", "score"},
        "homework-tutor": {"hint", "reveals_answer"},
        "homework-summary": {"summary", "strengths", "to_practise"},
        "learning-progress": {"subjects"},
    }
    answered: dict[str, Any] = {step.name: step.response for step in root_agent.steps}
    for name, fields in contract.items():
        assert fields <= set(answered[name].model_fields), name


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("好的，我们开始吧！", "confirm"),
        ("Yes, please do", "confirm"),
        ("不用了，谢谢", "deny"),
        ("no, sorry", "deny"),
        ("好的，不了", "unclear"),
        ("what is the right way", "unclear"),
        ("月亮", "unclear"),
    ],
)
def test_what_the_clauses_of_a_message_agree_to(message: str, answer: str) -> None:
    assert agreement_in(message) == answer


@pytest.mark.parametrize("said", ["check", "let's", "我要", "homework", "3 + 4", "who wrote", "i"])
def test_no_message_keeps_a_pattern_busy(said: str) -> None:
    """One that backtracks without end would run into the limit of the test."""
    for filling in (" ", "想", "please ", "3 + "):
        message = f"{said}{filling * (4000 // len(filling))}!x"
        found = by_rules(message, rules())
        assert found is None or found.intent == "homework"
