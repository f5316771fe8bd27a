"""What cannot be compared, and what the caller is told to do."""

import pytest

from mcp_tools.recitation import (
    MAX_CHARACTERS,
    MAX_UNITS,
    EmptyTextError,
    RecitationError,
    TextTooLongError,
    compare,
    is_recitation,
    memory_tips,
)


@pytest.mark.parametrize("text", ["", " \n", "。，！", "🎵"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(EmptyTextError, match="give the text that is to be recited") as caught:
        compare(text, "床前明月光")
    assert caught.value.code == "empty_text"


@pytest.mark.parametrize("expected", [True, False])
def test_a_text_with_too_many_units_is_refused(expected: bool) -> None:
    pair = ("明" * (MAX_UNITS + 1), "明")
    with pytest.raises(TextTooLongError, match="recite it in parts") as caught:
        compare(*(pair if expected else reversed(pair)))
    assert (caught.value.length, caught.value.limit) == (MAX_UNITS + 1, MAX_UNITS)


def test_numbers_count_as_they_are_said() -> None:
    with pytest.raises(TextTooLongError):
        compare("123 " * (MAX_UNITS // 4), "一")


@pytest.mark.parametrize("text", [" " * (MAX_CHARACTERS + 1), "a" * (MAX_CHARACTERS + 1)])
def test_a_text_with_too_many_characters_is_refused_at_once(text: str) -> None:
    with pytest.raises(RecitationError, match=f"{MAX_CHARACTERS} can be compared"):
        is_recitation("床前明月光", text)
    with pytest.raises(TextTooLongError):
        memory_tips((), text)


def test_the_longest_text_is_compared() -> None:
    text = "明月" * (MAX_UNITS // 2)
    assert compare(text, text).score == 100
