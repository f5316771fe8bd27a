"""Resumes as people write them in text and Markdown, and what is understood of them."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools.resume import load_resume
from mcp_tools.resume.importing.lines import Line
from mcp_tools.resume.importing.plain import text_lines
from mcp_tools.resume.importing.sections import heading_section
from mcp_tools.resume.importing.spans import Span, find_span
from mcp_tools.resume.importing.understanding import understand
from mcp_tools.resume.importing.vocabulary import labelled_fields, vocabulary
from tests.support.resume_facts import missed, share

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("resume_imports.yaml").read_text(encoding="utf-8")
)


def understood(case: dict[str, Any]) -> Any:
    found = understand(text_lines(case["text"], markdown=case["as"] == "md"))
    return load_resume(found.document).to_json()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_resume_is_understood(case: dict[str, Any]) -> None:
    document = understood(case)
    assert share(case["expected"], document) >= 0.95, missed(case["expected"], document)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_no_word_of_a_resume_is_lost(case: dict[str, Any]) -> None:
    """Every word is in the document or in a warning, or it is of a heading or a label."""
    found = understand(text_lines(case["text"], markdown=case["as"] == "md"))
    kept = flat(f"{found.document}{found.warnings}")
    for line in text_lines(case["text"], markdown=case["as"] == "md"):
        if heading_section(line.text) is None:
            assert lost_words(line, kept) == [], line.text


def flat(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum())


def lost_words(line: Line, kept: str) -> list[str]:
    """Return the words that are not kept and are no times, labels, levels or between them."""
    bare = line.text
    while dated := find_span(bare):
        bare = dated.rest
    bare = re.sub("|".join(filter(str.isalpha, vocabulary().levels)), " ", bare)
    words = "".join(sign if sign.isalnum() else " " for sign in bare).split()
    return [
        word
        for word in words
        if flat(word) not in kept and word.lower() not in label_words() | CONNECTING
    ]


@cache
def label_words() -> set[str]:
    sections = vocabulary().labels
    labels = {label for section in sections for label in labelled_fields(section)}
    return {word for label in labels for word in (label, *label.split())} | set("姓名电话邮箱")


CONNECTING = {
    "at",
    "in",
    "of",
    "to",
    "and",
    "from",
    "present",
    "current",
    "resume",
    "curriculum",
    "vitae",
    "个人简历",
    "fall",
    "expected",
}


@pytest.mark.parametrize(
    ("text", "start", "end", "is_open"),
    [
        ("2019.03-2021.06", "2019-03", "2021-06", False),
        ("2019年3月至今", "2019-03", None, True),
        ("2019 年 3 月 – 2021 年 6 月", "2019-03", "2021-06", False),
        ("2019年3月-6月", "2019-03", "2019-06", False),
        ("Mar 2019 – Present", "2019-03", None, True),
        ("Mar – Jun 2019", "2019-03", "2019-06", False),
        ("September 2018 to June 2020", "2018-09", "2020-06", False),
        ("2019 - 2021", "2019", "2021", False),
        ("2019–21", "2019", "2021", False),
        ("03/2019 – 06/2021", "2019-03", "2021-06", False),
        ("03.2019 - 05.2020", "2019-03", "2020-05", False),
        ("2019/9--2020/6", "2019-09", "2020-06", False),
        ("201903-202106", "2019-03", "2021-06", False),
        ("2016-09-01 to 2019-06-30", "2016-09-01", "2019-06-30", False),
        ("Since 2019", "2019", None, True),
        ("2021.05-", "2021-05", None, True),
        ("January 2019 - Present (2 years 3 months)", "2019-01", None, True),
        ("2018年9月~2022年6月", "2018-09", "2022-06", False),
    ],
)
def test_times_are_read_in_all_common_spellings(
    text: str, start: str, end: str | None, is_open: bool
) -> None:
    found = find_span(text)
    assert found is not None
    assert (found.span, found.rest) == (Span(start, end, open=is_open), "")


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("工作经历", "work"),
        ("一、教育背景", "education"),
        ("【项目经验】", "projects"),
        ("工 作 经 历", "work"),
        ("教育背景 EDUCATION", "education"),
        ("■ 专业技能：", "skills"),
        ("WORK EXPERIENCE", "work"),
        ("Skills & Languages", "skills"),
        ("Awards and Certifications", "awards"),
        ("Relevant Experience", "work"),
        ("技能与证书", "skills"),
        ("自我评价", "summary"),
        ("腾讯科技有限公司", None),
        ("技术栈：Spring Cloud", None),
        ("Led the work", None),
    ],
)
def test_headings_are_known_by_their_words(text: str, section: str | None) -> None:
    assert heading_section(text) == section


def test_a_section_that_no_resume_has_is_named_in_a_warning() -> None:
    text = (
        "# Ann Lee\n\n## Work\n\n### Acme — Engineer\n*2019 – 2020*\n\n"
        "## Skills\n\n- Go\n\n## Military Service\n\nNavy, 2010"
    )
    found = understand(text_lines(text, markdown=True))
    assert found.warnings == (
        "The section 'Military Service' is not known and was not imported: Navy, 2010",
    )


def test_what_has_no_place_is_named_in_the_language_of_the_resume() -> None:
    found = understand(text_lines("张伟\n性别：男\n电话：13800138000\n\n技能\nGo", markdown=False))
    assert found.warnings == ("简历中没有合适的位置，未导入：性别：男",)


def test_lines_broken_by_hand_are_joined() -> None:
    text = (
        "Summary\n- a first deed that is told in so many words that it goes over the end of\n"
        "  a line\n- second"
    )
    assert [line.text for line in text_lines(text, markdown=False)] == [
        "Summary",
        "a first deed that is told in so many words that it goes over the end of a line",
        "second",
    ]
