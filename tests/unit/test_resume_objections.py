"""Objections that are quoted from a resume: where their words stand, and which are none."""

from datetime import date

import pytest

from mcp_tools.resume import JsonObject, load_resume
from mcp_tools.resume.diagnosis import Defect, diagnose, followed, is_known, objection, plan

TODAY = date(2026, 3, 15)
RESUME: JsonObject = {
    "basics": {"name": "王芳", "summary": "做过三年仓储运营。对数据很敏感；希望转岗。"},
    "work": [
        {
            "name": "Acme",
            "startDate": "2022-01",
            "summary": "Ran the shop. Made many things better. Version 2.5 came out.",
            "highlights": ["• Improved  several\nprocesses", "Helped with the reports of the team"],
        }
    ],
    "awards": [{"title": "Employee of the year", "summary": "For many things."}],
}


def found(path: str, quotation: str) -> tuple[str, str] | None:
    defect = objection(load_resume(RESUME), path, quotation)
    return None if defect is None else (str(defect.detail["path"]), str(defect.detail["line"]))


@pytest.mark.parametrize(
    ("path", "quotation", "place", "line"),
    [
        ("work[0]", "several processes", "work[0].highlights[0]", "Improved  several\nprocesses"),
        ("work[0].highlights[1]", "many things", "work[0].summary", "Made many things better"),
        ("work[0].summary", "2.5 came", "work[0].summary", "Version 2.5 came out"),
        (
            *("work[0].summary", "shop. Made", "work[0].summary"),
            "Ran the shop. Made many things better",
        ),
        ("basics", "数据很敏感", "basics.summary", "对数据很敏感"),
        ("awards[0].summary", "many things", "awards[0].summary", "For many things"),
    ],
)
def test_the_whole_statement_is_objected_to(
    path: str, quotation: str, place: str, line: str
) -> None:
    assert found(path, quotation) == (place, line)


@pytest.mark.parametrize(
    ("path", "quotation"),
    [
        ("work[0]", "severalprocesses"),
        ("work[0]", "Several processes"),
        ("work[0]", "数据很敏感"),
        ("work[0].name", "Acme"),
        ("work[0].summary.more", "many things"),
        ("work[-1]", "many things"),
        ("awards[1].summary", "many things"),
        ("work", "many things"),
        ("", "many things"),
        ("work[0]", " \n"),
    ],
)
def test_what_does_not_stand_there_is_no_objection(path: str, quotation: str) -> None:
    assert found(path, quotation) is None


def test_rules_may_know_of_a_line_already() -> None:
    resume = load_resume(RESUME)
    weak, other = (objection(resume, f"work[0].highlights[{n}]", "e") for n in (1, 0))
    assert weak is not None
    assert other is not None
    assert is_known(weak, diagnose(resume, today=TODAY))
    assert not is_known(other, diagnose(resume, today=TODAY))


def test_a_slip_of_the_pen_is_another_matter() -> None:
    new = objection(load_resume(RESUME), "work[0]", "many things")
    assert new is not None
    spelling = Defect(kind="spelling", section="work", entry=0, detail=new.detail)
    assert not is_known(new, [spelling])


def test_a_task_follows_its_line_until_it_is_gone() -> None:
    resume = load_resume(RESUME)
    defect = objection(resume, "work[0]", "the reports")
    assert defect is not None
    (task,) = plan([defect], resume, language="en")
    work = RESUME["work"]
    assert isinstance(work, list)
    assert isinstance(work[0], dict)
    for lines, places in (
        (["Helped with the reports of the team"], ["work[0].highlights[0]"]),
        (["Wrote the reports"], None),
    ):
        after = load_resume({**RESUME, "work": [{**work[0], "highlights": [*lines]}]})
        (kept,) = followed([task], resume, after, today=TODAY, language="en")
        assert kept.status == ("done" if places is None else "pending")
        assert places is None or [one.detail["path"] for one in kept.defects] == places
