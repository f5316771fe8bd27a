"""Mending: what is asked, what a message answers, and the edits that come of it."""

from datetime import date
from typing import Any

import pytest

from mcp_tools.resume import JsonObject, Language, Resume, load_resume
from mcp_tools.resume.diagnosis import (
    Kind,
    Task,
    apply_edits,
    diagnose,
    draft,
    gather,
    missing,
    plan,
    questions,
    score,
)

TODAY = date(2026, 3, 15)
ME: JsonObject = {"name": "Ada", "email": "ada@mail.example", "phone": "020 7946 0000"}
STUDY: JsonObject = {"institution": "MIT", "startDate": "2012", "endDate": "2015"}


def resume_of(**sections: Any) -> Resume:
    whole: JsonObject = {"basics": ME, "education": [STUDY], "skills": [{"name": "Reports"}]}
    return load_resume(whole | sections)


def job(**fields: Any) -> JsonObject:
    return {"name": "Acme", "position": "Clerk", "startDate": "2016-01", **fields}


def task_in(resume: Resume, kind: Kind, language: Language = "en") -> Task:
    planned = plan(diagnose(resume, today=TODAY), resume, language=language)
    return next(task for task in planned if task.kind == kind)


def mended(resume: Resume, kind: Kind, *messages: str) -> Resume:
    """Answer a task until a draft can be made, and apply it."""
    task = task_in(resume, kind)
    answers: dict[str, str] = {}
    for message in messages:
        assert missing(task, resume, answers)
        assert draft(task, resume, answers, today=TODAY) is None
        answers = gather(task, resume, message, answers)
    edits = draft(task, resume, answers, today=TODAY)
    assert edits is not None
    after = apply_edits(resume, edits)
    assert kind not in {defect.kind for defect in diagnose(after, today=TODAY)}
    assert score(after, today=TODAY) > score(resume, today=TODAY)
    return after


@pytest.mark.parametrize(
    ("messages", "start", "end"),
    [
        (["从2019年3月到2021年6月"], "2019-03", "2021-06"),
        (["from March 2019 to June 2021"], "2019-03", "2021-06"),
        (["I left in June 2021", "it began in 2019"], "2019", "2021-06"),
        (["2019.3", "至今"], "2019-03", None),
        (["since May 2020"], "2020-05", None),
        (["no idea", "2020-05 - 2021-01"], "2020-05", "2021-01"),
        (["2021-06 to 2019-03", "sorry, 2019-03 to 2021-06"], "2019-03", "2021-06"),
    ],
)
def test_dates_are_understood_as_people_say_them(
    messages: list[str], start: str, end: str | None
) -> None:
    resume = resume_of(work=[{"name": "Acme", "highlights": ["Filed the papers of 40 clients"]}])
    task = task_in(resume, "missing_dates")
    answers: dict[str, str] = {}
    for message in messages:
        answers = gather(task, resume, message, answers)
    edits = draft(task, resume, answers, today=TODAY)
    assert edits is not None
    entry = apply_edits(resume, edits).entries("work")[0]
    assert (entry.get("startDate"), entry.get("endDate")) == (start, end)


def test_one_right_date_is_enough_where_the_other_one_fits() -> None:
    work = [job(startDate="2020-05", endDate="2019-11", highlights=["Filed 40 papers a day"])]
    after = mended(resume_of(work=work), "impossible_dates", "it ended in November 2025")
    assert after.entries("work")[0]["endDate"] == "2025-11"


def test_a_result_needs_a_number() -> None:
    line = "Filed the papers of the house and kept the archive of all clients in good order"
    after = mended(
        resume_of(work=[job(highlights=[line])]),
        "no_metrics",
        "it went well",
        "I cut the time to find a file from 2 days to 10 minutes.",
    )
    assert after.entries("work")[0]["highlights"] == [
        line,
        "Cut the time to find a file from 2 days to 10 minutes",
    ]


def test_weak_lines_become_what_was_said_or_the_deed_that_they_tell() -> None:
    lines = ["Responsible for managing 12 archives", "Helped the editors", "Sold 40 books"]
    after = mended(
        resume_of(work=[job(endDate="2025-12", highlights=lines)]),
        "weak_verbs",
        "I helped them a lot",
        "I checked the footnotes of 30 books",
    )
    assert after.entries("work")[0]["highlights"] == [
        "Managed 12 archives",
        "Checked the footnotes of 30 books",
        "Sold 40 books",
    ]


def test_a_chinese_duty_becomes_a_deed_only_where_it_names_one() -> None:
    lines = ["负责用户社群的日常维护", "负责撰写周报 50 份", "参与系统开发"]
    resume = resume_of(work=[job(highlights=lines)])
    after = mended(resume, "weak_verbs", "我独立完成了登录模块，覆盖 20 个接口")
    assert after.entries("work")[0]["highlights"] == [
        "日常维护用户社群",
        "撰写周报 50 份",
        "独立完成了登录模块，覆盖 20 个接口",
    ]


@pytest.mark.parametrize(
    ("reason", "section", "title"),
    [
        ("I took care of my parents", "work", "Took care of my parents"),
        ("在家照顾孩子", "work", "在家照顾孩子"),
        (
            "I studied Japanese at a language school",
            "education",
            "Studied Japanese at a language school",
        ),
        ("做志愿者支教", "volunteer", "做志愿者支教"),
    ],
)
def test_a_gap_becomes_an_entry_of_its_time(reason: str, section: Any, title: str) -> None:
    work = [
        job(startDate="2021-01", highlights=["Filed 40 papers a day"]),
        job(name="Bolt", endDate="2019-06", highlights=["Sold 30 cars a month"]),
    ]
    after = mended(resume_of(work=work), "gap", reason)
    added = next(entry for entry in after.entries(section) if title in entry.values())
    assert (added["startDate"], added["endDate"]) == ("2019-07", "2020-12")
    if section == "work":
        assert [entry["name"] for entry in after.entries("work")] == ["Acme", title, "Bolt"]


