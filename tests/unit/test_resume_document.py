"""The resume document: names of others, dates, and what is kept as it is."""

import pytest

from mcp_tools.resume import (
    InvalidDocumentError,
    JsonObject,
    VersionConflictError,
    check_version,
    edit,
    field_label,
    load_resume,
    section_label,
)


def test_the_names_of_the_seed_become_json_resume_names() -> None:
    resume = load_resume(
        {
            "basic": {"name": "张三"},
            "workExperience": [{"company": "腾讯", "position": "前端", "description": "负责支付"}],
            "education": [{"school": "清华", "major": "计算机", "degree": "本科"}],
        }
    )
    assert resume.to_json() == {
        "basics": {"name": "张三"},
        "work": [{"name": "腾讯", "position": "前端", "summary": "负责支付"}],
        "education": [{"institution": "清华", "area": "计算机", "studyType": "本科"}],
    }


def test_experience_is_work_as_well_and_joins_what_is_there() -> None:
    resume = load_resume({"work": [{"name": "A"}], "experience": [{"company": "B"}]})
    assert [entry["name"] for entry in resume.entries("work")] == ["A", "B"]


def test_a_canonical_job_keeps_its_own_description() -> None:
    resume = load_resume({"work": [{"name": "A", "description": "a company"}]})
    assert resume.to_json()["work"] == [{"name": "A", "description": "a company"}]


def test_the_canonical_name_wins_over_the_foreign_one() -> None:
    resume = load_resume({"work": [{"company": "old", "name": "new"}]})
    assert resume.entries("work") == [{"name": "new"}]


def test_unknown_fields_are_kept() -> None:
    data: JsonObject = {"basics": {"name": "A", "nick": "a"}, "x-tool": {"theme": "even"}}
    assert load_resume(data).to_json() == data


def test_dates_become_iso_and_until_now_means_no_end() -> None:
    data: JsonObject = {"work": [{"name": "A", "startDate": "2021年7月", "endDate": "至今"}]}
    assert load_resume(data).entries("work") == [{"name": "A", "startDate": "2021-07"}]


def test_a_date_that_cannot_be_read_does_not_make_a_whole_document_invalid() -> None:
    resume = load_resume({"work": [{"name": "A", "startDate": "long ago"}]})
    assert resume.entries("work")[0]["startDate"] == "long ago"


def test_a_list_of_words_is_a_list_of_named_entries() -> None:
    assert load_resume({"skills": ["Python", "Go"]}).entries("skills") == [
        {"name": "Python"},
        {"name": "Go"},
    ]


def test_a_section_of_the_wrong_shape_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidDocumentError, match="work"):
        load_resume({"work": "tencent"})


def test_no_data_is_an_empty_resume() -> None:
    assert load_resume(None).is_empty
    assert load_resume({}).version == 0


def test_a_version_that_is_no_number_counts_as_none_and_the_next_edit_starts_counting() -> None:
    resume = load_resume({"meta": {"version": "v1.0.0"}})
    assert resume.version == 0
    assert edit(resume, "basics.name", "update", "A").resume.version == 1


def test_a_caller_who_has_seen_another_version_is_told() -> None:
    resume = load_resume({"meta": {"version": 4}})
    check_version(resume, 4)
    with pytest.raises(VersionConflictError) as conflict:
        check_version(resume, 3)
    assert "4" in conflict.value.message("zh")


def test_sections_and_fields_have_names_in_both_languages() -> None:
    assert (section_label("work", "zh"), section_label("work", "en")) == (
        "工作经历",
        "work experience",
    )
    assert field_label("work", "name", "zh") == "公司"
    assert field_label("projects", "name", "en") == "name"
    assert field_label("work", "somethingElse", "en") == "somethingElse"
