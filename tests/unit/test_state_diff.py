"""The changes of a document, and how they are shown."""

from io import StringIO

import pytest
from pydantic import JsonValue
from rich.cells import cell_len
from rich.console import Console

from oda.cli.screen import Screen
from oda.cli.state_diff import Change, changes

JOBS: list[JsonValue] = [
    {"name": "Initech", "position": "Clerk"},
    {"name": "腾讯", "position": "前端工程师"},
    {"name": "Globex", "position": "Head"},
]


def shown(
    before: JsonValue, after: JsonValue, *, width: int | None = None, colour: bool = False
) -> str:
    """What a screen shows of it: in a pipe, or on a terminal of so many columns."""
    out = StringIO()
    console = Console(
        file=out,
        force_terminal=width is not None,
        width=width,
        highlight=False,
        color_system="standard" if colour else None,
    )
    Screen(console, console).changed("resume", changes(before, after))
    return out.getvalue()


def lines(before: JsonValue, after: JsonValue, *, width: int | None = None) -> list[str]:
    head, *rest = shown(before, after, width=width).splitlines()
    assert head == "resume:"
    return rest


# --- what has changed


@pytest.mark.parametrize("same", [None, {}, {"a": [1, {"b": None}]}, "x"])
def test_nothing_has_changed(same: JsonValue) -> None:
    assert changes(same, same) == []
    assert shown(same, same) == ""


def test_the_order_of_keys_is_no_change() -> None:
    assert changes({"a": 1, "b": 2}, {"b": 2, "a": 1}) == []


def test_a_changed_field() -> None:
    after = [*JOBS]
    after[1] = {"name": "腾讯", "position": "技术负责人"}
    assert changes({"work": [*JOBS]}, {"work": after}) == [
        Change(("work", 1, "position"), "changed", "前端工程师", "技术负责人")
    ]


@pytest.mark.parametrize("index", range(3))
def test_a_removed_entry_is_the_only_change(index: int) -> None:
    after = [job for number, job in enumerate(JOBS) if number != index]
    assert changes([*JOBS], after) == [Change((index,), "removed", before=JOBS[index])]
    assert changes(after, [*JOBS]) == [Change((index,), "added", after=JOBS[index])]


def test_an_entry_is_removed_and_another_one_changed_in_one_turn() -> None:
    after: JsonValue = [{"name": "腾讯", "position": "技术负责人"}, JOBS[2]]
    assert changes([*JOBS], after) == [
        Change((0,), "removed", before=JOBS[0]),
        Change((0, "position"), "changed", "前端工程师", "技术负责人"),
    ]


def test_an_entry_that_has_nothing_in_common_is_another_one() -> None:
    assert changes([JOBS[0]], [JOBS[2]]) == [
        Change((0,), "removed", before=JOBS[0]),
        Change((0,), "added", after=JOBS[2]),
    ]


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, "1"), (None, 0), ([], {})])
def test_values_of_other_kinds_differ(one: JsonValue, other: JsonValue) -> None:
    assert changes({"x": one}, {"x": other}) == [Change(("x",), "changed", one, other)]


def test_a_document_that_was_not_there_is_shown_field_by_field() -> None:
    assert changes(None, {"a": 1}) == [Change(("a",), "added", after=1)]


# --- how it is shown


def test_fields_are_lines_and_entries_are_blocks() -> None:
    before: JsonValue = {"basics": {"name": "张伟", "phone": "0170"}, "work": [JOBS[0], JOBS[1]]}
    after: JsonValue = {
        "basics": {"name": "张三", "email": "z@x.org"},
        "work": [
            JOBS[1],
            {"name": "Google", "highlights": ["fast", "good"], "location": {"city": "Rome"}},
        ],
        "skills": [],
    }
    assert lines(before, after) == [
        "~ basics.name: 张伟 -> 张三",
        "- basics.phone: 0170",
        "+ basics.email: z@x.org",
        "- work[0]",
        "-   name: Initech",
        "-   position: Clerk",
        "+ work[1]",
        "+   name: Google",
        "+   highlights[0]: fast",
        "+   highlights[1]: good",
        "+   location",
        "+     city: Rome",
        "+ skills: []",
    ]


def test_texts_that_look_like_other_values_are_quoted() -> None:
    assert lines(
        {"a": "1", "b": "", "c": " x", "d": None}, {"a": 1, "b": "null", "c": "x", "d": "y"}
    ) == [
        '~ a: "1" -> 1',
        '~ b: "" -> "null"',
        '~ c: " x" -> x',
        "~ d: null -> y",
    ]


def test_odd_keys_are_quoted() -> None:
    assert lines({}, {"a.b": {"c": 1}, "": 2}) == ['+ ["a.b"]', "+   c: 1", '+ [""]: 2']
    assert lines({"x": {"a b": 1}}, {"x": {"a b": 2}}) == ['~ x["a b"]: 1 -> 2']


def test_the_document_as_a_whole() -> None:
    assert lines("a", ["b"]) == ["~ all:", "-   a", "+   [0]: b"]


def test_a_text_of_several_lines_is_shown_as_such() -> None:
    assert lines({"summary": "one\ntwo"}, {"summary": "one\nthree"}) == [
        "~ summary:",
        "-   one",
        "-     two",
        "+   one",
        "+     three",
    ]


def test_a_long_text_is_wrapped_on_a_terminal_and_left_whole_in_a_pipe() -> None:
    before: JsonValue = {"summary": "短", "name": "x"}
    after: JsonValue = {"summary": "负责支付系统的前端开发和性能优化" * 3, "name": "y"}
    assert len(lines(before, after)) == 2
    narrow = lines(before, after, width=40)
    assert narrow[:3] == ["~ summary:", "-   短", "+   负责支付系统的前端开发和性能优化负"]
    assert narrow[-1] == "~ name: x -> y"
    assert all(cell_len(line) <= 40 for line in narrow)
    assert "".join(line[4:].strip() for line in narrow[2:-1]) == after["summary"]  # type: ignore[index, call-overload]


def test_removed_is_red_and_added_is_green() -> None:
    before: JsonValue = {"a": "one", "b": "two"}
    assert shown(before, {"a": "1st", "c": "three"}, width=80, colour=True).splitlines()[1:] == [
        "~ a: \x1b[31mone\x1b[0m -> \x1b[32m1st\x1b[0m",
        "\x1b[31m- b: two\x1b[0m",
        "\x1b[32m+ c: three\x1b[0m",
    ]


def test_nothing_in_a_document_steers_the_terminal() -> None:
    evil = "\x1b[2J\x07[red]x[/red]"
    text = shown({}, {evil: evil, "list": [evil]}, width=80)
    assert "\x07" not in text and "\x1b[2J" not in text
    assert "[red]x[/red]" in text
