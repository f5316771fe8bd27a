"""What the terminal says about events that are not text."""

from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.agent.failure import Failure
from oda.agent.notices import retry_attempt
from oda.cli.narration import notes_of, one_line, question_of


def event(*parts: Part, author: str = "agent", partial: bool | None = None) -> Event:
    return Event(author=author, partial=partial, content=Content(role="model", parts=list(parts)))


def call(name: str, **args: Any) -> Part:
    return Part(function_call=FunctionCall(id="1", name=name, args=args))


def response(name: str, **content: Any) -> Part:
    return Part(function_response=FunctionResponse(id="1", name=name, response=content))


def test_a_retry_says_which_when_and_why() -> None:
    failure = Failure("rate_limited", "slow down", "RateLimitError", retryable=True)
    notice = retry_attempt(
        failure,
        invocation_id="i",
        retry=1,
        max_retries=3,
        delay_s=1.0,
        discard_partial=False,
        timestamp=0,
    )
    assert list(notes_of(notice)) == ["↻ retry 1/3 in 1.0 s: rate_limited: slow down"]


def test_calls_and_results_are_one_line_each() -> None:
    calls = event(call("add", a=1, b=2), call("greet", who="安娜\n"))
    results = event(response("add", result=3), response("greet", error="no voice"))
    assert list(notes_of(calls)) == ["→ add(a=1, b=2)", '→ greet(who="安娜\\n")']
    assert list(notes_of(results)) == ["← add: 3", '← greet: {"error": "no voice"}']


def test_a_long_result_is_cut() -> None:
    (line,) = notes_of(event(response("read", result="x" * 1000)))
    assert len(line) == 160
    assert line.endswith("…")


@pytest.mark.parametrize(
    "silent",
    [
        event(Part(text="Hello")),
        event(call("add", a=1), partial=True),
        event(call("adk_request_confirmation")),
        event(response("adk_request_confirmation", confirmed=True), author="user"),
    ],
)
def test_text_and_questions_are_not_noted(silent: Event) -> None:
    assert list(notes_of(silent)) == []


def test_a_question_shows_all_that_is_to_be_confirmed() -> None:
    path = "x" * 500
    asked = {
        "id": "1",
        "name": "adk_request_confirmation",
        "args": {
            "originalFunctionCall": {"name": "delete", "args": {"path": path}},
            "toolConfirmation": {"hint": "It cannot be undone.", "confirmed": False},
        },
    }
    assert question_of(asked) == f'Run delete(path="{path}")? It cannot be undone.'


def test_a_request_for_input_shows_its_message() -> None:
    asked = {"id": "1", "name": "adk_request_input", "args": {"message": "Which colour?"}}
    assert question_of(asked) == "Which colour?"


def test_a_limit_asks_for_as_much_again() -> None:
    asked = {"id": "1", "name": "oda_request_limit", "args": {"limit": "100 tokens", "used": {}}}
    assert question_of(asked) == "The limit of 100 tokens is used up. Allow as much again?"


def test_nothing_can_steer_the_terminal() -> None:
    assert one_line("a\x1b[2Jb\r\nc\x9b1m") == "a[2Jb c1m"
