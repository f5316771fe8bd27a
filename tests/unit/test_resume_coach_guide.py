"""The guide at each of its states, and what it takes a message for."""

from typing import Any

import pytest

from agents.resume_coach.acts import Act, understand
from agents.resume_coach.guide_agent import Decision, GuideAgent, Surroundings
from mcp_tools.resume import load_resume
from oda.message.language import Language
from tests.support.coached import ANSWERS, RESUME, TODAY, task_of

STAGES = ("opening", "gathering", "drafting", "confirming", "finished")


def guide_for(kind: str, **known: Any) -> GuideAgent:
    """A guide before its opening."""
    guide = GuideAgent()
    language: Language = known.get("language", "en")
    resume = load_resume(RESUME)
    guide.attend(task_of(kind, language=language), Surroundings(resume, TODAY, language, **known))
    return guide


def stage_of(guide: GuideAgent) -> str:
    return guide.stage


def said(guide: GuideAgent, *messages: str) -> Decision:
    """What the guide says to the last message, behind its opening."""
    decision = guide.generate_opening()
    for message in messages:
        decision = guide.step(message)
    return decision


def at(stage: str) -> GuideAgent:
    """A guide that has come to a stage with the contacts."""
    guide = guide_for("missing_contact")
    ways = {
        "opening": [],
        "gathering": ["tom@brennan.example"],
        "finished": [ANSWERS["missing_contact"], "yes"],
    }
    said(guide, *ways.get(stage, [ANSWERS["missing_contact"]]))
    if stage == "drafting":
        guide.load_state({**guide.export_state(), "stage": stage, "execution_doc": None})
    assert stage_of(guide) == stage
    return guide


def test_the_way_of_a_task() -> None:
    guide = guide_for("missing_contact")
    opening = guide.generate_opening()
    assert (stage_of(guide), opening.execution_doc) == ("opening", None)
    assert "nobody can reach you" in opening.reply
    assert "e-mail" in opening.reply
    half = guide.step("tom@brennan.example")
    assert stage_of(guide) == "gathering"
    assert "phone" in half.reply
    drafted = guide.step("+44 20 7946 0000")
    assert stage_of(guide) == "confirming"
    assert drafted.execution_doc is not None
    assert {one.path: one.value for one in drafted.execution_doc.edits} == {
        "basics.email": "tom@brennan.example",
        "basics.phone": "+44 20 7946 0000",
    }
    agreed = guide.step("looks good")
    assert (stage_of(guide), agreed.act) == ("finished", Act.CONFIRM)
    assert agreed.execution_doc == drafted.execution_doc


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("message", "target"),
    [
        ("回到教育经历", "教育经历"),
        ("back to education", "education"),
        ("go back to task 2", "task 2"),
        ("上一个", "上一个"),
    ],
)
def test_one_may_go_back_at_every_stage(stage: str, message: str, target: str) -> None:
    guide = at(stage)
    before = guide.export_state()
    decision = guide.step(message)
    assert (decision.act, decision.target_section) == (Act.BACKTRACK, target)
    assert guide.export_state() == before, "who asks for a task that is not there goes on here"


@pytest.mark.parametrize("stage", STAGES[:-1])
@pytest.mark.parametrize("message", ["skip", "跳过", "下一个", "leave it as it is"])
def test_one_may_skip_at_every_stage(stage: str, message: str) -> None:
    guide = at(stage)
    decision = guide.step(message)
    assert (decision.act, stage_of(guide)) == (Act.SKIP, "finished")
    assert decision.execution_doc is None


@pytest.mark.parametrize("message", ["不对，重写", "no, rewrite it", "try again"])
def test_a_draft_that_is_refused_is_gone(message: str) -> None:
    guide = at("confirming")
    decision = guide.step(message)
    assert (decision.act, stage_of(guide)) == (Act.REJECT, "gathering")
    assert "e-mail" in decision.reply
    again = guide.step("tim@brennan.example +44 20 7946 0001")
    assert again.execution_doc is not None
    assert again.execution_doc.edits[0].value == "tim@brennan.example"


def test_a_refusal_may_say_what_is_right() -> None:
    guide = at("confirming")
    decision = guide.step("不对，tim@brennan.example +44 20 7946 0001")
    assert stage_of(guide) == "confirming"
    assert decision.execution_doc is not None
    assert decision.execution_doc.edits[0].value == "tim@brennan.example"


def test_what_needs_no_answer_is_drafted_at_a_yes() -> None:
    guide = guide_for("order")
    assert guide.generate_opening().execution_doc is None
    decision = guide.step("好的")
    assert stage_of(guide) == "confirming"
    assert decision.execution_doc is not None
    refused = guide.step("no")
    assert stage_of(guide) == "gathering"
    assert "skip" in refused.reply


def test_a_yes_is_no_answer_to_a_question() -> None:
    guide = guide_for("weak_verbs")
    decision = said(guide, "ok")
    assert stage_of(guide) == "gathering"
    assert "Helped the marketing department" in decision.reply
    assert said(guide, "ok", ANSWERS["weak_verbs"]).execution_doc is not None


def test_the_persons_own_values_take_the_place_of_the_drafts() -> None:
    guide = at("confirming")
    values = {"basics.phone": "+44 1", "basics.url": "https://brennan.example"}
    decision = guide.answer(confirmed=True, values=values)
    assert decision.execution_doc is not None
    assert {one.path: one.value for one in decision.execution_doc.edits} == {
        "basics.email": "tom@brennan.example",
        **values,
    }


def test_a_pause_changes_nothing() -> None:
    guide = at("confirming")
    before = guide.export_state()
    assert guide.step("先到这里吧").act is Act.PAUSE
    assert guide.export_state() == before


def test_another_task_begins_anew_and_knows_what_was_skipped() -> None:
    guide = at("confirming")
    around = Surroundings(
        load_resume(RESUME),
        TODAY,
        "zh",
        skipped=("x",),
        number=2,
        total=4,
        is_first_after_skip=True,
    )
    guide.attend(task_of("order", language="zh"), around)
    assert stage_of(guide) == "opening"
    opening = guide.generate_opening().reply
    assert "先放下那一项" in opening
    assert "2/4" in opening


@pytest.mark.parametrize(
    "message",
    [
        "回到公司后我负责支付系统",
        "我跳过槽，2020年到2021年在家",
        "I moved to Berlin",
        "to increase revenue by 20%",
        "no downtime in 2021 and 99.9% of all orders served",
        "Okay Electronics, 2019",
        "好未来，2019年到2021年",
    ],
)
def test_what_only_looks_like_a_command_is_an_answer(message: str) -> None:
    assert understand(message).act is Act.CONTINUE
