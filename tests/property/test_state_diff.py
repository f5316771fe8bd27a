"""The changes that are shown of a document are those that have happened, for any two documents."""

import json
from collections.abc import Sequence
from copy import deepcopy
from io import StringIO
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from rich.cells import cell_len
from rich.console import Console

from oda.cli.diff_view import view
from oda.cli.state_diff import Change, changes

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["", "a", "ab", "1", "工程师", "x\ny", "a b " * 30, "\x1b[31m"])
)
KEYS = st.sampled_from(["name", "work", "a.b", "", "公司"])
DOCUMENTS: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)
NARROW = 44


def applied(document: JsonValue, made: Sequence[Change]) -> JsonValue:
    """The document after the changes: of what is removed side by side, the last goes first."""
    holder: Any = {"": deepcopy(document)}
    for kind, run in groupby(made, key=lambda change: (change.kind, change.path[:-1])):
        together = list(run)
        for change in reversed(together) if kind[0] == "removed" else together:
            _apply(holder, change)
    result: JsonValue = holder[""]
    return result


def _apply(holder: Any, change: Change) -> None:
    steps: tuple[Any, ...] = ("", *change.path)
    *way, last = steps
    place = holder
    for step in way:
        place = place[step]
    if change.kind == "removed":
        assert canonical(place[last]) == canonical(change.before)
        del place[last]
    elif change.kind == "added" and isinstance(place, list):
        place.insert(last, deepcopy(change.after))
    else:
        if change.kind == "changed":
            assert canonical(place[last]) == canonical(change.before)
        place[last] = deepcopy(change.after)


def canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


@given(DOCUMENTS, DOCUMENTS)
def test_the_changes_make_the_new_document_of_the_old_one(
    before: JsonValue, after: JsonValue
) -> None:
    made = changes(before, after)
    if before is None and isinstance(after, dict | list):
        before = type(after)()
    assert canonical(applied(before, made)) == canonical(after)


@given(DOCUMENTS, DOCUMENTS)
def test_there_are_changes_only_where_something_differs(
    before: JsonValue, after: JsonValue
) -> None:
    assert changes(before, before) == []
    for change in changes(before, after):
        if change.kind == "changed":
            assert canonical(change.before) != canonical(change.after)


@given(DOCUMENTS, DOCUMENTS, st.booleans())
def test_lines_fit_on_the_terminal_and_do_not_steer_it(
    before: JsonValue, after: JsonValue, terminal: bool
) -> None:
    console = Console(file=StringIO(), force_terminal=terminal, width=NARROW)
    made = changes(before, after)
    shown = [line.plain for line in view(made, console)]
    assert bool(shown) == bool(made)
    assert all(line[:2] in ("+ ", "- ", "~ ") for line in shown)
    assert not any(character in "\x1b\n" for line in shown for character in line)
    if terminal:
        assert all(cell_len(line) <= NARROW for line in shown)
