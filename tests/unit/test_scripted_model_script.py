"""Scripts: which steps are valid, how texts are cut, and which call gets which step."""

import pytest
from pydantic import ValidationError

from oda.testing.playback import Playback
from oda.testing.script import (
    Call,
    Cue,
    Cut,
    Echo,
    Error,
    Match,
    Script,
    Step,
    Text,
    ToolCalls,
    words_of,
)


def cue(
    last_user: str = "hi", *, after_tool: bool = False, model: str = "m", system: str = ""
) -> Cue:
    return Cue(model=model, system=system, last_user=last_user, after_tool=after_tool)


def played(steps: list[Step], *cues: Cue) -> list[Step]:
    playback: Playback[Step] = Playback(steps, default=Echo())
    return [playback.take(each) for each in cues]


def test_a_script_survives_a_round_trip_through_json() -> None:
    script = Script(
        steps=(
            Error(status=429, retry_after=1.5),
            ToolCalls(text="Let me see", calls=(Call(name="add", args={"a": [1]}),)),
            Text(chunks=("a", "b"), times=None, match=Match(after_tool=True)),
        ),
        default=Text(text="done"),
    )

    assert Script.model_validate_json(script.model_dump_json()) == script


def test_a_script_is_short_in_json() -> None:
    script = Script.model_validate_json(
        '{"steps": [{"type": "tool_calls", "calls": [{"name": "add", "args": {"a": 1}}]},'
        ' {"type": "text", "text": "It is 1"}]}'
    )

    assert script.steps == (
        ToolCalls(calls=(Call(name="add", args={"a": 1}),)),
        Text(text="It is 1"),
    )


@pytest.mark.parametrize(
    "json",
    [
        '{"steps": [{"type": "unheard_of"}]}',
        '{"steps": [{"type": "text", "text": "a", "colour": "red"}]}',
        '{"steps": [{"type": "text", "text": "a", "times": 0}]}',
        '{"steps": [{"type": "text", "text": "abc", "chunks": ["a", "b"]}]}',
        '{"steps": [{"type": "error", "status": 200}]}',
        '{"steps": [{"type": "cut"}]}',
        '{"steps": [{"type": "tool_calls", "calls": []}]}',
    ],
)
def test_a_script_with_a_mistake_is_refused(json: str) -> None:
    with pytest.raises(ValidationError):
        Script.model_validate_json(json)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one two three", ("one ", "two ", "three")),
        ("  led\nby space ", ("  led\n", "by ", "space ")),
        ("你好", ("你好",)),
        ("  ", ("  ",)),
        ("", ()),
    ],
)
def test_text_is_cut_into_words_that_add_up_to_it(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words
    assert Text(text=text).chunks == words


def test_chunks_stand_for_their_text() -> None:
    assert Text(chunks=("a", " b")).text == "a b"
    assert Cut(chunks=("a", " b")).text == "a b"


def test_steps_are_taken_in_order_and_then_the_default() -> None:
    first, second = Text(text="1"), Text(text="2")

    assert played([first, second], cue(), cue(), cue()) == [first, second, Echo()]


def test_a_step_answers_as_often_as_it_says() -> None:
    twice, for_ever = Error(status=500, times=2), Text(text="ok", times=None)

    assert played([twice, for_ever], *[cue()] * 4) == [twice, twice, for_ever, for_ever]


def test_a_call_takes_the_first_step_that_matches_it() -> None:
    by_text = Text(text="1", match=Match(last_user="weather"))
    by_tool = Text(text="2", match=Match(after_tool=True))
    by_model = Text(text="3", match=Match(model="big"))
    by_system = Text(text="4", match=Match(system="You are Ann"))
    steps: list[Step] = [by_text, by_tool, by_model, by_system]

    assert played(
        steps,
        cue(system="Rules. You are Ann."),
        cue(model="big"),
        cue(after_tool=True),
        cue("the weather?"),
        cue("the weather?"),
    ) == [by_system, by_model, by_tool, by_text, Echo()]


def test_all_conditions_of_a_match_must_hold() -> None:
    step = Text(text="1", match=Match(last_user="hi", after_tool=False))

    assert played([step], cue(after_tool=True), cue("bye"), cue("hi")) == [Echo(), Echo(), step]


def test_steps_that_nobody_took_remain() -> None:
    missed = Text(text="never", match=Match(last_user="unsaid"))
    playback: Playback[Step] = Playback([missed, Text(text="x", times=None)], default=Echo())
    playback.take(cue())

    assert playback.remaining == (missed,)
