"""Resumes of any size and shape: what is too large is refused, the rest costs little."""

import json
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import pytest

from mcp_tools.resume import (
    EditRecord,
    ResumeDesk,
    ResumeTooLargeError,
    apply_patch,
    diff,
    edit,
    load_resume,
    record,
    undo,
)
from mcp_tools.resume.diagnosis import score
from mcp_tools.resume.files import StoredResume
from mcp_tools.resume.history import HISTORY_CHARACTERS
from mcp_tools.resume.limits import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_NAME,
    MAX_TEXT,
    MAX_VALUES,
    check_limits,
)
from mcp_tools.resume.patch import MAX_PATHS
from tests.support.counted_work import CountedText, calls
from tests.support.largest_resumes import largest_resumes, nested

TODAY = date(2026, 11, 22)
LARGEST = largest_resumes()
TOO_LARGE: dict[str, tuple[dict[str, Any], str]] = {
    "depth": ({"x": nested(MAX_DEPTH, 1)}, "levels"),
    "very deep": ({"x": nested(100_000, 1)}, "levels"),
    "values": ({"x": [[0] * 400 for _ in range(MAX_VALUES // 400 + 1)]}, "values"),
    "members": ({f"k{number}": number for number in range(MAX_VALUES)}, "values"),
    "entries": ({"work": [{"name": "A"}] * (MAX_ENTRIES + 1)}, "entries"),
    "joined entries": (
        {
            "work": [{"name": "A"}] * MAX_ENTRIES,
            "experience": [{"company": "B"}],
        },
        "entries",
    ),
    "text": ({"basics": {"summary": "x" * (MAX_TEXT + 1)}}, "characters in one text"),
    "characters": ({"work": [{"summary": "x" * 1000}] * 201}, "characters in all"),
    "name": ({"x" * (MAX_NAME + 1): 1}, "name"),
    "canonical values": ({"skills": ["x"] * MAX_ENTRIES, "y": [[0] * 300] * 14}, "values"),
}


@pytest.mark.parametrize("shape", TOO_LARGE)
def test_a_document_that_is_too_large_is_refused_with_what_to_do(shape: str) -> None:
    document, words = TOO_LARGE[shape]
    with pytest.raises(ResumeTooLargeError) as refused:
        load_resume(document)
    assert words in refused.value.message("en")
    assert "请" in refused.value.message("zh")
    assert len(refused.value.message("en")) < 2_000


@pytest.mark.parametrize("shape", TOO_LARGE)
def test_refusing_costs_little_however_large_the_document_is(shape: str) -> None:
    document, _ = TOO_LARGE[shape]

    def refuse() -> None:
        with pytest.raises(ResumeTooLargeError):
            load_resume(document)

    assert calls(refuse) < 40 * MAX_VALUES


@pytest.mark.parametrize("shape", LARGEST)
def test_the_largest_document_is_taken_as_it_is_and_can_be_read_again(shape: str) -> None:
    resume = load_resume(LARGEST[shape])
    stored = json.loads(json.dumps(resume.to_json()))
    assert load_resume(stored) == resume


@pytest.mark.parametrize("shape", LARGEST)
def test_the_largest_document_is_edited_and_the_edit_taken_back_at_little_cost(shape: str) -> None:
    resume = load_resume(LARGEST[shape])

    def work() -> None:
        edited = edit(resume, "basics.label", "update", "Engineer")
        undone = undo(edited.resume, record([], edited)).resume
        assert undone.to_json().get("work") == resume.to_json().get("work")

    assert calls(work) < 120 * MAX_VALUES


@pytest.mark.parametrize("shape", LARGEST)
def test_the_largest_document_is_rated_at_little_cost(shape: str) -> None:
    resume = load_resume(LARGEST[shape])
    score(resume, today=TODAY)
    assert calls(lambda: score(resume, today=TODAY)) < 400 * MAX_VALUES


def _deep(size: int, leaf: str) -> dict[str, Any]:
    return {"x": nested(size, leaf)}


def _bushy(size: int, leaf: str) -> dict[str, Any]:
    """Trees of lists whose ends differ, which are compared from both ends."""

    def tree(depth: int) -> Any:
        return leaf if depth == 0 else [tree(depth - 1), leaf * depth, tree(depth - 1)]

    return {"x": tree(size)}


def _wide(size: int, leaf: str) -> dict[str, Any]:
    return {"x": [{"name": f"{leaf}{number}", "same": 1} for number in range(size * 20)]}


@pytest.mark.parametrize(
    ("make", "small", "growth"), [(_deep, 5, 2), (_bushy, 4, 2), (_wide, 10, 2)]
)
def test_the_difference_of_two_documents_costs_what_they_hold(
    make: Callable[[int, str], dict[str, Any]], small: int, growth: int
) -> None:
    costs, sizes = [], []
    for size in (small, small * growth):
        before, after = make(size, "a"), make(size, "b")
        costs.append(calls(partial(diff, before, after)))
        sizes.append(_values(before))
        assert apply_patch(before, diff(before, after)) == after
    assert costs[1] / costs[0] < 1.5 * sizes[1] / sizes[0]


def _values(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(map(_values, value.values() if isinstance(value, dict) else value))
    return 1


def test_sections_of_two_names_are_joined_without_comparing_each_entry_with_each() -> None:
    def jobs(first: int, count: int) -> list[Any]:
        return [{"name": CountedText(f"C{first + number}")} for number in range(count)]

    half = MAX_ENTRIES // 2
    CountedText.comparisons = 0
    resume = load_resume({"work": jobs(0, half), "workExperience": jobs(half - 3, half)})
    assert len(resume.entries("work")) == 2 * half - 3
    assert CountedText.comparisons < 10 * MAX_ENTRIES


def test_where_the_paths_of_a_patch_would_be_longer_than_a_document_it_replaces_all() -> None:
    values: Any = list(range(400))
    for _ in range(MAX_DEPTH - 2):
        values = {"n" * MAX_NAME: values}
    before, after = {"x": values}, json.loads(json.dumps({"x": values}).replace("0", "7"))
    patch = diff(before, after)
    assert sum(len(operation["path"]) for operation in patch) <= MAX_PATHS
    assert apply_patch(before, patch) == after


def test_the_history_forgets_the_oldest_edits_when_it_becomes_too_large() -> None:
    resume = load_resume({"basics": {"name": "A"}})
    history: list[EditRecord] = []
    for number in range(30):
        text = f"{number}" + "x" * (MAX_TEXT - 2)
        edited = edit(resume, "basics.summary", "update", text)
        resume, history = edited.resume, record(history, edited)
    assert len(json.dumps(history)) <= HISTORY_CHARACTERS + 1_000
    assert undo(resume, history).resume.to_json()["basics"] == {
        "name": "A",
        "summary": "28" + "x" * (MAX_TEXT - 2),
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("work", {"name": "A", "x": nested(MAX_DEPTH, 1)}),
        ("work", "[" * (MAX_TEXT + 1)),
        ("work", '{"name": "A", "x": ' + "[" * 500 + "]" * 500 + "}"),
        ("work", [{"name": "A"}] * (MAX_ENTRIES + 1)),
        ("basics.summary", "x" * (MAX_CHARACTERS + 1)),
        ("work[0]." + ".".join(["x"] * 10_000), 1),
    ],
)
def test_an_edit_by_a_model_that_is_too_large_is_refused_and_changes_nothing(
    path: str, value: Any
) -> None:
    held = StoredResume(load_resume({"work": [{"name": "A", "x": {}}]}))
    before = held.resume
    action = "add" if path == "work" else "update"
    answer = ResumeDesk(held).edit(path, action, value)  # type: ignore[arg-type]
    assert answer["success"] is False
    assert len(answer["error"]) < 2_000
    assert held.resume is before


def test_the_limits_are_far_above_a_long_career() -> None:
    job: dict[str, Any] = {
        "name": "Company",
        "position": "Engineer",
        "startDate": "2019-01",
        "summary": "What was done. " * 20,
        "highlights": ["A result that mattered, with its figures and its reasons. " * 2] * 6,
    }
    check_limits({"work": [job] * 40, "publications": [{"name": "On things", "url": "x"}] * 300})
