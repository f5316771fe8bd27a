"""What holds for every resume and every edit."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.resume import (
    EditRecord,
    JsonObject,
    Path,
    Resume,
    ResumeError,
    apply_patch,
    diff,
    edit,
    load_resume,
    read,
    record,
    undo,
)

words = st.text(alphabet="ab中文 /~.", max_size=4)
scalars = st.none() | st.booleans() | st.integers(-5, 5) | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(words, values, max_size=4)

jobs = st.fixed_dictionaries(
    {"name": words},
    optional={
        "position": words,
        "startDate": st.sampled_from(["2020", "2021-07", "2021-07-01"]),
        "highlights": st.lists(words, max_size=2),
        "custom": values,
    },
)
resumes = st.fixed_dictionaries(
    {},
    optional={
        "basics": st.fixed_dictionaries({}, optional={"name": words, "phone": words}),
        "work": st.lists(jobs, max_size=3),
        "skills": st.lists(st.fixed_dictionaries({"name": words}), max_size=3),
        "extra": values,
    },
).map(lambda data: load_resume(cast(JsonObject, data)))
_PATHS = "work work[0] work[1].position work[0].endDate work[0].highlights skills skills[2] basics"
_NO_PATHS = "nowhere work[0].nothing work["
places = st.sampled_from([*_PATHS.split(), *_NO_PATHS.split(), "basics.name", ""])
edits = st.tuples(places, st.sampled_from(["add", "update", "delete", "fly"]), jobs | values)


def without_version(resume: Resume) -> dict[str, Any]:
    return {key: value for key, value in resume.to_json().items() if key != "meta"}


@given(documents, documents)
def test_a_patch_leads_from_any_document_to_any_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert apply_patch(before, diff(before, after)) == after


@given(resumes, edits)
def test_an_edit_either_happens_reversibly_or_not_at_all(
    resume: Resume, change: tuple[str, str, Any]
) -> None:
    before = resume.to_json()
    path, action, value = change
    try:
        edited = edit(resume, path, action, value)
    except ResumeError as error:
        assert error.message("zh")
        assert error.message("en")
        return
    finally:
        assert resume.to_json() == before
    body = without_version(edited.resume)
    assert edited.resume.version == resume.version + 1
    assert apply_patch(body, edited.inverse) == without_version(resume)
    assert apply_patch(without_version(resume), edited.patch) == body


@given(resumes, st.lists(edits, max_size=6))
def test_undoing_everything_leads_back_to_the_start(
    resume: Resume, changes: list[tuple[str, str, Any]]
) -> None:
    start = resume
    history: list[EditRecord] = []
    for path, action, value in changes:
        try:
            edited = edit(resume, path, action, value)
        except ResumeError:
            continue
        history, resume = record(history, edited), edited.resume
    while history:
        undone = undo(resume, history)
        history, resume = undone.history, undone.resume
    assert without_version(resume) == without_version(start)


@given(resumes)
def test_loading_what_was_stored_changes_nothing(resume: Resume) -> None:
    assert load_resume(resume.to_json()) == resume


@given(resumes, jobs)
def test_what_was_added_is_what_is_read(resume: Resume, job: dict[str, Any]) -> None:
    edited = edit(resume, "work", "add", {**job, "name": "A"})
    assert read(edited.resume, edited.path) == edited.value


@given(st.lists(st.integers(0, 99) | st.sampled_from(["name", "x-y", "a_1"]), max_size=4))
def test_a_path_reads_back_as_it_was_written(steps: list[str | int]) -> None:
    path = Path(("skills", *steps))
    assert Path.parse(str(path)) == path
