"""The part of a conversation that the model is sent, and the summary of the rest."""

import pytest
from google.genai.types import Content, Part

from agents.cv.window import SUMMARY_MARK, Window, current_turn, digest, fitted, tokens_of

WINDOW = Window(messages=10, tokens=1_000, summary_chars=500)


def user(text: str) -> Content:
    return Content(role="user", parts=[Part(text=text)])


def model(text: str) -> Content:
    return Content(role="model", parts=[Part(text=text)])


def turn(number: int, *, reply: str = "done") -> list[Content]:
    """A turn of four messages."""
    call = Part.from_function_call(name="CVReader", args={"path": f"work[{number}]"})
    response = Part.from_function_response(name="CVReader", response={"value": number})
    return [
        user(f"message {number}"),
        Content(role="model", parts=[call]),
        Content(role="user", parts=[response]),
        model(f"{reply} {number}"),
    ]


def turns(count: int) -> list[Content]:
    return [content for number in range(count) for content in turn(number)]


def text(content: Content) -> str:
    return "".join(part.text or "" for part in content.parts or [])


def test_what_fits_is_sent_as_it_is() -> None:
    contents = [*turns(2), user("now")]
    assert fitted(contents, WINDOW) == contents


def test_whole_turns_fall_out_and_are_told_in_short() -> None:
    lead, *kept = fitted([*turns(5), user("now")], WINDOW)
    assert kept == [*turns(5)[12:], user("now")]
    assert lead.role == "user"
    assert text(lead).splitlines() == [
        SUMMARY_MARK,
        *(f"- {who} {n}" for n in range(3) for who in ("the person: message", "you: done")),
    ]


def test_the_summary_leads_and_what_fell_out_since_follows() -> None:
    summary = model(f"{SUMMARY_MARK}\nlikes short sentences")
    lead, *kept = fitted([summary, *turns(3), user("now")], WINDOW)
    assert text(lead).splitlines()[:3] == [
        SUMMARY_MARK,
        "likes short sentences",
        "- the person: message 0",
    ]
    assert kept == [*turns(3)[4:], user("now")]


def test_a_summary_is_sent_also_when_all_fits() -> None:
    summary = model(f"{SUMMARY_MARK}\nlikes short sentences")
    assert text(fitted([summary, user("now")], WINDOW)[0]) == text(summary)


def test_the_current_turn_is_sent_whole_whatever_its_size() -> None:
    working = [user("now"), *[content for n in range(9) for content in turn(n)[1:3]]]
    assert fitted([*turns(3), *working], WINDOW)[-len(working) :] == working
    long = user("x" * 100_000)
    assert fitted([*turns(2), long], WINDOW)[1:] == [long]


def test_tokens_count_as_well_as_messages() -> None:
    contents = [*turn(0, reply="词" * 600), *turn(1, reply="词" * 600), user("now")]
    _, *kept = fitted(contents, WINDOW)
    assert kept == contents[4:]


@pytest.mark.parametrize("most", range(4, 40, 3))
def test_no_result_is_sent_without_its_call(most: int) -> None:
    window = Window(messages=most, tokens=100_000, summary_chars=200)
    kept = fitted([*turns(9), user("now")], window)
    open_calls = 0
    for content in kept:
        for part in content.parts or []:
            open_calls += bool(part.function_call) - bool(part.function_response)
            assert open_calls >= 0
    assert open_calls == 0
    assert len(kept) <= most + 1


def test_the_current_turn_begins_with_the_last_words_of_the_person() -> None:
    assert current_turn([*turns(2), user("now"), *turn(3)[1:3]]) == 8
    assert current_turn([]) == 0


def test_a_digest_keeps_the_latest_and_its_length() -> None:
    told = digest(turns(200), summary="", longest=300)
    assert len(told) <= 300 + len(SUMMARY_MARK) + 1
    assert told.splitlines()[-1] == "- you: done 199"
    again = digest(turns(3), summary=told, longest=300)
    assert again.splitlines()[-1] == "- you: done 2"
    assert digest([], summary="", longest=300) == ""


def test_tokens_are_estimated_for_both_scripts() -> None:
    assert tokens_of("") == 0
    assert tokens_of("abcdefgh") == 2
    assert tokens_of("工作经历") == 4
    assert tokens_of("工作 work") == 4
