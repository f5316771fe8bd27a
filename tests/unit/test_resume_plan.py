"""Plans: which tasks come of a diagnosis, and in which order."""

from datetime import date
from typing import Any

import pytest

from mcp_tools.resume import JsonObject, Language, load_resume
from mcp_tools.resume.diagnosis import MAX_TASKS, Task, apply_edits, diagnose, draft, followed, plan

TODAY = date(2026, 3, 15)
RESUME: JsonObject = {
    "basics": {"name": "Ada", "email": "ada@mail.example"},
    "work": [
        {
            "name": "Acme",
            "startDate": "2022-01",
            "highlights": [
                "Responsible for all the reports of the department",
                "Helped the collegues with their work",
            ],
        },
        {"name": "Bolt", "highlights": ["Cut costs by 12 % with javascript tools"]},
    ],
    "projects": [
        {"name": "Chess", "startDate": "2019"},
        {"name": "Go", "startDate": "2021", "description": "A program that plays Go with friends"},
    ],
    "education": [{"institution": "MIT", "endDate": "2018"}],
    "skills": [{"name": "Python"}, {"name": "Python"}],
}


def tasks(intent: str = "", language: Language = "en", **sections: Any) -> list[Task]:
    resume = load_resume({**RESUME, **sections})
    return plan(diagnose(resume, today=TODAY), resume, intent=intent, language=language)


def test_weak_lines_of_one_entry_are_one_task() -> None:
    (task,) = (task for task in tasks() if task.kind == "weak_verbs")
    assert (task.id, task.section, task.entry) == ("weak_verbs:work[0]", "work", 0)
    assert [defect.detail["opening"] for defect in task.defects] == ["Responsible for", "Helped"]


def test_all_misspelt_words_are_one_task() -> None:
    (task,) = (task for task in tasks() if task.kind == "spelling")
    assert (task.section, task.entry) == ("work", None)
    assert "collegues → colleagues" in task.diagnosis


def test_the_urgent_comes_first() -> None:
    priorities = [task.priority for task in tasks()]
    assert priorities == sorted(priorities, key=["high", "medium", "low"].index)
    assert tasks()[0].kind == "missing_dates"


@pytest.mark.parametrize(
    ("intent", "first"),
    [
        ("I want to apply for a backend job; focus on my projects", "projects"),
        ("重点改项目经历", "projects"),
        ("想找一份后端工作，主要优化技能部分", "skills"),
        ("Please improve my skills section", "skills"),
        ("I want to work in a bank", "work"),
    ],
)
def test_what_the_intent_names_comes_first(intent: str, first: str) -> None:
    assert tasks(intent)[0].section == first


@pytest.mark.parametrize("intent", ["just fix the typos", "只改错别字"])
def test_only_what_is_named_can_be_asked_for(intent: str) -> None:
    assert {task.kind for task in tasks(intent)} == {"spelling"}


@pytest.mark.parametrize("intent", ["Don't touch my projects", "项目经历不要动"])
def test_what_is_to_be_left_alone_is_not_planned(intent: str) -> None:
    assert "projects" not in {task.section for task in tasks(intent)}
    assert "projects" in {task.section for task in tasks()}


def test_tasks_speak_the_language_of_the_person() -> None:
    chinese = next(task for task in tasks(language="zh") if task.kind == "missing_dates")
    assert chinese.diagnosis.startswith("工作经历「Bolt」缺少开始时间、结束时间")
    english = next(task for task in tasks() if task.kind == "missing_dates")
    assert english.diagnosis.startswith('Work experience "Bolt" has no start date, end date')


def test_a_plan_has_an_end() -> None:
    jobs = [{"name": f"Firm {number}"} for number in range(30)]
    found = tasks(work=jobs)
    assert len(found) <= MAX_TASKS
    assert len({task.id for task in found}) == len(found)
    assert {"missing_dates", "spelling"} - {task.kind for task in found} == {"spelling"}


def test_a_task_can_be_stored_as_json() -> None:
    for task in tasks():
        assert Task.model_validate_json(task.model_dump_json()) == task


def test_tasks_follow_their_entries_through_an_edit() -> None:
    before = load_resume(RESUME)
    planned = plan(diagnose(before, today=TODAY), before, language="en")
    order = next(task for task in planned if task.kind == "order")
    edits = draft(order, before, {}, today=TODAY)
    assert edits
    after = apply_edits(before, edits)
    now = {task.id: task for task in followed(planned, before, after, today=TODAY, language="en")}
    assert now["order:projects"].status == "done"
    assert now["too_short:projects[0]"].entry == 1
    assert now["too_short:projects[0]"].defects[0].detail["path"] == "projects[1]"
    assert now["weak_verbs:work[0]"] == next(t for t in planned if t.kind == "weak_verbs")
