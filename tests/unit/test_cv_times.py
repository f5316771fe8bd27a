"""Times in messages: spans, single dates and their roles."""

from datetime import date

import pytest

from agents.cv.dialogue.understanding.when import find_whens

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2021年7月到2023年6月", "2021-07", "2023-06"),
        ("21年到23年", "2021", "2023"),
        ("2019/3-2021/6", "2019-03", "2021-06"),
        ("2019.03-2021.06", "2019-03", "2021-06"),
        ("2019-03-2021-06", "2019-03", "2021-06"),
        ("2019-2021", "2019", "2021"),
        ("2019–21", "2019", "2021"),
        ("2015~2019年", "2015", "2019"),
        ("2019年3月-6月", "2019-03", "2019-06"),
        ("Mar 2019 – Jun 2021", "2019-03", "2021-06"),
        ("March to June 2021", "2021-03", "2021-06"),
        ("from Jan 2018 to Dec 2020", "2018-01", "2020-12"),
        ("between 2018 and 2020", "2018", "2020"),
        ("09/2015 - 06/2019", "2015-09", "2019-06"),
        ("从2021年7月1日至2023年6月30日", "2021-07-01", "2023-06-30"),
        ("去年3月到今年6月", "2025-03", "2026-06"),
    ],
)
def test_a_span_has_a_start_and_an_end(text: str, start: str, end: str) -> None:
    (when,) = find_whens(text, today=TODAY)
    assert (when.start, when.end, when.open) == (start, end, False)
    assert (when.begin, when.stop) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2021年7月至今", "2021-07"),
        ("2021.07到现在", "2021-07"),
        ("2020年起", "2020"),
        ("since 2020", "2020"),
        ("Jan 2020 - present", "2020-01"),
        ("2020 to now", "2020"),
        ("2020 onwards", "2020"),
    ],
)
def test_a_span_can_last_until_now(text: str, start: str) -> None:
    (when,) = find_whens(text, today=TODAY)
    assert (when.start, when.end, when.open) == (start, None, True)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("2019年3月入职，2021年6月离职", ["start", "end"]),
        ("joined in March 2021 and left in May 2023", ["start", "end"]),
        ("graduated in 2018, started in 2014", ["end", "start"]),
        ("2021年获奖", [None]),
    ],
)
def test_the_words_around_a_single_date_tell_its_role(text: str, roles: list[str | None]) -> None:
    assert [when.role for when in find_whens(text, today=TODAY)] == roles


@pytest.mark.parametrize("text", ["2021年13月", "2021-13", "2021年2月30日"])
def test_a_date_that_does_not_exist_is_marked(text: str) -> None:
    assert [when.invalid for when in find_whens(text, today=TODAY)] == [True]


@pytest.mark.parametrize("text", ["10年经验", "Chapter 3", "May I add this?", "3 to 5 people"])
def test_other_numbers_and_words_are_no_dates(text: str) -> None:
    assert find_whens(text, today=TODAY) == []
