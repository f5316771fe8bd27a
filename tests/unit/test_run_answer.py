"""What a model is told of a run of its code."""

import pytest

from oda.workspace.run_answer import run_answer
from oda.workspace.sandbox.sandbox import Ending, LeftBehind, RunResult


def result(ending: Ending = "exited", exit_code: int | None = 0, **more: object) -> RunResult:
    fields = {"stdout": "", "stderr": "", "truncated": False, "files": ()} | more
    return RunResult(ending=ending, exit_code=exit_code, **fields)  # type: ignore[arg-type]


def test_the_fields_are_those_of_the_specification() -> None:
    ran = result(stdout="1\n", stderr="hm\n", files=("output/a",), wall_s=1.0)
    assert run_answer(ran, max_chars=100) == {
        "exit_code": 0,
        "stdout": "1\n",
        "stderr": "hm\n",
        "files": ["output/a"],
        "timed_out": False,
        "truncated": False,
    }


def test_what_was_left_behind_is_told_only_where_something_was() -> None:
    ran = result(left_behind=(LeftBehind("output/link", "a link"),))
    assert run_answer(ran, max_chars=100)["left_behind"] == [
        {"path": "output/link", "reason": "a link"}
    ]


@pytest.mark.parametrize(
    ("ending", "timed_out", "reason"),
    [
        ("timed_out", True, "ran too long"),
        ("cpu_limit", True, "computed too long"),
        ("output_limit", False, "printed too much"),
        ("killed", False, "memory"),
    ],
)
def test_an_end_from_outside_is_explained(ending: Ending, timed_out: bool, reason: str) -> None:
    answer = run_answer(result(ending, None, stderr="so far\n"), max_chars=100)
    assert answer["timed_out"] is timed_out
    assert answer["stderr"].startswith("so far\n[")
    assert reason in answer["stderr"]


def test_the_end_of_a_long_text_is_kept() -> None:
    ran = result(stdout="a" * 500, stderr=f"{'b' * 500}ValueError: no", files=("x",) * 400)
    answer = run_answer(ran, max_chars=100)
    assert answer["stderr"].endswith("ValueError: no")
    assert len(answer["stdout"]) < 100
    assert len(answer["files"]) == 300
    assert answer["truncated"] is True
