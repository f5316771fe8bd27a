"""What a message leads to, given the resume and what is pending."""

from datetime import date
from typing import Any

import pytest

from agents.cv.dialogue.decide import LONGEST_FOR_RULES, decide
from agents.cv.dialogue.decision import Act, Ask, Defer, Outcome, Say
from agents.cv.dialogue.pending import Pending, PendingChoice, PendingEntry, PendingSection
from agents.cv.dialogue.situation import Situation
from agents.cv.dialogue.understanding.focus import Focus
from mcp_tools.resume import JsonObject, Language, load_resume

TWO_JOBS: JsonObject = {
    "work": [
        {"name": "腾讯", "position": "前端工程师", "startDate": "2021"},
        {"name": "Google", "position": "SRE", "startDate": "2017", "endDate": "2020"},
    ],
    "skills": [{"name": "Go"}],
}
TENCENT = PendingEntry(
    section="work",
    data={"name": "腾讯"},
    missing_fields=("position", "startDate", "endDate"),
    latest=("name",),
)


def after(
    *messages: str,
    resume: JsonObject | None = None,
    pending: tuple[Pending, ...] = (),
    language: Language = "zh",
) -> Outcome:
    """The outcome of the last of some messages; the resume stays as it is."""
    for message in messages:
        situation = Situation(load_resume(resume), pending, language, today=date(2026, 11, 21))
        outcome = decide(message, situation)
        pending = outcome.pending
    return outcome


def calls(outcome: Outcome) -> list[list[Any]]:
    assert isinstance(outcome.decision, Act), outcome.decision
    return [list(call.params.values()) for call in outcome.decision.calls]


def asked(outcome: Outcome) -> str:
    assert isinstance(outcome.decision, Ask), outcome.decision
    return outcome.decision.topic


# An entry over several turns


def test_an_incomplete_entry_is_kept_and_what_is_missing_is_asked() -> None:
    outcome = after("添加一条工作经历，在腾讯")
    assert asked(outcome) == "missing"
    assert outcome.pending == (TENCENT,)


@pytest.mark.parametrize(
    "messages",
    [
        ("前端工程师，2021年7月到2023年6月",),
        ("前端工程师", "2021年7月", "2023年6月"),
        ("职位：前端工程师", "2021.07-2023.06"),
        ("2021-07 到 2023-06", "做前端工程师"),
        ("补充：前端工程师，时间是2021/7-2023/6",),
        ("从2021年7月开始", "到2023年6月", "前端工程师"),
    ],
)
def test_answers_are_merged_until_the_entry_is_complete(messages: tuple[str, ...]) -> None:
    outcome = after(*messages, pending=(TENCENT,))
    whole = {"name": "腾讯", "position": "前端工程师", "startDate": "2021-07", "endDate": "2023-06"}
    assert calls(outcome) == [["work", "add", whole]]
    assert outcome.pending == ()


def test_until_now_is_an_answer_to_the_end_date() -> None:
    outcome = after("前端，2021年7月", "至今", pending=(TENCENT,))
    whole = {"name": "腾讯", "position": "前端", "startDate": "2021-07"}
    assert calls(outcome) == [["work", "add", whole]]


def test_an_answer_fills_what_is_missing_and_does_not_replace_what_is_there() -> None:
    outcome = after("在阿里做前端", pending=(TENCENT,))
    (entry,) = outcome.pending
    assert isinstance(entry, PendingEntry)
    assert entry.data == {"name": "腾讯", "position": "前端"}


@pytest.mark.parametrize(
    "message", ["公司改成阿里巴巴", "改成阿里巴巴", "不对，是阿里巴巴", "应该是阿里巴巴"]
)
def test_a_correction_replaces_what_is_there(message: str) -> None:
    (entry,) = after(message, pending=(TENCENT,)).pending
    assert isinstance(entry, PendingEntry)
    assert entry.data == {"name": "阿里巴巴"}


