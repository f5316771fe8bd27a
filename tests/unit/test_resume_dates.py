"""Dates as people write them, as JSON Resume stores them."""

import pytest

from mcp_tools.resume import InvalidDateError, parse_date


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2021", "2021"),
        ("2021年", "2021"),
        ("21年", "2021"),
        ("98年3月", "1998-03"),
        ("2021年7月", "2021-07"),
        ("2021年7月1日", "2021-07-01"),
        ("2021年十二月", "2021-12"),
        ("二零二一年三月", "2021-03"),
        ("2021-07", "2021-07"),
        ("2021.07", "2021-07"),
        ("2021/7", "2021-07"),
        ("2021-07-01", "2021-07-01"),
        ("202107", "2021-07"),
        ("07/2021", "2021-07"),
        ("Jul 2021", "2021-07"),
        ("july, 2021", "2021-07"),
        ("Sept. 2021", "2021-09"),
        ("July 1st, 2021", "2021-07-01"),
        ("1 July 2021", "2021-07-01"),
        ("至今", None),
        ("present", None),
    ],
)
def test_a_written_date_is_read(written: str, iso: str | None) -> None:
    assert parse_date(written) == iso


@pytest.mark.parametrize(
    "written", ["2021-13", "2021年2月30日", "soon", "", "10年经验", "2021-07-45"]
)
def test_what_is_no_date_is_refused_with_the_accepted_forms(written: str) -> None:
    with pytest.raises(InvalidDateError) as refusal:
        parse_date(written)
    assert "2021-07" in refusal.value.message("en")
    assert "2021年7月" in refusal.value.message("zh")
