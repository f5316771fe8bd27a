"""Undo, and the patches that it is made of."""

import pytest

from mcp_tools.resume import (
    EditRecord,
    JsonObject,
    NothingToUndoError,
    apply_patch,
    diff,
    edit,
    load_resume,
    record,
    undo,
)
from mcp_tools.resume.history import HISTORY_LIMIT

RESUME = load_resume({"work": [{"name": "A"}, {"name": "B"}], "meta": {"version": 3}})


def test_undo_goes_back_edit_by_edit_while_the_version_grows() -> None:
    history: list[EditRecord] = []
    resume = RESUME
    for path, action in (("work[0].name", "update"), ("work[1]", "delete")):
        edited = edit(resume, path, action, "Z" if action == "update" else None)
        history, resume = record(history, edited), edited.resume
    first = undo(resume, history)
    assert [job["name"] for job in first.resume.entries("work")] == ["Z", "B"]
    assert (first.record["path"], first.record["action"]) == ("work[1]", "delete")
    second = undo(first.resume, first.history)
    assert second.resume.entries("work") == RESUME.entries("work")
    assert second.resume.version == RESUME.version + 4
    with pytest.raises(NothingToUndoError):
        undo(second.resume, second.history)


def test_only_so_many_edits_are_remembered() -> None:
    edited = edit(RESUME, "basics.name", "update", "A")
    history: list[EditRecord] = []
    for _ in range(HISTORY_LIMIT + 5):
        history = record(history, edited)
    assert len(history) == HISTORY_LIMIT


def test_a_patch_says_what_an_edit_did_and_its_inverse_takes_it_back() -> None:
    edited = edit(RESUME, "work[0].position", "update", "dev")
    assert edited.patch == ({"op": "add", "path": "/work/0/position", "value": "dev"},)
    assert edited.inverse == ({"op": "remove", "path": "/work/0/position"},)


def test_a_difference_touches_only_what_differs() -> None:
    before: JsonObject = {"a": [1, 2, 3], "b/c": {"d~": "x"}}
    after: JsonObject = {"a": [1, 3], "b/c": {"d~": "y"}}
    assert diff(before, after) == [
        {"op": "remove", "path": "/a/1"},
        {"op": "replace", "path": "/b~1c/d~0", "value": "y"},
    ]
    assert apply_patch(before, diff(before, after)) == after
