"""What holds for the diagnosis of every resume."""

from collections.abc import Mapping
from datetime import date
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.resume import SECTIONS, JsonObject, Resume, load_resume
from mcp_tools.resume.diagnosis import (
    Kind,
    apply_edits,
    diagnose,
    draft,
    gather,
    missing,
    plan,
    questions,
    score,
)

TODAY = date(2026, 3, 15)
MECHANICAL: tuple[Kind, ...] = ("order", "duplicate", "spelling", "inconsistent_tense")

words = st.text(alphabet="aB负责中年 .。1%[]{}/\n", max_size=6)
lines = st.sampled_from(
    [
        "Manage a team of 4",
        "Built 3 shops in javascript",
        "Managing the shop, recieved awards",
        "Successfully lead the department of 12 people",
        "- 参与系统的布署",
        "负责维护 Mysql",
        "Responsible for selling cars",
        "Runs the shop. Wrote books; Sells cars",
        "",
    ]
)
texts = words | lines
dates = st.sampled_from(
    ["2015", "2018-02", "2018-02-11", "2019", "2020-13", "2022-05", "2031", "soon", "Summer 2019"]
)
lists = st.lists(texts, max_size=4)
unknown = st.dictionaries(st.sampled_from(["a b", "年", "custom"]), texts | lists, max_size=1)


def entries(title: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[JsonObject]]:
    titles = st.sampled_from(["Acme", "Bolt", "python", "Python", "", "精通 Java"])
    known = st.fixed_dictionaries({}, optional={title: titles, **fields})
    entry = st.tuples(known, unknown).map(lambda parts: {**parts[1], **parts[0]})
    return st.lists(entry, max_size=4)


period = {"startDate": dates | st.none(), "endDate": dates | st.none()}
told = {"summary": texts, "highlights": lists}
basics = st.fixed_dictionaries(
    {}, optional={"name": words, "email": words, "summary": texts, "birthday": dates}
)
sections: Mapping[str, st.SearchStrategy[Any]] = {
    "basics": basics,
    "work": entries("name", position=words, **period, **told),
    "volunteer": entries("organization", **period, **told),
    "education": entries("institution", area=words, courses=lists, **period),
    "projects": entries("name", description=texts, keywords=lists, **period, **told),
    "skills": entries("name", level=st.sampled_from(["expert", "精通", ""]), keywords=lists),
    "awards": entries("title", date=dates),
}
documents = st.fixed_dictionaries({}, optional=dict(sections))
resumes = documents.map(lambda document: load_resume(cast(JsonObject, document)))


@given(resumes, st.sampled_from(["", "focus on work", "只改项目经历", "不要动技能"]))
def test_every_resume_can_be_diagnosed_planned_and_asked_about(resume: Resume, intent: str) -> None:
    defects = diagnose(resume, today=TODAY)
    assert defects == diagnose(resume, today=TODAY)
    assert 0 <= score(resume, today=TODAY) <= 100
    for task in plan(defects, resume, intent=intent, language="zh"):
        assert all(defect in defects for defect in task.defects)
        assert bool(questions(task, resume, language="en")) == bool(missing(task, resume, {}))
        drafted = draft(task, resume, {}, today=TODAY)
        assert (drafted is None) == bool(missing(task, resume, {}))


@given(documents, st.permutations(SECTIONS))
def test_the_order_of_sections_does_not_matter(document: dict[str, Any], order: list[str]) -> None:
    shuffled = {name: document[name] for name in order if name in document}
    first, second = (load_resume(cast(JsonObject, one)) for one in (document, shuffled))
    assert diagnose(first, today=TODAY) == diagnose(second, today=TODAY)


@given(resumes)
def test_a_mechanical_defect_is_gone_after_its_draft(resume: Resume) -> None:
    for task in plan(diagnose(resume, today=TODAY), resume, language="en"):
        if task.kind not in MECHANICAL:
            continue
        edits = draft(task, resume, {}, today=TODAY)
        assert edits
        after = diagnose(apply_edits(resume, edits), today=TODAY)
        left = [one for one in after if one.kind == task.kind and one.section == task.section]
        if task.kind == "inconsistent_tense":
            left = [one for one in left if one.entry == task.entry]
        assert not left


@given(
    resumes, texts | words, st.sampled_from(["2019-03 to 2021-06", "a@b.co", "40 %", "no", "至今"])
)
def test_no_answer_is_too_odd(resume: Resume, said: str, more: str) -> None:
    for task in plan(diagnose(resume, today=TODAY), resume, language="en"):
        answers = gather(task, resume, said, {})
        answers = gather(task, resume, more, answers)
        edits = draft(task, resume, answers, today=TODAY)
        if edits is not None:
            apply_edits(resume, edits)
