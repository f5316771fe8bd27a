"""The guardrails against a second statement of their specification, for all cases that there are.

The specification is a table (score by target) and a list of rules for an open question. Both stand
here once more, as data and in other words than in the kernel.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oda.orchestration import Classification, OrchestrationRules, PendingSwitch
from oda.orchestration.guardrails import Answer, Decision, answer_in, decide, refusal_of, reject

CHAT, RECITE, HOMEWORK = SCENES = ("chat", "recite", "homework")
INTENTS = (*SCENES, "continue_current", "exit_current", "a scene that does not exist")
ANSWERS: tuple[Answer, ...] = get_args(Answer)
RULES = OrchestrationRules()

Level = Literal["high", "middle", "low"]
TABLE = {
    ("high", "the active scene"): "continue",
    ("middle", "the active scene"): "continue",
    ("low", "the active scene"): "continue",
    ("high", "another scene"): "switch",
    ("middle", "another scene"): "ask",
    ("low", "another scene"): "continue",
}
TOLD_NOW, TOLD_BEFORE = {"title": "静夜思"}, {"title": "春晓", "author": "孟浩然"}

QUESTIONS: tuple[PendingSwitch | None, ...] = (
    None,
    *(
        PendingSwitch(target=target, slots=TOLD_BEFORE, age_turns=age)
        for target, age in itertools.product(SCENES, range(3))
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a decision."""

    action: str
    scene: str
    asks_about: str | None = None
    open_question: tuple[str, int] | None = None
    """Its target and age."""
    refused: str | None = None


def seen(decision: Decision) -> Outcome:
    pending = decision.pending
    return Outcome(
        action=decision.action,
        scene=decision.scene,
        asks_about=pending.target if decision.asks and pending is not None else None,
        open_question=None if pending is None else (pending.target, pending.age_turns),
        refused=decision.declined,
    )


def level_of(score: int, rules: OrchestrationRules = RULES) -> Level:
    if score < rules.middle:
        return "low"
    return "middle" if score < rules.high else "high"


def specified(
    intent: str,
    level: Level,
    answer: Answer,
    active: str,
    question: PendingSwitch | None,
    turns: int = RULES.pending_turns,
) -> Outcome:
    """What the specification says."""
    if question is not None and answer == "confirm":
        if question.target == CHAT:
            return Outcome("exit", CHAT)
        return Outcome("continue" if question.target == active else "switch", question.target)
    if question is not None and answer == "deny":
        return Outcome("continue", active, refused=question.target)
    if intent == "exit_current" and level == "high":
        return Outcome("exit", CHAT)
    target = CHAT if intent == "exit_current" else intent if intent in SCENES else active
    row = TABLE[level, "the active scene" if target == active else "another scene"]
    if row == "switch":
        return Outcome("switch", target)
    older = None
    if question is not None and question.age_turns + 1 < turns:
        older = (question.target, question.age_turns + 1)
    if row == "ask":
        asked_again = older is not None and older[0] == target
        return Outcome("continue", active, target, older if asked_again else (target, 0))
    return Outcome("continue", active, open_question=older)


def decided(
    intent: str,
    score: int,
    answer: Answer,
    active: str,
    question: PendingSwitch | None,
    rules: OrchestrationRules = RULES,
) -> Decision:
    return decide(
        Classification(intent=intent, score=score, slots=TOLD_NOW),
        answer,
        active=active,
        pending=question,
        scenes=SCENES,
        rules=rules,
    )


@pytest.mark.parametrize("active", SCENES)
@pytest.mark.parametrize("answer", ANSWERS)
def test_each_case_is_decided_as_specified(active: str, answer: Answer) -> None:
    for intent, question, score in itertools.product(INTENTS, QUESTIONS, range(101)):
        decision = decided(intent, score, answer, active, question)
        expected = specified(intent, level_of(score), answer, active, question)
        assert seen(decision) == expected, (intent, score, question)
        assert decision.reason


@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=2).map(sorted),
    st.integers(1, 6),
    st.integers(0, 100),
    st.sampled_from(INTENTS),
    st.sampled_from(ANSWERS),
    st.sampled_from(SCENES),
    st.sampled_from(QUESTIONS),
)
def test_thresholds_and_patience_are_configuration(
    thresholds: Sequence[int],
    turns: int,
    score: int,
    intent: str,
    answer: Answer,
    active: str,
    question: PendingSwitch | None,
) -> None:
    middle, high = thresholds
    rules = OrchestrationRules(high=high, middle=middle, pending_turns=turns)
    decision = decided(intent, score, answer, active, question, rules)
    level = level_of(score, rules)
    assert seen(decision) == specified(intent, level, answer, active, question, turns)


