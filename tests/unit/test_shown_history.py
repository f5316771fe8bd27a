"""A turn's stored history put together with what its clients were shown."""

from google.adk.events import Event
from google.genai.types import Content, Part

from oda.agent import notices
from oda.agent.notices import RETRY_ATTEMPT
from oda.server.adk.shown_history import as_shown


def said(author: str, text: str, at: float, turn: str = "t") -> Event:
    return Event(
        author=author,
        invocation_id=turn,
        timestamp=at,
        content=Content(parts=[Part(text=text)]),
    )


def failed(at: float, turn: str = "t") -> Event:
    return Event(author="agent", invocation_id=turn, timestamp=at, error_code="ServerError")


def retry(at: float, turn: str = "t") -> Event:
    event = notices.cancelled(invocation_id=turn, timestamp=at)
    return event.model_copy(update={"error_code": RETRY_ATTEMPT})


def test_a_notice_stands_where_the_attempt_failed() -> None:
    before, message = said("agent", "Earlier.", 0, "before"), said("user", "hi", 1)
    notice, answer = retry(3), said("agent", "Back.", 4)
    history = [before, message, failed(2), answer]
    assert as_shown(history, [notice, answer], "t") == [before, message, notice, answer]


def test_a_turn_that_has_failed_ends_with_its_notice() -> None:
    message, later = said("user", "hi", 1), said("user", "Later.", 9, "later")
    first, end = retry(3), notices.cancelled(invocation_id="t", timestamp=5)
    history = [message, failed(2), failed(4), later]
    assert as_shown(history, [first, end], "t") == [message, first, end, later]


def test_a_notice_stands_behind_the_answer_that_came_before_it() -> None:
    message, question = said("user", "pay", 1), said("agent", "May I?", 2)
    yes, notice, done = said("user", "Yes.", 3), retry(5), said("agent", "Paid.", 6)
    history = [message, question, yes, failed(4), done]
    shown = as_shown(history, [question, notice, done], "t")
    assert shown == [message, question, yes, notice, done]


def test_an_error_that_was_streamed_stays() -> None:
    message, error = said("user", "hi", 1), failed(2)
    assert as_shown([message, error], [error], "t") == [message, error]


def test_other_turns_stay_as_they_are() -> None:
    history = [said("user", "hi", 1, "a"), failed(2, "a"), said("user", "hi", 3)]
    assert as_shown(history, [retry(4)], "t")[:3] == history
