"""Verdicts of code on items that were graded by hand."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools.homework import Item, Verdict, check, language_of, score, topic_of
from mcp_tools.homework.wording import comment

GROUPS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("homework_items.yaml").read_text(encoding="utf-8")
)
CASES = [case for group in GROUPS.values() for case in group]


def item(case: dict[str, Any]) -> Item:
    return Item(question=case["question"], answer=case["answer"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['question']} {case['answer']}")
def test_an_item_is_judged_as_by_hand(case: dict[str, Any]) -> None:
    verdict = check(item(case))
    assert verdict.correct is case["correct"], verdict
    assert verdict.checked_by == ("none" if case["correct"] is None else "code")
    if "expected" in case:
        assert verdict.expected == case["expected"]
    if "comment" in case:
        language = language_of(f"{case['question']}{case['answer']}")
        assert verdict.comment == comment(case["comment"], language)


def test_the_items_are_a_fair_mix() -> None:
    grades = [case["correct"] for case in CASES]
    assert len(CASES) >= 100
    assert 0.4 < grades.count(True) / (grades.count(True) + grades.count(False)) < 0.65
    assert {language_of(case["question"]) for case in CASES} == {"zh", "en"}


def test_a_wrong_answer_comes_with_what_would_have_been_right() -> None:
    """Only a blank with many fillings has no single right answer."""
    wrong = [check(item(case)) for case in CASES if case["correct"] is False]
    assert [each.question for each in wrong if not each.expected] == ["□+□=10"]


def test_no_comment_tells_the_answer() -> None:
    for case in CASES:
        verdict = check(item(case))
        assert not any(sign.isdigit() for sign in verdict.comment)


def test_the_comment_is_in_the_language_of_the_item_else_in_the_given_one() -> None:
    assert check(Item(question="七加八", answer="十四"), language="en").comment.startswith("很接近")
    assert check(Item(question="What is 7+8?", answer="14")).comment.startswith("Very close")
    assert check(Item(question="7+8", answer="14")).comment.startswith("很接近")
    assert check(Item(question="7+8", answer="14"), language="en").comment.startswith("Very close")


def test_a_question_that_holds_its_answer_is_judged_too() -> None:
    verdict = check(Item(question="3+4=8"))
    assert (verdict.question, verdict.answer, verdict.correct) == ("3+4=8", None, False)
    assert check(Item(question="判断：3+4=8")).correct is None


def test_an_unanswered_item_does_not_tell_the_answer() -> None:
    verdict = check(Item(question="3+4="))
    assert (verdict.correct, verdict.expected, verdict.checked_by) == (None, None, "none")
    assert verdict.topic == "addition"


@pytest.mark.parametrize(("subject", "judged"), [(None, True), ("数学", True), ("English", None)])
def test_code_checks_only_subjects_that_calculate(subject: str | None, judged: bool | None) -> None:
    assert check(Item(question="3+4", answer="7"), subject).correct is judged


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("3+4", "addition"),
        ("27+35", "carrying"),
        ("58-23", "subtraction"),
        ("52-37", "borrowing"),
        ("6×7", "times_table"),
        ("23×45", "multiplication"),
        ("56÷8", "division"),
        ("17÷5", "remainders"),
        ("3+4×2", "mixed_operations"),
        ("3-8", "negatives"),
        ("0.5×3", "decimals"),
        ("1/2+1/3", "fractions"),
        ("20%×50", "percentages"),
        ("2^3", "powers"),
        ("3/4 ○ 2/3", "comparison"),
        ("7+□=12", "missing_numbers"),
        ("2小时=( )分钟", "units"),
        ("2x+1=7", "equations"),
        ("x²=4", "quadratic_equations"),
        ("x+y=5, x-y=1", "systems"),
        ("化简 2x+3x", "simplifying"),
        ("expand (x+1)(x+2)", "expanding"),
        ("因式分解 x²-1", "factorising"),
        ("床前明月光的下一句是什么？", "other"),
    ],
)
def test_the_topic_of_an_item(question: str, topic: str) -> None:
    assert topic_of(Item(question=question)) == topic


def test_the_score_counts_only_items_with_a_verdict() -> None:
    def verdict(correct: bool | None) -> Verdict:
        return check(Item(question="3+4", answer={True: "7", False: "8", None: None}[correct]))

    assert score([verdict(True), verdict(True), verdict(False), verdict(None)]) == 67
    assert score([verdict(None)]) is None


def test_arithmetic_needs_no_sympy_and_algebra_says_what_to_install() -> None:
    code = """
import sys
from mcp_tools.homework import Item, SolverMissingError, check
print(check(Item(question="1/2+1/4", answer="3/4")).correct, "sympy" in sys.modules)
sys.modules["sympy"] = None
try:
    check(Item(question="x+3=7", answer="x=4"))
except SolverMissingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "True False",
        "This server cannot check algebra yet: install oda[companion]",
    ]