def test_contacts_are_picked_out_of_a_sentence() -> None:
    resume = resume_of(basics={"summary": "Keeps archives in very good order."})
    task = task_in(resume, "missing_contact")
    answers = gather(task, resume, "我叫陈思远，邮箱 chen@mail.example，电话 138 0013 8000", {})
    assert answers == {"name": "陈思远", "email": "chen@mail.example", "phone": "138 0013 8000"}
    assert gather(task, resume, "my mail is chen@", {}) == {}


@pytest.mark.parametrize(
    ("kind", "section", "sections", "message", "entry"),
    [
        (
            "missing_section",
            "work",
            {},
            "Barista at Starbucks, 2019-03 to 2021-06",
            {
                "position": "Barista",
                "name": "Starbucks",
                "startDate": "2019-03",
                "endDate": "2021-06",
            },
        ),
        (
            "missing_section",
            "education",
            {"work": [job(highlights=["Filed 40 papers a day"])], "education": []},
            "中南大学，软件工程，本科，2014.9-2018.6",
            {
                "institution": "中南大学",
                "area": "软件工程",
                "studyType": "本科",
                "startDate": "2014-09",
                "endDate": "2018-06",
            },
        ),
        (
            "missing_section",
            "skills",
            {"work": [job(highlights=["Filed 40 papers a day"])], "skills": []},
            "I know SPSS, Tableau",
            {"name": "SPSS"},
        ),
    ],
)
def test_a_section_is_begun_with_what_was_listed(
    kind: Kind, section: Any, sections: Any, message: str, entry: JsonObject
) -> None:
    resume = resume_of(**sections)
    task = task_in(resume, kind)
    assert task.section == section
    edits = draft(task, resume, gather(task, resume, message, {}), today=TODAY)
    assert edits is not None
    assert apply_edits(resume, edits).entries(section)[0] == entry


def test_a_sentence_about_a_job_is_asked_for_again() -> None:
    resume = resume_of()
    task = task_in(resume, "missing_section")
    answers = gather(task, resume, "I worked at Starbucks from 2019 to 2021", {})
    assert missing(task, resume, answers) == ["work"]


def test_a_skill_is_shown_where_it_was_used_or_claimed_less() -> None:
    work = [job(highlights=["Filed 40 papers"]), job(name="Bolt", highlights=["Sold 3 cars"])]
    resume = resume_of(work=work, skills=[{"name": "Rust", "level": "Expert"}])
    shown = mended(resume, "unsupported_skill", "I wrote the parser at Bolt")
    assert shown.entries("work")[1]["highlights"] == [
        "Sold 3 cars",
        "Rust: Wrote the parser at Bolt",
    ]
    humble = mended(resume, "unsupported_skill", "not really")
    assert humble.entries("skills") == [{"name": "Rust"}]


def test_what_is_too_long_keeps_its_first_sentences() -> None:
    sentence = "Archivist who has kept the papers of three houses for many years. "
    resume = resume_of(basics={**ME, "summary": sentence * 20})
    after = mended(resume, "too_long")
    assert str(after.to_json()["basics"]).count("Archivist") == 10


def test_one_long_sentence_has_to_be_written_again() -> None:
    long = "Kept " + ", ".join(["the papers of the house"] * 15) + " for 30 clients"
    others = [
        job(name=name, highlights=[f"Sold 40 books a week to the people of {name}"])
        for name in "abcd"
    ]
    resume = resume_of(work=[job(highlights=[long]), *others])
    after = mended(resume, "too_long", long, "Kept the papers of 30 clients")
    assert after.entries("work")[0]["highlights"] == ["Kept the papers of 30 clients"]


def test_lines_of_an_overlong_list_are_dropped_by_number() -> None:
    lines = [f"Filed {number} papers" for number in range(1, 13)]
    after = mended(resume_of(work=[job(highlights=lines)]), "too_long", "drop 2 and 12")
    assert after.entries("work")[0]["highlights"] == [lines[0], *lines[2:11]]


@pytest.mark.parametrize("said", ["2019-03 to 2021-06", "2019年3月到2021年6月", "42", "Helped out"])
def test_a_weak_line_is_only_mended_by_a_deed(said: str) -> None:
    resume = resume_of(work=[job(highlights=["Helped the editors"])])
    task = task_in(resume, "weak_verbs")
    assert gather(task, resume, said, {}) == {}


def test_questions_name_what_they_are_about_and_end_with_the_answers() -> None:
    resume = resume_of(work=[job(highlights=["Helped the editors", "Helped the printers"])])
    task = task_in(resume, "weak_verbs")
    assert ["Helped the editors" in text for text in questions(task, resume, language="en")] == [
        True,
        False,
    ]
    answers = gather(task, resume, "Checked 30 books\nPrinted 4 books", {})
    assert questions(task, resume, language="en", answers=answers) == []
    chinese = task_in(resume_of(work=[job()]), "too_short", "zh")
    assert questions(chinese, resume, language="zh")[0] == "工作经历「Acme」里你做了什么？"
