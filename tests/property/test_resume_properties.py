"""What holds for every resume and every edit."""

import json
from copy import deepcopy
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
from mcp_tools.resume.export import render
from mcp_tools.resume.standard import SET_ASIDE
from tests.support.official_schema import OFFICIAL

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


def plain_difference(before: Any, after: Any, at: str = "") -> list[Any]:
    """The difference as it is defined, with no thought of its cost."""

    def differ(one: Any, other: Any) -> bool:
        return bool(plain_difference(one, other))

    def escaped(name: str) -> str:
        return name.replace("~", "~0").replace("/", "~1")

    found: list[Any] = []
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before:
            if name not in after:
                found.append({"op": "remove", "path": f"{at}/{escaped(name)}"})
        for name, value in after.items():
            path = f"{at}/{escaped(name)}"
            if name in before:
                found += plain_difference(before[name], value, path)
            else:
                found.append({"op": "add", "path": path, "value": value})
    elif isinstance(before, list) and isinstance(after, list):
        old, new, start = list(before), list(after), 0
        while old and new and not differ(old[0], new[0]):
            del old[0], new[0]
            start += 1
        while old and new and not differ(old[-1], new[-1]):
            del old[-1], new[-1]
        for index in range(min(len(old), len(new))):
            found += plain_difference(old[index], new[index], f"{at}/{start + index}")
        for index in reversed(range(len(new), len(old))):
            found.append({"op": "remove", "path": f"{at}/{start + index}"})
        for index in range(len(old), len(new)):
            found.append({"op": "add", "path": f"{at}/{start + index}", "value": new[index]})
    elif before != after or type(before) is not type(after):
        found.append({"op": "replace", "path": at, "value": after})
    return found


@given(documents, documents)
def test_a_patch_is_the_plain_difference(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert diff(before, after) == plain_difference(before, after)


@given(documents, st.lists(st.tuples(words, st.integers(0, 3), values), max_size=3))
def test_a_patch_of_a_few_changes_is_the_plain_difference(
    before: dict[str, Any], changes: list[tuple[str, int, Any]]
) -> None:
    after = deepcopy(before)
    for name, index, value in changes:
        place = after.get(name)
        if isinstance(place, list):
            place.insert(index, value)
        else:
            after[name] = value
    assert diff(before, after) == plain_difference(before, after)


@given(st.lists(jobs, max_size=4), st.lists(jobs, max_size=4))
def test_sections_of_two_names_are_joined_each_entry_of_the_second_once(
    first: list[Any], second: list[Any]
) -> None:
    ours = load_resume({"work": first}).entries("work")
    theirs = load_resume({"work": second}).entries("work")
    joined = load_resume({"work": first, "workExperience": second}).entries("work")
    assert joined[: len(ours)] == ours
    assert joined[len(ours) :] == [entry for entry in theirs if entry not in ours]


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


odd_jobs = st.fixed_dictionaries(
    {},
    optional={
        "name": st.none() | words,
        "startDate": st.none() | st.sampled_from(["2021", "2021-07", "long ago", "0999", ""]),
        "highlights": st.none() | st.lists(words, max_size=2),
        "custom": values,
    },
)
odd_resumes = st.fixed_dictionaries(
    {},
    optional={
        "$schema": values,
        "basics": st.none()
        | st.fixed_dictionaries({}, optional={"name": st.none() | words, "location": words}),
        "work": st.none() | st.lists(odd_jobs, max_size=2),
        "certificates": st.lists(st.fixed_dictionaries({"date": words}), max_size=2),
        "meta": st.dictionaries(words, values, max_size=2)
        | st.fixed_dictionaries(
            {"version": values | st.integers() | st.integers().map(str) | st.just(10**30)}
        ),
        "extra": values,
        "x/y": values,
    },
).map(lambda data: load_resume(cast(JsonObject, data)))


@given(resumes | odd_resumes)
def test_an_exported_resume_is_what_the_official_schema_takes_and_nothing_is_lost(
    resume: Resume,
) -> None:
    exported = json.loads(render(resume, "json").content)
    OFFICIAL.validate(exported)
    assert load_resume(exported) == resume
    assert load_resume(exported).to_json() == resume.to_json()


@given(
    odd_resumes,
    values
    | st.lists(
        values | st.fixed_dictionaries({"op": st.just("add"), "path": words, "value": values}),
        max_size=2,
    ),
)
def test_what_is_set_aside_and_fits_nowhere_breaks_nothing(resume: Resume, aside: Any) -> None:
    document = resume.to_json()
    meta = document.get("meta")
    members = dict(meta) if isinstance(meta, dict) else {}
    try:
        read_again = load_resume({**document, "meta": {**members, SET_ASIDE: aside}})
    except ResumeError:
        return
    OFFICIAL.validate(json.loads(render(read_again, "json").content))


@given(resumes, jobs)
def test_what_was_added_is_what_is_read(resume: Resume, job: dict[str, Any]) -> None:
    edited = edit(resume, "work", "add", {**job, "name": "A"})
    assert read(edited.resume, edited.path) == edited.value


@given(st.lists(st.integers(0, 99) | st.sampled_from(["name", "x-y", "a_1"]), max_size=4))
def test_a_path_reads_back_as_it_was_written(steps: list[str | int]) -> None:
    path = Path(("skills", *steps))
    assert Path.parse(str(path)) == path
