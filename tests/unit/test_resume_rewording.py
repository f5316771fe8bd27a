"""What is invented in a draft that a model has written, and what is not."""

from typing import Any

import pytest

from mcp_tools.resume import Resume, load_resume
from mcp_tools.resume.diagnosis import (
    ProposedEdit,
    inventions,
    telling_texts,
    texts_changed,
    without_filler,
)
from tests.support.coached import ANSWERS, RESUME, TODAY

ENGLISH = load_resume(RESUME)
CHINESE = load_resume(
    {
        "basics": {"name": "王芳", "email": "wang@example.com", "phone": "13800000000"},
        "work": [
            {
                "name": "青山物流",
                "position": "运营专员",
                "startDate": "2021-03",
                "highlights": ["参与仓库日常管理工作", "带领 6 人小组完成 3 个分仓的搬迁"],
            }
        ],
        "education": [{"institution": "武汉大学", "startDate": "2017-09", "endDate": "2021-01"}],
        "skills": [{"name": "Excel"}],
    }
)


LINE = "work[0].highlights[0]"


def judged(resume: Resume, said: str, wording: str) -> list[str]:
    edits = [ProposedEdit(path=LINE, action="update", value=wording)]
    return inventions(resume, edits, [said], today=TODAY)


@pytest.mark.parametrize(
    ("wording", "against"),
    [
        ("Designed the stand for the yearly trade fair, winning 9 customers on the spot", []),
        ("Won nine customers at the yearly trade fair with a stand planned from scratch", []),
        ("Planned the stand of the yearly trade fair in Scotland and won 9 customers", []),
        ("Planned the stand of the fair and won 90 customers out of 9 leads", ["never said: 90"]),
        ("Won 9 customers for Google at the trade fair", ["never said: Google"]),
        ("Won 9 customers at the trade fair with SAP", ["never said: SAP"]),
        ("Kubernetes stand at the trade fair: won 9 customers", ["never said: Kubernetes"]),
        ("Won 9 customers at the fair of May 2017", ["never said: May 2017", "never said: May"]),
        ("Won 9 customers, see www.fair.example", ["never said: www.fair.example"]),
        ("**Planned** a stand that won 9 customers", ["marks: **Planned**"]),
        ("9", ["no text: '9'"]),
    ],
)
def test_an_english_line(wording: str, against: list[str]) -> None:
    found = judged(ENGLISH, ANSWERS["weak_verbs"], wording)
    assert bool(found) == bool(against)
    assert all(any(one.startswith(start) for one in found) for start in against), found


@pytest.mark.parametrize(
    ("wording", "against"),
    [
        ("重新规划仓库货位，将拣货时间缩短 30%", []),
        ("为青山物流重新规划货位，拣货时间缩短三成", []),
        ("重新规划仓库货位，将拣货时间缩短 35%", ["never said: 35%"]),
        ("为腾讯重新规划货位，拣货时间缩短 30%", ["never said: 腾讯"]),
        ("与长风集团一起规划货位，拣货时间缩短 30%", ["never said: 长风集团"]),
        ("用 docker 重新规划货位，拣货时间缩短 30%", ["never said: docker"]),
    ],
)
def test_a_chinese_line(wording: str, against: list[str]) -> None:
    found = judged(CHINESE, "重新安排了仓库的货位，拣货时间少了百分之三十", wording)
    assert bool(found) == bool(against)
    assert all(any(one.startswith(start) for one in found) for start in against), found


def test_only_what_tells_something_is_reworded() -> None:
    entry: dict[str, Any] = {"name": "Acme", "startDate": "2020", "highlights": ["a", "b"]}
    edits = [
        ProposedEdit(path="work", action="add", value=[entry]),
        ProposedEdit(path="basics.email", action="update", value="a@example.org"),
        ProposedEdit(path="basics.summary", action="update", value="c"),
    ]
    assert telling_texts(edits) == ["a", "b", "c"]
    after = [one.value for one in texts_changed(edits, str.upper)]
    assert after == [[entry | {"highlights": ["A", "B"]}], "a@example.org", "C"]


def test_edits_that_cannot_be_made_say_so() -> None:
    edits = [ProposedEdit(path="work[9].summary", action="update", value="Planned the stand")]
    (found,) = inventions(ENGLISH, edits, [], today=TODAY)
    assert found.startswith("cannot be applied")


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        (
            "I successfully planned it in order to win 9 customers",
            "I planned it to win 9 customers",
        ),
        ("成功地策划了展台，非常有效地赢得 9 位客户", "策划了展台，赢得 9 位客户"),
        ("Won 9 customers", "Won 9 customers"),
    ],
)
def test_filler_is_left_out(text: str, shorter: str) -> None:
    assert without_filler(text) == shorter