@pytest.mark.parametrize("turns_between", range(5))
@pytest.mark.parametrize("other", ["continue_current", CHAT, "nonsense"])
def test_a_question_may_be_answered_in_the_three_turns_after_it(
    turns_between: int, other: str
) -> None:
    question = decided(RECITE, 60, "unclear", CHAT, None).pending
    assert question == PendingSwitch(target=RECITE, slots=TOLD_NOW, age_turns=0)
    for _ in range(turns_between):
        question = decided(other, 90, "unclear", CHAT, question).pending
    if turns_between < 3:
        agreed = decided("continue_current", 100, "confirm", CHAT, question)
        assert (agreed.action, agreed.scene, agreed.slots) == ("switch", RECITE, TOLD_NOW)
        assert agreed.pending is None
    else:
        assert question is None
        alone = decided("continue_current", 100, "confirm", CHAT, question)
        assert (alone.action, alone.scene) == ("continue", CHAT)


def test_agreeing_takes_what_the_question_knew_not_what_the_answer_says() -> None:
    question = PendingSwitch(target=RECITE, slots=TOLD_BEFORE, age_turns=2)
    decision = decided(HOMEWORK, 100, "confirm", CHAT, question)
    assert (decision.scene, decision.slots) == (RECITE, TOLD_BEFORE)


@pytest.mark.parametrize("score", [60, 90])
def test_naming_the_same_scene_again_adds_to_what_the_question_knew(score: int) -> None:
    question = PendingSwitch(target=RECITE, slots=TOLD_BEFORE)
    decision = decided(RECITE, score, "unclear", CHAT, question)
    known = {**TOLD_BEFORE, **TOLD_NOW}
    if score == 90:
        assert (decision.action, decision.slots, decision.pending) == ("switch", known, None)
    else:
        assert decision.asks
        assert decision.pending == PendingSwitch(target=RECITE, slots=known, age_turns=1)


@pytest.mark.parametrize("score", [60, 90])
def test_another_scene_takes_the_place_of_the_one_asked_about(score: int) -> None:
    question = PendingSwitch(target=RECITE, slots=TOLD_BEFORE, age_turns=1)
    decision = decided(HOMEWORK, score, "unclear", CHAT, question)
    if score == 90:
        assert (decision.action, decision.scene, decision.slots) == ("switch", HOMEWORK, TOLD_NOW)
        assert decision.pending is None
    else:
        assert decision.pending == PendingSwitch(target=HOMEWORK, slots=TOLD_NOW, age_turns=0)


@pytest.mark.parametrize("intent", INTENTS)
def test_the_active_scene_is_told_only_what_was_meant_for_it(intent: str) -> None:
    meant = intent in (CHAT, "continue_current")
    decision = decided(intent, 10, "unclear", CHAT, None)
    assert decision.slots == (TOLD_NOW if meant else {})


@pytest.mark.parametrize(
    ("text", "has_media", "refusal"),
    [
        ("", False, "empty"),
        (" \n\t　", False, "empty"),
        ("", True, None),
        ("a" * 20, False, None),
        ("a" * 21, False, "too_long"),
        ("a" * 21, True, "too_long"),
        ("the SECRET word", False, "not_allowed"),
        ("the secret word", True, "not_allowed"),
        ("secrecy", False, None),
    ],
)
def test_a_message_is_rejected_for_one_of_three_reasons(
    text: str, has_media: bool, refusal: str | None
) -> None:
    rules = OrchestrationRules(max_chars=20, not_allowed=(r"\bsecret\b", "烟花"))
    assert refusal_of(text, has_media=has_media, rules=rules) == refusal


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_rejected_message_leaves_everything_as_it_is(question: PendingSwitch | None) -> None:
    decision = reject("too_long", RECITE, question)
    assert (decision.action, decision.scene, decision.pending) == ("reject", RECITE, question)
    assert (decision.refusal, decision.asks) == ("too_long", False)
    assert "too long" in decision.reason


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("yes", "confirm"),
        ("  YES!! ", "confirm"),
        ("对。", "confirm"),
        ("No.", "deny"),
        ("不", "deny"),
        ("yes, but later", "unclear"),
        ("know", "unclear"),
        ("不对", "unclear"),
        ("…", "unclear"),
        ("对呀", "confirm"),
        ("对，对的！", "confirm"),
        ("yes. yes!", "confirm"),
        ("对，不", "unclear"),
    ],
)
def test_an_answer_is_the_whole_message(said: str, answer: Answer) -> None:
    rules = OrchestrationRules(confirm=frozenset({"yes", "对"}), deny=frozenset({"no", "不"}))
    assert answer_in(said, rules) == answer
