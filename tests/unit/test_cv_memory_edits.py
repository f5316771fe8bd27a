"""The edits that can be undone, in a ring of state keys."""

from typing import Any

import pytest

from agents.cv.edits import read_edits, write_edits
from mcp_tools.resume import EditRecord


class Recording(dict[str, Any]):
    """A state that remembers what was written."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.written: list[str] = []

    def __setitem__(self, key: str, value: object) -> None:
        self.written.append(key)
        super().__setitem__(key, value)


def edit(number: int) -> EditRecord:
    return EditRecord(path=f"work[{number}]", action="add", patch=[], inverse=[])


def test_an_edit_is_written_alone() -> None:
    state = Recording()
    for number in range(120):
        state.written.clear()
        write_edits(state, [*read_edits(state), edit(number)], most=50)
        assert len(state.written) == 2
    assert read_edits(state) == [edit(number) for number in range(70, 120)]
    assert len(state) == 51


def test_an_undo_writes_no_edit() -> None:
    state = Recording()
    write_edits(state, [edit(1), edit(2), edit(3)], most=50)
    state.written.clear()
    write_edits(state, read_edits(state)[:-1], most=50)
    assert state.written == ["cv_history"]
    assert read_edits(state) == [edit(1), edit(2)]
    write_edits(state, [*read_edits(state), edit(9)], most=50)
    assert read_edits(state) == [edit(1), edit(2), edit(9)]


def test_all_may_be_undone_and_begun_anew() -> None:
    state = Recording()
    write_edits(state, [edit(1)], most=50)
    write_edits(state, [], most=50)
    assert read_edits(state) == []
    write_edits(state, [edit(4), edit(5)], most=50)
    assert read_edits(state) == [edit(4), edit(5)]


def test_a_smaller_limit_forgets_the_oldest() -> None:
    state = Recording()
    write_edits(state, [edit(number) for number in range(5)], most=50)
    write_edits(state, [*read_edits(state), edit(5)], most=2)
    assert read_edits(state) == [edit(4), edit(5)]


@pytest.mark.parametrize(
    "stored", ["x", 1, [], {"begin": 0, "end": 3}, {"begin": 0, "end": 10**9}, {"begin": "a"}]
)
def test_what_is_no_history_is_none(stored: Any) -> None:
    assert read_edits({"cv_history": stored}) == []