@pytest.mark.parametrize(
    "message", ["change the company to Alphabet", "no, it's Alphabet", "sorry, I mean Alphabet"]
)
def test_a_correction_in_english_replaces_too(message: str) -> None:
    google = PendingEntry(section="work", data={"name": "Google"}, missing_fields=("position",))
    (entry,) = after(message, pending=(google,), language="en").pending
    assert isinstance(entry, PendingEntry)
    assert entry.data["name"] == "Alphabet"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("看看我的技能", [["skills"]]),
        ("删除第二段工作", [["work[1]", "delete"]]),
        ("把谷歌的职位改成Staff SRE", [["work[1].position", "update", "Staff SRE"]]),
        ("我的电话是13800138000", [["basics.phone", "update", "13800138000"]]),
        ("我会Python", [["skills", "add", {"name": "Python"}]]),
        ("撤销", [[]]),
    ],
)
def test_another_wish_is_served_first_and_leaves_the_pending_entry_alone(
    message: str, expected: list[list[Any]]
) -> None:
    outcome = after(message, resume=TWO_JOBS, pending=(TENCENT,))
    assert calls(outcome) == expected
    assert outcome.pending == (TENCENT,)


def test_another_complete_entry_is_added_and_the_pending_one_stays() -> None:
    outcome = after("我在阿里做产品经理，2018年到2020年", pending=(TENCENT,))
    ali = {"name": "阿里", "position": "产品经理", "startDate": "2018", "endDate": "2020"}
    assert calls(outcome) == [["work", "add", ali]]
    assert outcome.pending == (TENCENT,)


def test_a_second_incomplete_entry_waits_on_top_of_the_first() -> None:
    outcome = after("添加教育经历，在清华大学", "计算机，2013-2017", pending=(TENCENT,))
    assert calls(outcome)[0][0] == "education"
    assert outcome.pending == (TENCENT,)


@pytest.mark.parametrize("message", ["算了", "算了吧", "取消", "never mind", "Forget it."])
def test_never_mind_drops_the_pending_entry(message: str) -> None:
    outcome = after(message, pending=(TENCENT,))
    assert outcome.decision == Say("dropped")
    assert outcome.pending == ()


@pytest.mark.parametrize("message", ["今天天气怎么样", "你好", "谢谢", "帮我优化一下"])
def test_what_is_no_answer_leaves_the_pending_entry_alone(message: str) -> None:
    outcome = after(message, pending=(TENCENT,))
    assert not isinstance(outcome.decision, Act)
    assert outcome.pending == (TENCENT,)


def test_an_unreadable_date_is_asked_again_and_the_rest_is_kept() -> None:
    outcome = after("前端，开始时间2021年13月", pending=(TENCENT,))
    assert asked(outcome) == "bad_date"
    (entry,) = outcome.pending
    assert isinstance(entry, PendingEntry)
    assert entry.data == {"name": "腾讯", "position": "前端"}


def test_an_end_before_the_start_is_asked_again() -> None:
    outcome = after("我在腾讯做前端，2023年到2021年")
    assert asked(outcome) == "dates_reversed"
    outcome = after("2021年到2023年", pending=outcome.pending)
    assert calls(outcome)[0][2]["endDate"] == "2023"


def test_where_to_add_is_asked_when_it_is_not_said() -> None:
    outcome = after("添加Kotlin")
    assert asked(outcome) == "which_section"
    assert outcome.pending == (PendingSection(message="添加Kotlin"),)
    outcome = after("技能", pending=outcome.pending)
    assert calls(outcome) == [["skills", "add", {"name": "Kotlin"}]]


# Several entries fit


@pytest.mark.parametrize(
    "pick", ["2", "第二个", "第二条", "谷歌那个", "Google", "the second one", "last", "删除第二条"]
)
def test_a_choice_is_made_by_number_or_by_name(pick: str) -> None:
    outcome = after("删除工作经历", pick, resume=TWO_JOBS)
    assert calls(outcome) == [["work[1]", "delete"]]
    assert outcome.pending == ()


def test_all_of_the_choices_can_be_meant() -> None:
    outcome = after("删除工作经历", "全部", resume=TWO_JOBS)
    assert calls(outcome) == [["work[1]", "delete"], ["work[0]", "delete"]]


def test_a_choice_keeps_what_was_to_be_done() -> None:
    outcome = after("把职位改成总监", "第一个", resume=TWO_JOBS)
    assert calls(outcome) == [["work[0].position", "update", "总监"]]


