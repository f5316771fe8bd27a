"""How numbers in digits are said."""

import pytest

from mcp_tools.recitation import Language, normalize
from mcp_tools.recitation.units import number_readings


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0", "零"),
        ("10", "十"),
        ("15", "十五"),
        ("110", "一百一十"),
        ("205", "二百零五"),
        ("1010", "一千零一十"),
        ("3,000", "三千"),
        ("10001", "一万零一"),
        ("101000", "十万一千"),
        ("100000001", "一亿零一"),
        ("007", "零零七"),
        ("0.5", "零点五"),
        ("2024年", "二零二四年"),
        ("500年", "五百年"),
        ("12%", "百分之十二"),
        ("第3", "第三"),
    ],
)
def test_chinese_reads_a_number_as_its_cardinal(written: str, said: str) -> None:
    assert normalize(f"有{written}", "zh") == f"有{said}"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0", "zero"),
        ("13", "thirteen"),
        ("42", "forty two"),
        ("101", "one hundred one"),
        ("1,000,017", "one million seventeen"),
        ("007", "zero zero seven"),
        ("2.50", "two point five zero"),
        ("1st", "first"),
        ("12th", "twelfth"),
        ("20th", "twentieth"),
        ("103rd", "one hundred third"),
        ("8%", "eight percent"),
    ],
)
def test_english_reads_a_number_as_its_cardinal_or_ordinal(written: str, said: str) -> None:
    assert normalize(f"the {written}", "en") == f"the {said}"


@pytest.mark.parametrize(
    ("written", "language", "said"),
    [
        ("2", "zh", "两"),
        ("2200", "zh", "两千二百"),
        ("2200", "zh", "两千两百"),
        ("13", "zh", "一十三"),
        ("110", "zh", "一一零"),
        ("110", "zh", "幺幺零"),
        ("2024年", "zh", "二千零二十四年"),
        ("1905", "en", "nineteen oh five"),
        ("1900", "en", "nineteen hundred"),
        ("100", "en", "a hundred"),
        ("100", "en", "hundred"),
        ("1005", "en", "one thousand and five"),
        ("42", "en", "four two"),
    ],
)
def test_what_people_also_say_is_a_reading(written: str, language: Language, said: str) -> None:
    separator = " " if language == "en" else ""
    assert said in [separator.join(reading) for reading in number_readings(written, language)]


def test_a_number_beyond_names_is_read_digit_by_digit() -> None:
    assert normalize("1" * 16, "zh") == "一" * 16
    assert normalize("1" * 16, "en") == " ".join(["one"] * 16)
