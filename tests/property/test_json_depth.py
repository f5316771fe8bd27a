"""The depth and the numbers of a JSON text, against a plain reading of it."""

import contextlib
import json
import math
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from oda.server.json_limits import json_fault
from oda.settings import LimitSettings

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.sampled_from('a"\\[]{}NI0e1é中\n')),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(alphabet='k"\\[{', max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)
TOKENS = [*'[]{}",:\\ ', "1", "e400", '"a"', '\\"', "x"]


def fault_of(text: str, depth: int) -> str | None:
    """Return what is wrong with a text; limits below the least of the setting are for tests."""
    return json_fault(text.encode(), LimitSettings.model_construct(json_depth=depth))


def depth_of(text: str) -> int:
    """Read one character after the other."""
    deepest = depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


@given(JSON, st.booleans())
def test_json_is_refused_exactly_when_it_is_too_deep(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    depth = depth_of(text)
    assert fault_of(text, depth) is None
    if depth:
        assert "deeper" in (fault_of(text, depth - 1) or "")


@given(st.lists(st.sampled_from(TOKENS)).map("".join), st.integers(0, 6))
@example('"' * 3 + "\\", 0)
def test_what_is_not_json_is_left_to_the_parser_to_refuse(text: str, limit: int) -> None:
    fault = fault_of(text, limit) or ""
    try:
        json.loads(text)
    except ValueError:
        assert "deeper" not in fault
    else:
        assert ("deeper" in fault) == (depth_of(text) > limit)


@given(st.binary(), st.integers(0, 3))
def test_whatever_passes_can_be_read_without_surprise(body: bytes, limit: int) -> None:
    if json_fault(body, LimitSettings.model_construct(json_depth=limit)) is None:
        with contextlib.suppress(json.JSONDecodeError):
            json.loads(body)


@given(st.from_regex("0|[1-9][0-9]{0,399}", fullmatch=True), st.integers(-400, 400))
def test_numbers_are_refused_exactly_when_a_double_cannot_hold_them(
    digits: str, exponent: int
) -> None:
    for number in (f"{digits}e{exponent}", f"-{digits}.{digits}E+{abs(exponent)}", digits):
        fault = fault_of(f'{{"n": [{number}]}}', 64)
        assert (fault is not None) == math.isinf(float(number))


@given(JSON, st.sampled_from(["NaN", "Infinity", "-Infinity"]))
def test_constants_that_only_python_knows_are_refused(value: Any, constant: str) -> None:
    assert fault_of(f"[{json.dumps(value)}, {constant}]", 100)
