"""Several edits as one: where their paths point, and that all or none is made."""

from typing import Any

import pytest

from mcp_tools.resume import Edit, ResumeDesk, load_resume
from mcp_tools.resume.files import StoredResume

JOBS: dict[str, Any] = {
    "work": [{"name": name, "highlights": [f"{name}1", f"{name}2"]} for name in "ABC"]
}


def edited(*edits: Edit) -> tuple[list[str], list[dict[str, Any]], StoredResume]:
    """Edit three jobs; return their names, the answers, and what is stored."""
    held = StoredResume(load_resume(JOBS))
    answers = ResumeDesk(held).edit_all(edits)
    return [job.name or "" for job in held.resume.work or []], answers, held


@pytest.mark.parametrize(
    ("edits", "names"),
    [
        ([("work[0]", "delete"), ("work[1]", "delete")], "C"),
        ([("work[1]", "delete"), ("work[0]", "delete")], "C"),
        ([("work[0]", "delete"), ("work[2].name", "update", "Z")], "BZ"),
        ([("work[0]", "add", {"name": "Z"}), ("work[0].name", "update", "Y")], "ZYBC"),
        ([("work[1]", "add", {"name": "Z"}), ("work[1]", "delete")], "AZC"),
        ([("work", "add", {"name": "Z"}), ("work[3].name", "update", "Y")], "ABCY"),
        (
            [("work[1]", "delete"), ("work", "add", {"name": "Z"}), ("work[0].name", "delete")],
            ["", "C", "Z"],
        ),
        ([("work[2]", "move", 0), ("work[0]", "delete")], "CB"),
        ([("work[0]", "move", 2), ("work[2].name", "update", "Z")], "BZA"),
        ([("work", "move", [2, 0, 1]), ("work[0].name", "update", "Z")], "CZB"),
        ([("work[0]", "delete"), ("work[2]", "move", 0), ("work[1].name", "update", "Z")], "CZ"),
        ([("work[1]", "move", 0), ("work", "add", {"name": "Z"}), ("work[3]", "delete")], "BAC"),
    ],
)
def test_paths_are_those_of_the_resume_as_it_was_read(edits: Any, names: Any) -> None:
    found, answers, _ = edited(*(Edit(*edit) for edit in edits))
    assert [answer["success"] for answer in answers] == [True] * len(edits)
    assert found == list(names)


def test_lists_inside_of_entries_are_counted_apart() -> None:
    _, _, held = edited(
        Edit("work[1].highlights[0]", "delete"),
        Edit("work[0]", "delete"),
        Edit("work[1].highlights[1]", "update", "new"),
        Edit("work[2].highlights[0]", "update", "C0"),
    )
    work = held.resume.to_json()["work"]
    assert work == [{"name": "B", "highlights": ["new"]}, {"name": "C", "highlights": ["C0", "C2"]}]


def test_answers_name_the_places_as_they_are_afterwards() -> None:
    _, answers, _ = edited(Edit("work[2].name", "update", "Z"), Edit("work[0]", "delete"))
    assert [answer["path"] for answer in answers] == ["work[1].name", "work[0]"]


@pytest.mark.parametrize(
    "wrong",
    [
        Edit("work[9].name", "update", "Z"),
        Edit("work[0].name", "update", "Z"),  # that one has been deleted
        Edit("work[1].startDate", "update", "soon"),
        Edit("nowhere", "add", "x"),
        Edit("work", "explode"),
    ],
)
def test_one_wrong_edit_refuses_all_of_them(wrong: Edit) -> None:
    right = Edit("basics.name", "update", "Zoe")
    found, answers, held = edited(Edit("work[0]", "delete"), right, wrong)
    assert found == list("ABC")
    assert (held.resume.to_json(), held.history) == (JOBS, [])
    assert [answer["success"] for answer in answers] == [False] * 3
    assert [answer["code"] for answer in answers[:2]] == ["not_alone"] * 2
    assert answers[2]["code"] != "not_alone"
    assert answers[2]["error"] in answers[0]["error"]


def test_they_are_undone_together() -> None:
    _, _, held = edited(
        Edit("work[0]", "delete"),
        Edit("work[1].highlights", "add", "more"),
        Edit("skills", "add", {"name": "Go"}),
    )
    assert len(held.history) == 1
    assert ResumeDesk(held).undo()["success"] is True
    assert {**held.resume.to_json(), "meta": None, "skills": None} == {
        **JOBS,
        "meta": None,
        "skills": None,
    }
    assert held.resume.version == 4
