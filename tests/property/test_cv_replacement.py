"""A document that replaces a resume: the version only grows, and undo brings the old one back."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from agents.cv.http.replacing import replaced
from agents.cv.memory import Memory
from mcp_tools.resume import SECTIONS, ResumeError, load_resume, undo

names = st.sampled_from(["name", "company", "startDate", "highlights", "version", "x"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
entries = st.lists(st.dictionaries(names, st.text(max_size=8), max_size=3), max_size=3)
metas = st.dictionaries(st.sampled_from(["canonical", "version", "x"]), values, max_size=3)
documents = st.fixed_dictionaries(
    {},
    optional={
        "basics": st.dictionaries(names, st.text(max_size=8), max_size=3),
        "work": entries,
        "experience": entries,
        "skills": entries,
        "meta": metas,
        "own": values,
    },
)


@given(documents, documents)
def test_a_replacement_is_one_edit_that_can_be_undone(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    try:
        resume, given_ = load_resume(old), load_resume(new)
    except ResumeError:
        assume(False)
    state = {"resume": resume.to_json()}
    changes, version = replaced(state, given_, resume.version)
    if given_.is_empty and not resume.is_empty:
        assert (changes, version) == ({}, None)
        return
    memory = Memory({**state, **changes})
    assert version == memory.resume.version == resume.version + 1
    for section in SECTIONS:
        assert memory.resume.to_json().get(section) == given_.to_json().get(section)
    undone = undo(memory.resume, memory.history).resume
    assert undone.version == resume.version + 2
    assert without_meta(undone.to_json()) == without_meta(resume.to_json())


def without_meta(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "meta"}
