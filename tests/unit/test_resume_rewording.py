"""What speaks against another wording of a draft, and what does not."""

from typing import Any

import pytest

from mcp_tools.resume import Resume, load_resume
from mcp_tools.resume.diagnosis import ProposedEdit, Task, diagnose, draft, gather, plan
from mcp_tools.resume.diagnosis.rewording import draft_texts, objections, reworded
from tests.support.coached import ANSWERS, RESUME, TODAY, task_of

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


def drafted(task: Task, resume: Resume, said: str) -> list[ProposedEdit]:
    edits = draft(task, resume, gather(task, resume, said, {}), today=TODAY)
    assert edits is not None
    return edits


def judged(task: Task, resume: Resume, said: str, wording: str) -> list[str]:
    edits = drafted(task, resume, said)
    return objections(task, resume, edits, reworded(edits, [wording]), [said], today=TODAY)


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
        ("Planned the stand of the yearly trade fair", ["lost: 9"]),
        ("Responsible for the stand that won 9 customers", ["defect: weak_verbs in work"]),
        ("**Planned** a stand that won 9 customers", ["marks: **Planned**"]),
        ("策划年度展会的展台，赢得 9 位客户", ["another language"]),
        ("9", ["no text: '9'"]),
    ],
)
def test_an_english_line(wording: str, against: list[str]) -> None:
    found = judged(task_of("weak_verbs"), ENGLISH, ANSWERS["weak_verbs"], wording)
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
        ("重新规划仓库货位，缩短拣货时间", ["lost: 百分之三十"]),
        ("Replanned the warehouse and cut picking times by 30%", ["another language"]),
    ],
)
def test_a_chinese_line(wording: str, against: list[str]) -> None:
    found_defects = diagnose(CHINESE, today=TODAY)
    task = next(
        task for task in plan(found_defects, CHINESE, language="zh") if task.kind == "weak_verbs"
    )
    found = judged(task, CHINESE, "重新安排了仓库的货位，拣货时间少了百分之三十", wording)
    assert bool(found) == bool(against)
    assert all(any(one.startswith(start) for one in found) for start in against), found


def test_only_what_tells_something_is_reworded() -> None:
    entry: dict[str, Any] = {"name": "Acme", "startDate": "2020", "highlights": ["a", "b"]}
    edits = [
        ProposedEdit(path="work", action="add", value=[entry]),
        ProposedEdit(path="basics.email", action="update", value="a@example.org"),
        ProposedEdit(path="basics.summary", action="update", value="c"),
    ]
    task = task_of("weak_verbs")
    assert draft_texts(task, edits) == ["a", "b", "c"]
    after = [one.value for one in reworded(edits, ["x", "y", "z"])]
    assert after == [[entry | {"highlights": ["x", "y"]}], "a@example.org", "z"]


@pytest.mark.parametrize("kind", ["missing_contact", "order", "missing_dates"])
def test_what_rules_know_to_be_right_stays(kind: str) -> None:
    task = task_of(kind)
    assert draft_texts(task, drafted(task, ENGLISH, ANSWERS.get(kind, ""))) == []