def test_another_wish_ends_the_choice() -> None:
    outcome = after("删除工作经历", "看看我的技能", resume=TWO_JOBS)
    assert calls(outcome) == [["skills"]]
    assert outcome.pending == ()


def test_one_entry_needs_no_choice() -> None:
    resume: JsonObject = {"work": [{"name": "腾讯"}]}
    assert calls(after("把职位改成总监", resume=resume)) == [["work[0].position", "update", "总监"]]


def test_the_choices_are_those_that_fit() -> None:
    resume: JsonObject = {"work": [{"name": "腾讯云"}, {"name": "百度"}, {"name": "腾讯视频"}]}
    outcome = after("删除腾讯那条", resume=resume)
    (choice,) = outcome.pending
    assert isinstance(choice, PendingChoice)
    assert choice.options == ("work[0]", "work[2]")


# What rules do not decide


@pytest.mark.parametrize(
    "message",
    [
        "补充描述",
        "帮我优化简历",
        "润色一下第一段工作",
        "improve my summary",
        "rewrite the Google job",
    ],
)
def test_creative_requests_go_to_the_model(message: str) -> None:
    assert after(message, resume=TWO_JOBS).decision == Defer("creative")


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("把个人简介改成擅长优化系统性能", "basics.summary"),
        ("添加项目：搜索引擎优化平台", "projects"),
        ("change my summary to I improve slow systems", "basics.summary"),
    ],
)
def test_a_creative_word_inside_a_value_is_only_a_word(message: str, path: str) -> None:
    assert calls(after(message))[0][0] == path


def test_long_messages_go_to_the_model_at_once() -> None:
    message = "我在腾讯做前端，2021年到2023年，" + "负责微信支付的前端开发，" * 12
    assert len(message) > LONGEST_FOR_RULES
    assert after(message).decision == Defer("long")


@pytest.mark.parametrize("message", ["今天天气怎么样", "what's the weather", "asdf", "???"])
def test_what_nobody_understands_goes_to_the_model(message: str) -> None:
    outcome = after(message, resume=TWO_JOBS)
    assert outcome.decision == Defer("unknown")
    assert outcome.recognition.confidence < 0.5


# Language


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("看看我的技能", "zh"),
        ("show my skills", "en"),
        ("add a job at 腾讯 as 前端工程师", "en"),
        ("把title改成Staff Engineer at Google", "zh"),
        ("2", "en"),
        ("2021-2023", "en"),
    ],
)
def test_the_reply_is_in_the_language_of_the_message(message: str, language: Language) -> None:
    assert after(message, resume=TWO_JOBS, language="en").language == language


# What the conversation is about


def about(
    message: str, path: str, *, resume: JsonObject = TWO_JOBS, undone: bool = False
) -> Outcome:
    """The outcome of a message while the conversation is about a place."""
    focus = Focus.at(path, undone=undone)
    situation = Situation(
        load_resume(resume), (), "zh", today=date(2026, 11, 21), focus=focus, undoable=3
    )
    return decide(message, situation)


@pytest.mark.parametrize(
    ("message", "path", "expected"),
    [
        ("把它删掉", "work[1]", [["work[1]", "delete"]]),
        ("看看刚才那条", "work[1].position", [["work[1]"]]),
        ("给它加个地点：苏黎世", "work[1]", [["work[1].location", "update", "苏黎世"]]),
        ("set its location to Zurich", "work[1]", [["work[1].location", "update", "Zurich"]]),
        ("delete that job", "work[1]", [["work[1]", "delete"]]),
        ("职位改成总监", "work[1]", [["work[1].position", "update", "总监"]]),
        (
            "no, make it Staff SRE",
            "work[1].position",
            [["work[1].position", "update", "Staff SRE"]],
        ),
        ("不对，是a@b.cn", "basics.email", [["basics.email", "update", "a@b.cn"]]),
        ("删除第二个", "work", [["work[1]", "delete"]]),
        ("再来一个Rust", "skills[0]", [["skills", "add", {"name": "Rust"}]]),
    ],
)
def test_words_that_point_back_mean_what_was_touched_last(
    message: str, path: str, expected: list[list[Any]]
) -> None:
    assert calls(about(message, path)) == expected


