"""Reading and editing a resume by path."""

from typing import Any

import pytest

from mcp_tools.resume import (
    EntryNotFoundError,
    InvalidActionError,
    InvalidDateError,
    InvalidPathError,
    InvalidValueError,
    NothingThereError,
    Resume,
    ResumeError,
    UnknownFieldError,
    UnknownSectionError,
    edit,
    load_resume,
    read,
)

RESUME = load_resume(
    {
        "basics": {"name": "Ann", "location": {"city": "Paris", "region": "IdF"}},
        "work": [
            {"name": "A", "position": "dev", "startDate": "2019", "endDate": "2020", "x": 1},
            {"name": "B"},
        ],
        "skills": [{"name": "Go", "keywords": ["chan"]}],
    }
)


def after(path: str, action: str, value: Any = None, resume: Resume = RESUME) -> Any:
    """The document after an edit, without its version."""
    document = edit(resume, path, action, value).resume.to_json()
    del document["meta"]
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("basics.name", "Ann"),
        ("work[1]", {"name": "B"}),
        ("work[0].position", "dev"),
        ("workExperience[0].company", "A"),
        ("skills[0].keywords[0]", "chan"),
        ("basics.location.city", "Paris"),
        ("awards", []),
        ("basics.phone", None),
        ("work[0].x", 1),
        ("", RESUME.to_json()),
    ],
)
def test_a_path_reads_what_stands_there(path: str, value: Any) -> None:
    assert read(RESUME, path) == value


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("work[2]", EntryNotFoundError),
        ("work[0].salary", UnknownFieldError),
        ("hobbies", UnknownSectionError),
        ("work[", InvalidPathError),
        ("[0]", InvalidPathError),
        ("work..name", InvalidPathError),
    ],
)
def test_a_path_to_nowhere_is_a_typed_error(path: str, error: type[ResumeError]) -> None:
    with pytest.raises(error):
        read(RESUME, path)


def test_add_appends_an_entry_and_says_where() -> None:
    edited = edit(RESUME, "work", "add", {"name": "C", "startDate": "2021.07", "endDate": "至今"})
    assert (edited.path, edited.value) == ("work[2]", {"name": "C", "startDate": "2021-07"})
    assert edited.resume.entries("work")[2] == edited.value


def test_add_appends_several_entries_at_once() -> None:
    edited = edit(RESUME, "skills", "add", ["C", {"name": "D", "level": "expert"}])
    assert edited.path == "skills"
    assert edited.resume.entries("skills")[1:] == [{"name": "C"}, {"name": "D", "level": "expert"}]


def test_add_inserts_before_an_entry() -> None:
    jobs = after("work[1]", "add", {"name": "C"})["work"]
    assert [job["name"] for job in jobs] == ["A", "C", "B"]


def test_add_appends_to_a_list_of_words_and_makes_it_when_it_is_not_there() -> None:
    assert after("work[1].highlights", "add", "won")["work"][1]["highlights"] == ["won"]
    assert after("skills[0].keywords", "add", "go")["skills"][0]["keywords"] == ["chan", "go"]


def test_update_sets_a_field_and_merges_into_an_entry() -> None:
    assert after("work[1].position", "update", "ops")["work"][1] == {"name": "B", "position": "ops"}
    merged = after("work[0]", "update", {"position": "lead", "endDate": "present"})["work"][0]
    assert merged == {"name": "A", "position": "lead", "startDate": "2019", "x": 1}


def test_update_merges_deeply_and_null_takes_away() -> None:
    changed = after("basics", "update", {"location": {"city": "Lyon"}, "name": None})["basics"]
    assert changed == {"location": {"city": "Lyon", "region": "IdF"}}


def test_a_place_in_words_becomes_a_location() -> None:
    assert after("basics.location", "update", "Berlin, Germany")["basics"]["location"] == {
        "city": "Berlin",
        "region": "Germany",
    }
    assert after("basics", "update", {"location": "Lyon"})["basics"]["location"] == {"city": "Lyon"}


def test_delete_takes_away_a_field_an_entry_or_a_section() -> None:
    assert "position" not in after("work[0].position", "delete")["work"][0]
    assert [job["name"] for job in after("work[0]", "delete")["work"]] == ["B"]
    assert "work" not in after("work", "delete")


def test_numbers_are_taken_for_text() -> None:
    assert after("basics.phone", "update", 13800000000)["basics"]["phone"] == "13800000000"


def test_a_foreign_section_name_brings_its_foreign_fields() -> None:
    added = after("workExperience", "add", {"company": "C", "description": "did C"})["work"][2]
    assert added == {"name": "C", "summary": "did C"}


@pytest.mark.parametrize(
    ("path", "action", "value", "error"),
    [
        ("work[5]", "update", {"name": "C"}, EntryNotFoundError),
        ("work[9]", "add", {"name": "C"}, EntryNotFoundError),
        ("work[0].salary", "update", "1", UnknownFieldError),
        ("work[0].name.first", "update", "1", UnknownFieldError),
        ("jobs", "add", {"name": "C"}, UnknownSectionError),
        ("work", "add", {}, InvalidValueError),
        ("work", "add", 5, InvalidValueError),
        ("work", "add", [], InvalidValueError),
        ("work", "update", {"name": "C"}, InvalidValueError),
        ("work[0].highlights", "update", {"a": 1}, InvalidValueError),
        ("basics.email", "update", "nobody", InvalidValueError),
        ("work[0].endDate", "update", "2021-13", InvalidDateError),
        ("work", "add", {"name": "C", "startDate": "soon"}, InvalidDateError),
        ("basics.phone", "delete", None, NothingThereError),
        ("awards", "delete", None, NothingThereError),
        ("work", "replace", [], InvalidActionError),
        ("", "delete", None, InvalidActionError),
    ],
)
def test_a_wrong_edit_is_a_typed_error_and_changes_nothing(
    path: str, action: str, value: Any, error: type[ResumeError]
) -> None:
    before = RESUME.to_json()
    with pytest.raises(error) as refusal:
        edit(RESUME, path, action, value)
    assert refusal.type is error
    assert RESUME.to_json() == before
    assert "{" not in refusal.value.message("zh") + refusal.value.message("en")


def test_every_edit_bumps_the_version_and_only_the_version_of_meta() -> None:
    resume = load_resume({"meta": {"version": 7, "canonical": "x"}})
    edited = edit(resume, "basics.name", "update", "A").resume
    assert edited.to_json()["meta"] == {"version": 8, "canonical": "x"}
