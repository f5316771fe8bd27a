"""The list of changes under a model's reply."""

from typing import Any

import pytest

from agents.cv.changes import changes, without_changes
from mcp_tools.resume import Language, load_resume

TENCENT = {"name": "腾讯", "position": "前端工程师", "startDate": "2021-07", "summary": "写代码"}
GOOGLE = {"name": "Google", "position": "SRE", "startDate": "2019", "endDate": "2021"}


def said(before: dict[str, Any], after: dict[str, Any], language: Language = "zh") -> list[str]:
    text = changes(load_resume(before), load_resume(after), language)
    return text.splitlines()


def test_nothing_has_changed() -> None:
    document = {"work": [TENCENT], "meta": {"version": 1}}
    assert said(document, {**document, "meta": {"version": 2}}) == []


def test_a_field_is_told_as_it_was_and_as_it_is() -> None:
    after = {"work": [TENCENT | {"position": "技术负责人"}]}
    assert said({"work": [TENCENT]}, after) == [
        "【本次修改】",
        "- 工作经历“腾讯”：职位：前端工程师 → 技术负责人",
    ]


def test_in_the_language_of_the_person() -> None:
    after = {"work": [GOOGLE | {"position": "Staff SRE"}], "basics": {"phone": "1"}}
    assert said({"work": [GOOGLE], "basics": {"phone": "2"}}, after, "en") == [
        "[What has changed]",
        "- basics: phone: 2 → 1",
        '- work experience "Google": position: SRE → Staff SRE',
    ]


def test_entries_come_and_go() -> None:
    lines = said({"work": [TENCENT]}, {"work": [GOOGLE]})
    assert lines[1:] == [
        "- 已删除工作经历：腾讯 · 前端工程师 · 2021-07 – 至今",
        "- 已添加工作经历：Google · SRE · 2019 – 2021",
    ]


def test_an_entry_is_found_again_where_others_have_gone() -> None:
    before = {"work": [GOOGLE, TENCENT]}
    after = {"work": [TENCENT | {"summary": "负责核心代码"}]}
    assert said(before, after)[1:] == [
        "- 已删除工作经历：Google · SRE · 2019 – 2021",
        "- 工作经历“腾讯”：工作描述：写代码 → 负责核心代码",
    ]


def test_an_entry_that_is_renamed_is_the_same() -> None:
    lines = said({"work": [GOOGLE]}, {"work": [GOOGLE | {"name": "Alphabet"}]}, "en")
    assert lines[1:] == ['- work experience "Alphabet": company: Google → Alphabet']


def test_an_open_end_is_told_in_words() -> None:
    lines = said({"work": [GOOGLE]}, {"work": [{**GOOGLE, "endDate": None}]}, "en")
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["2021 → present"]


def test_of_a_long_text_only_the_difference_is_shown() -> None:
    ahead, behind = "很长的开头" * 12, "很长的结尾" * 12
    before = {"basics": {"summary": f"{ahead}旧的{behind}"}}
    after = {"basics": {"summary": f"{ahead}新的{behind}"}}
    (line,) = said(before, after)[1:]
    assert "旧的" in line and "新的" in line and len(line) < 80


def test_of_a_list_of_texts_only_what_differs_is_shown() -> None:
    before = {"work": [GOOGLE | {"highlights": ["one", "two"]}]}
    after = {"work": [GOOGLE | {"highlights": ["two", "three", "four"]}]}
    (line,) = said(before, after, "en")[1:]
    assert line.endswith(": −one, +three, +four")


def test_a_new_order_is_one_line() -> None:
    lines = said({"work": [TENCENT, GOOGLE]}, {"work": [GOOGLE, TENCENT]}, "en")
    assert lines[1:] == ["- the order of work experience"]


def test_equal_entries_are_counted() -> None:
    skill = {"name": "Go"}
    lines = said({"skills": [skill]}, {"skills": [skill, skill]}, "en")
    assert len(lines) == 2 and "Go" in lines[1]


def test_a_long_list_is_cut() -> None:
    after = {"skills": [{"name": f"技能{number}"} for number in range(50)]}
    lines = said({}, after)
    assert len(lines) == 22
    assert lines[-1] == "- 还有 30 处修改"


@pytest.mark.parametrize("header", ["【本次修改】", "[What has changed]"])
def test_a_list_of_changes_is_taken_off_a_reply(header: str) -> None:
    assert without_changes(f"好了。\n\n{header}\n- 职位：A → B") == "好了。"
    assert without_changes("见 [What has changed] 一节") == "见 [What has changed] 一节"
