"""Whatever facts are said, in whatever way, may be written; others may not."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.resume.facts import Known, unsaid
from mcp_tools.resume.facts.numbers import numbers_said

TODAY = date(2026, 11, 21)
MONTHS = "January February March April May June July August September October November December"

years = st.integers(1970, 2026)
months = st.integers(1, 12)
ways_to_say_a_month = st.sampled_from(
    [
        lambda y, m: f"{y}年{m}月",
        lambda y, m: f"{y}-{m:02d}",
        lambda y, m: f"{y}.{m}",
        lambda y, m: f"{y}/{m:02d}",
        lambda y, m: f"{m:02d}/{y}",
        lambda y, m: f"{MONTHS.split()[m - 1]} {y}",
        lambda y, m: f"{MONTHS.split()[m - 1][:3]}. {y}",
        lambda y, m: f"in {MONTHS.split()[m - 1]} of {y}",
    ]
)
around = st.sampled_from(["{}", "从{}开始", "since {}, roughly", "我在{}入职腾讯", "({})"])
prose = st.sampled_from(["提升了{}", "improved it by {}", "{} in all", "达到{}水平"])


def known(text: str) -> Known:
    return Known.of([text], today=TODAY)


@given(years, months, ways_to_say_a_month, around)
def test_a_month_that_was_said_may_be_written(year, month, say, around) -> None:  # type: ignore[no-untyped-def]
    text = around.format(say(year, month))
    assert unsaid("work", "startDate", f"{year}-{month:02d}", known(text)) == []
    assert unsaid("work", "startDate", str(year), known(text)) == []


@given(years, years, months, ways_to_say_a_month)
def test_another_year_may_not(year, other, month, say) -> None:  # type: ignore[no-untyped-def]
    wrong = f"{other}-{month:02d}"
    found = unsaid("work", "startDate", wrong, known(say(year, month)))
    assert found == ([] if year == other else [wrong])


@given(years, months, months, ways_to_say_a_month)
def test_another_month_may_not(year, month, other, say) -> None:  # type: ignore[no-untyped-def]
    wrong = f"{year}-{other:02d}"
    found = unsaid("work", "startDate", wrong, known(say(year, month)))
    assert found == ([] if month == other else [wrong])


@given(st.integers(2, 99), prose, prose)
def test_a_percentage_may_be_put_in_other_words(number: int, said: str, written: str) -> None:
    text = said.format(f"{number}%")
    assert unsaid("work", "summary", written.format(f"{number} %"), known(text)) == []
    assert unsaid("work", "summary", written.format(f"{number} percent"), known(text)) == []


@given(st.integers(2, 99), st.integers(2, 99), prose)
def test_another_percentage_may_not(number: int, other: int, written: str) -> None:
    found = unsaid("work", "summary", written.format(f"{other}%"), known(f"提升了{number}%"))
    assert found == ([] if number == other else [f"{other}%"])


@given(st.integers(1, 900), st.sampled_from(["{}万", "{}0k", "{}0,000"]))
def test_units_of_both_languages_agree(number: int, written: str) -> None:
    text = f"{number}万用户"
    assert unsaid("work", "summary", f"服务 {written.format(number)} 用户", known(text)) == []


@given(st.text("0123456789一二三四五六七八九十百千万亿%.,kM 年月abé'’/-", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    assert all(isinstance(value, float) for value in numbers_said(text))
    assert all(fact for fact in unsaid("work", "summary", text, known("nothing")))


@given(st.text(max_size=200), st.sampled_from(["name", "url", "phone", "startDate"]))
def test_what_was_said_word_for_word_is_never_invented(text: str, field: str) -> None:
    assert unsaid("work", field, text, known(text)) == []
