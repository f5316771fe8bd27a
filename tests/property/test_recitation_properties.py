"""What holds for every recitation."""

from collections.abc import Sequence

from hypothesis import assume, example, given
from hypothesis import strategies as st

from mcp_tools.recitation import (
    MAX_TIPS,
    EmptyTextError,
    Evaluation,
    compare,
    is_recitation,
    memory_tips,
    normalize,
    similarity,
)
from mcp_tools.recitation.fit import fitted
from mcp_tools.recitation.sounds import sound_keys, spelling_of

CHARACTERS = "床前明月光名鸣思四是一疑行形长掌着了的"
"""Few, with homophones and characters of several sounds, so that they meet often."""
FOREIGN = "猫狗鱼虎"
"""They sound like none of the others."""
WORDS = ["there", "their", "see", "sea", "star", "the", "don't", "dont", "so", "sew"]
FOREIGN_WORDS = ["zebra", "yellow"]

recited = st.text(CHARACTERS, max_size=14)
expected_texts = st.text(CHARACTERS, min_size=1, max_size=14)
spoken_words = st.lists(st.sampled_from(WORDS), max_size=10)
written = st.text(st.sampled_from(CHARACTERS + "乾著裡〇，。\n") | st.characters(codec="utf-8"))


def cost(found: Evaluation) -> float:
    return sum(error.cost for error in found.errors)


def least_mistakes(expected_text: str, said_text: str) -> float:
    """The definition of the score, computed by the textbook's table."""
    expected, said = (text.units for text in fitted(expected_text, said_text, None))
    sounds = sound_keys(expected, said)

    def between(one: str, other: str) -> float:
        if spelling_of(one) == spelling_of(other):
            return 0
        return 0.5 if sounds[one] == sounds[other] else 1

    row: Sequence[float] = range(len(said) + 1)
    for number, unit in enumerate(expected, 1):
        last, row = row, [number]
        for column, other in enumerate(said, 1):
            row.append(
                min(
                    last[column] + 1,
                    row[column - 1] + 1,
                    last[column - 1] + between(unit, other),
                )
            )
    return row[-1]


@given(expected_texts)
def test_a_text_recited_as_it_is_gets_a_hundred(text: str) -> None:
    found = compare(text, text)
    assert (found.score, found.passed, found.errors) == (100, True, ())
    assert is_recitation(text, text)[1] == similarity(text, text) == 1


@given(written, written)
def test_any_two_texts_are_compared_or_refused(text: str, said: str) -> None:
    try:
        found = compare(text, said)
    except EmptyTextError:
        assert normalize(text) == ""
        return
    assert 0 <= found.score <= 100
    assert compare(text, said) == found
    assert 0 <= similarity(text, said) <= 1
    assert len(memory_tips(found.errors, text)) <= MAX_TIPS


@given(written)
@example("薴")
@example("看著乾坤乾為天")
@example("1st 2024年 3.5% 1,000 to-day")
def test_normalising_again_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(expected_texts)
def test_who_says_nothing_gets_nothing(text: str) -> None:
    found = compare(text, "")
    assert (found.score, found.passed) == (0, False)
    (error,) = found.errors
    assert (error.type, error.expected, error.position) == ("missing", normalize(text), 0)


@given(expected_texts, recited)
@example("明名明", "鸣明")
def test_the_mistakes_cost_the_least_that_they_can(text: str, said: str) -> None:
    found = compare(text, said)
    assert cost(found) == least_mistakes(text, said)
    assert found.score == round(max(0, 100 * (1 - cost(found) / len(text))), 2)


@given(spoken_words, spoken_words)
def test_the_mistakes_in_english_cost_the_least_that_they_can(
    text: list[str], said: list[str]
) -> None:
    assume(text)
    found = compare(" ".join(text), " ".join(said))
    assert cost(found) == least_mistakes(" ".join(text), " ".join(said))


@given(expected_texts, recited, st.data())
def test_saying_something_more_that_is_wrong_never_raises_the_score(
    text: str, said: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(said)))
    stranger = data.draw(st.sampled_from(FOREIGN))
    before = compare(text, said).score
    assert compare(text, said[:place] + stranger + said[place:]).score <= before
    if said:
        assert compare(text, said[:place] + stranger + said[place + 1 :]).score <= before


@given(st.data(), st.lists(st.sampled_from(WORDS), min_size=1, max_size=10), spoken_words)
def test_another_word_more_never_raises_the_score(
    data: st.DataObject, text: list[str], said: list[str]
) -> None:
    place = data.draw(st.integers(0, len(said)))
    more = [*said[:place], data.draw(st.sampled_from(FOREIGN_WORDS)), *said[place:]]
    before = compare(" ".join(text), " ".join(said)).score
    assert compare(" ".join(text), " ".join(more)).score <= before


@given(expected_texts, st.data())
def test_leaving_out_more_of_a_text_never_raises_the_score(text: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(text))))
    left = set(range(len(text)))
    score = 100.0
    for place in order:
        left.remove(place)
        found = compare(text, "".join(text[index] for index in sorted(left))).score
        assert found <= score
        score = found
    assert score == 0


@given(expected_texts, recited)
def test_each_error_stands_where_it_says(text: str, said: str) -> None:
    found = compare(text, said)
    units = found.normalized.expected
    last = 0
    for error in found.errors:
        assert last <= error.position <= len(units)
        last = error.position + len(error.expected)
        assert units[error.position : last] == error.expected
        assert error.actual in found.normalized.actual
        assert bool(error.expected) == (error.type != "extra")
        assert bool(error.actual) == (error.type != "missing")
        if error.type in ("wrong", "homophone", "swapped"):
            assert len(error.expected) == len(error.actual) and error.expected != error.actual


@given(expected_texts, recited)
def test_the_errors_turn_the_text_into_what_was_said(text: str, said: str) -> None:
    found = compare(text, said)
    rebuilt, last = "", 0
    for error in found.errors:
        rebuilt += text[last : error.position] + error.actual
        last = error.position + len(error.expected)
    assert rebuilt + text[last:] == said


@given(st.lists(st.text(CHARACTERS, min_size=1, max_size=5), min_size=2, max_size=2, unique=True))
def test_two_runs_exchanged_cost_no_more_than_the_shorter_one_twice(runs: list[str]) -> None:
    first, second = runs
    found = compare(first + second, second + first)
    assert cost(found) <= 2 * min(len(first), len(second))
