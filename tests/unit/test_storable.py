"""Values that every store takes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oda.message.content import to_content
from oda.message.storable import storable, storable_text

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.dates()
    | st.uuids(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=20,
)


def is_refused(text: str) -> bool:
    return any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in text)


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in texts_in(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return []


@given(anything)
def test_anything_becomes_json_that_every_store_takes(value: Any) -> None:
    stored = storable(value)
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored
    assert not any(is_refused(text) for text in texts_in(stored))


def test_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="not storable"):
        storable({"a": [{"\ud800": 1}]})


@given(anything)
def test_what_is_storable_stays_as_it_is(value: Any) -> None:
    stored = storable(value)
    assert storable(stored) == stored


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert storable_text(text) == text


@given(st.text(st.characters()))
def test_text_keeps_its_length_and_loses_what_is_refused(text: str) -> None:
    stored = storable_text(text)
    assert len(stored) == len(text)
    assert not is_refused(stored)


def test_objects_that_cannot_be_told_are_refused() -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("I say nothing")

    knot: list[Any] = []
    knot.append(knot)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for value in (knot, deep, {"x": Mute()}):
        with pytest.raises(ValueError, match="not storable"):
            storable(value)


def test_message_is_made_storable_and_else_left_as_it_is() -> None:
    message = to_content("a\x00b")
    assert message.parts is not None
    assert message.parts[0].text == "a\ufffdb"
    fine = to_content("你好")
    assert to_content(fine) is fine
