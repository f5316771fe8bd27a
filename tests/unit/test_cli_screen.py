"""How a turn looks on a terminal and in a pipe."""

from io import StringIO

from google.adk.events import Event
from google.genai.types import Content, FunctionCall, Part
from rich.console import Console

from oda.agent.failure import Failure
from oda.agent.notices import gave_up, retry_attempt
from oda.agent.outcome import outcome_of
from oda.cli.screen import Screen
from oda.message.progress import progress_event

FAILURE = Failure("connection", "cut off", "APIConnectionError", retryable=True)
RETRY = retry_attempt(
    FAILURE,
    invocation_id="i",
    retry=1,
    max_retries=3,
    delay_s=1,
    discard_partial=True,
    timestamp=0,
)


def text(words: str, *, partial: bool | None = None, author: str = "agent") -> Event:
    parts = [Part(text=words)]
    return Event(author=author, partial=partial, content=Content(role="model", parts=parts))


def shown(*events: Event, terminal: bool = False) -> str:
    """What stands on a terminal of 20 columns, or in a pipe, after these events."""
    out = StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=20, height=10, color_system=None, highlight=False
    )
    screen = Screen(console, console)
    for event in events:
        screen.show(event)
    screen.end(outcome_of(events))
    return out.getvalue()


def test_streamed_text_is_shown_once() -> None:
    assert shown(text("Hel", partial=True), text("lo", partial=True), text("Hello")) == "Hello\n"


def test_what_the_complete_text_adds_is_shown() -> None:
    assert shown(text("Hel", partial=True), text("Hello")) == "Hello\n"


def test_text_comes_before_the_calls_of_the_same_event() -> None:
    call = Part(function_call=FunctionCall(id="1", name="look", args={}))
    both = Event(author="agent", content=Content(parts=[Part(text="Let me look."), call]))
    assert shown(text("Let me", partial=True), both) == "Let me look.\n→ look()\n"


def test_what_a_tool_prints_is_shown_as_it_comes() -> None:
    told = [
        progress_event({"call_id": "1", "text": words}, author="agent", invocation_id="i")
        for words in ("one\n", "tw", "o\x1b[2J")
    ]
    silent = progress_event({"step": "asking"}, author="agent", invocation_id="i")
    out = shown(text("Look:", partial=True), *told, silent, text("Done."))
    assert out == "Look:\none\ntwo[2J\nDone.\n"


def test_a_terminal_takes_superseded_text_back() -> None:
    half = text("twenty-five characters 安", partial=True)
    assert "\r\x1b[1A\x1b[J↻ retry 1/3" in shown(half, RETRY, text("All."), terminal=True)


def test_a_pipe_and_text_that_has_scrolled_away_are_marked_instead() -> None:
    half = text("Half", partial=True)
    page = text("line\n" * 20, partial=True)
    for out in (shown(half, RETRY), shown(page, RETRY, terminal=True)):
        assert "\n(the text above is discarded)\n↻ retry" in out


def test_another_text_than_the_streamed_one_replaces_it() -> None:
    out = shown(text("Draft", partial=True), text("Final"), terminal=True)
    assert out == "Draft\r\x1b[JFinal\n"


def test_a_failure_is_one_line() -> None:
    failed = gave_up(
        FAILURE,
        invocation_id="i",
        retries=3,
        retries_exhausted=True,
        discard_partial=False,
        timestamp=0,
    )
    assert shown(failed) == (
        "error: connection: Agent execution failed after 3 retry attempts: cut off\n"
    )


def test_what_the_user_said_is_not_repeated() -> None:
    assert shown(text("hello", author="user"), text("Hi.")) == "Hi.\n"


def test_text_cannot_steer_the_terminal_but_reaches_a_pipe_as_it_is() -> None:
    assert shown(text("a\x1b[2Jb"), terminal=True) == "a[2Jb\n"
    assert shown(text("a\x1b[2Jb")) == "a\x1b[2Jb\n"