def test_a_focus_on_what_is_gone_is_none() -> None:
    assert about("把它删掉", "work[7]").decision == Defer("unknown")


def test_a_date_that_may_be_the_start_or_the_end_is_asked_about() -> None:
    assert asked(about("不对，是2018年", "work[1]")) == "what_change"


@pytest.mark.parametrize(
    ("message", "steps"),
    [("撤销", 1), ("撤销最近两次", 2), ("undo the last two changes", 2), ("全部撤销", 3)],
)
def test_several_steps_are_taken_back(message: str, steps: int) -> None:
    assert len(calls(about(message, "work[0]"))) == steps


def test_once_more_undoes_only_right_after_an_undo() -> None:
    assert calls(about("once more", "work[0]", undone=True)) == [[]]
    assert about("once more", "work[0]").decision == Defer("unknown")


# Short answers to what is unfinished


@pytest.mark.parametrize("message", ["等一下", "later", "let me check"])
def test_what_is_put_off_stays(message: str) -> None:
    outcome = after(message, pending=(TENCENT,))
    assert outcome.decision == Say("later")
    assert outcome.pending == (TENCENT,)


@pytest.mark.parametrize("message", ["继续", "接着刚才的", "go on"])
def test_going_on_asks_again(message: str) -> None:
    outcome = after(message, pending=(TENCENT,))
    assert asked(outcome) == "missing"
    assert outcome.pending == (TENCENT,)


@pytest.mark.parametrize("message", ["不记得了", "没有", "I don't remember"])
def test_what_an_entry_cannot_do_without_is_said(message: str) -> None:
    assert asked(after(message, pending=(TENCENT,))) == "needed"


def test_no_end_means_until_now() -> None:
    outcome = after("前端，2021年7月", "没有", pending=(TENCENT,))
    assert calls(outcome)[0][2] == {"name": "腾讯", "position": "前端", "startDate": "2021-07"}


@pytest.mark.parametrize("message", ["写反了", "the other way round", "swap them"])
def test_dates_in_the_wrong_order_are_swapped(message: str) -> None:
    outcome = after("我在腾讯做前端，2023年到2021年", message)
    entry = calls(outcome)[0][2]
    assert (entry["startDate"], entry["endDate"]) == ("2021", "2023")


def test_one_date_is_put_right_and_the_other_holds() -> None:
    outcome = after("我在腾讯做前端，2021年到2019年", "结束时间是2023年")
    entry = calls(outcome)[0][2]
    assert (entry["startDate"], entry["endDate"]) == ("2021", "2023")


def test_a_new_value_is_awaited_when_only_the_field_was_said() -> None:
    outcome = after("改一下我的电话", "13800138000")
    assert calls(outcome) == [["basics.phone", "update", "13800138000"]]
    assert outcome.pending == ()


def test_none_of_the_choices_ends_the_choice() -> None:
    outcome = after("删除工作经历", "都不是", resume=TWO_JOBS)
    assert outcome.decision == Say("dropped")
    assert outcome.pending == ()


def test_a_number_that_is_no_choice_is_asked_again() -> None:
    outcome = after("删除工作经历", "5", resume=TWO_JOBS)
    assert asked(outcome) == "which_entry"
    assert len(outcome.pending) == 1


def test_choices_of_another_version_are_not_trusted() -> None:
    choice = after("删除工作经历", resume=TWO_JOBS).pending
    changed: JsonObject = {**TWO_JOBS, "work": [{"name": "华为"}, {"name": "百度"}]}
    outcome = after("2", resume={**changed, "meta": {"version": "4"}}, pending=choice)
    assert asked(outcome) == "which_entry"


def test_never_mind_before_another_wish_drops_what_was_unfinished() -> None:
    outcome = after("算了，看看我的技能", resume=TWO_JOBS, pending=(TENCENT,))
    assert calls(outcome) == [["skills"]]
    assert outcome.pending == ()


def test_the_last_of_several_commands_may_need_an_answer() -> None:
    outcome = after("把名字改成张三，再加一份工作，在腾讯")
    assert isinstance(outcome.decision, Act)
    assert outcome.decision.then == Ask("missing")
    assert calls(outcome) == [["basics.name", "update", "张三"]]
    assert outcome.pending == (TENCENT,)
