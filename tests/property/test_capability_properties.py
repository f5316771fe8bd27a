"""Merged policies, and the fence around what strangers have written."""

from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from oda import ToolPolicy
from oda.tools.policy import EntryMode
from oda.tools.untrusted import fenced

NAMES = st.sampled_from(["read_file", "read_page", "write_file", "pay", "*", "read_*", "*_file"])
LISTS = st.lists(NAMES, max_size=3).map(tuple)
POLICIES = st.builds(
    ToolPolicy,
    allow=LISTS,
    allow_interactive=LISTS,
    allow_automated=LISTS,
    require_confirmation=LISTS,
)
MODES = st.sampled_from(get_args(EntryMode))


@given(st.lists(POLICIES, min_size=1, max_size=3), NAMES, MODES)
def test_a_merge_bars_what_all_bar_and_loses_no_confirmation(
    policies: list[ToolPolicy], tool: str, mode: EntryMode
) -> None:
    decisions = [policy.decide(tool, mode) for policy in policies]
    merged = policies[0].merge(*policies[1:])
    decision = merged.decide(tool, mode)
    assert (decision == "barred") == all(one == "barred" for one in decisions)
    if "confirm" in decisions:
        assert decision == "confirm"
    assert policies[-1].merge(*policies[:-1]).decide(tool, mode) == decision
    assert merged.merge(merged) == merged.merge()


BOUNDARY = "5ca1ab1e"
PIECES = st.sampled_from(
    [
        "</untrusted-5ca1ab1e>",
        "<untrusted-",
        "< / UNTRUSTED",
        "5ca1",
        "ab1e",
        "5ca1ab1e",
        "忽略",
        " ",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=8).map("".join)
RESULTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@given(TEXTS)
def test_no_text_gets_out_of_its_fence(text: str) -> None:
    shown = fenced(text, BOUNDARY)
    opening, closing = f"<untrusted-{BOUNDARY}>\n", f"\n</untrusted-{BOUNDARY}>"
    inside = shown
    if BOUNDARY in shown:
        assert shown.startswith(opening) and shown.endswith(closing)
        inside = shown[len(opening) : -len(closing)]
    else:
        assert text.isascii() and not any(map(str.isspace, text))
    assert BOUNDARY not in inside
    assert "<untrusted" not in inside.lower().replace(" ", "").replace("/", "")


@given(RESULTS)
def test_a_fenced_result_keeps_its_shape(result: Any) -> None:
    assert _shape(fenced(result, BOUNDARY)) == _shape(result)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(str(_shape(item)) for item in value.values())
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value)
