"""Inventions that must not pass and faithful translations that must, in labelled sets.

The second half of each set was not looked at while the rules were written; it tells how they
generalise.
"""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools.resume import edit, load_resume
from mcp_tools.resume.facts import Known, unsaid_by

FOLDER = Path(__file__).parent / "cv_facts"
HALVES = ("seen", "held_back")


@cache
def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def cases(name: str) -> list[Any]:
    return [
        pytest.param(*case, id=f"{half}-{number}")
        for half, found in read(name).items()
        for number, case in enumerate(found)
    ]


def unsaid(resume: str, said: str, path: str, action: str, value: Any) -> list[str]:
    """What an edit of a resume states that is neither in it nor in what was said."""
    before = load_resume(read("resumes")[resume])
    edited = edit(before, path, action, value)
    known = Known.beside(before, [said], today=date(2026, 11, 21))
    return unsaid_by(edited.patch, known, before=before.to_json())


@pytest.mark.parametrize(("resume", "said", "path", "action", "value"), cases("inventions"))
def test_an_invention_is_found(resume: str, said: str, path: str, action: str, value: Any) -> None:
    assert unsaid(resume, said, path, action, value)


@pytest.mark.parametrize(
    ("said", "path", "value"),
    [
        ("我2020年拿过公司的技术创新奖", "awards", {"title": "公司技术创新奖", "date": "2020"}),
        (
            "我2020年拿过公司的技术创新奖",
            "work[0].highlights",
            "Won the company's technology innovation award in 2020",
        ),
        ("我会 k8s 和 docker", "skills", [{"name": "Kubernetes"}, {"name": "Docker"}]),
        (
            "我在北京字节跳动做高级后端",
            "work",
            {"name": "ByteDance", "position": "Senior Backend Engineer"},
        ),
    ],
)
def test_what_was_said_may_be_added_in_either_language(said: str, path: str, value: Any) -> None:
    assert unsaid("zh", said, path, "add", value) == []


@pytest.mark.parametrize(("resume", "said", "path", "value"), cases("translations"))
def test_a_faithful_translation_passes(resume: str, said: str, path: str, value: Any) -> None:
    assert unsaid(resume, said, path, "update", value) == []


def test_the_sets_are_large_enough() -> None:
    for name in ("inventions", "translations"):
        assert all(len(read(name)[half]) >= 40 for half in HALVES)
