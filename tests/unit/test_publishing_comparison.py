"""Two versions of an article compared, and a page taken apart and made again."""

from time import perf_counter

import pytest

from mcp_tools.publishing.comparison import compare
from mcp_tools.publishing.html import make_page
from mcp_tools.publishing.unpacking import unpack
from tests.support.pages import PNG

ARTICLE = """<h1>Otters</h1><p>The sea otter lives in the sea, all its life long.</p>
<h2>Fur</h2><p>Its fur is very dense, the densest of all animals.</p><p>It is brown.</p>
<h2>Numbers</h2><table><tr><th>Year</th><th>Otters</th></tr><tr><td>2022</td><td>2841</td></tr></table>
<figure><img src="chart.png" alt="Counts"><figcaption>By year</figcaption></figure>
<p>See <a href="counts.xlsx">the table</a> and <a href="https://example.org/a?b=1&amp;c=2">this</a>.</p>
<figure><svg viewBox="0 0 10 10"><title>A dot</title><circle cx="5" cy="5" r="4"/></svg></figure>"""


def page(written: str, picture: bytes = PNG) -> str:
    files = {"chart.png": picture}
    return make_page(written, resolve=files.get, files=["counts.xlsx", "chart.png"]).html


def test_changes_are_told_by_section() -> None:
    after = ARTICLE.replace("very dense, the densest of all animals", "dense")
    after = after.replace("<p>It is brown.</p>", "").replace("2841", "2962")
    after = after.replace("<h2>Numbers", "<h2>Food</h2><p>They like clams.</p><h2>Numbers")
    changes = compare(page(ARTICLE), page(after))
    told = [(one.kind, one.section, one.before, one.after) for one in changes]
    assert told == [
        (
            "changed",
            "Fur",
            "Its fur is very dense, the densest of all animals.",
            "Its fur is dense.",
        ),
        ("added", "Food", "", "Food"),
        ("added", "Food", "", "They like clams."),
        ("removed", "Fur", "It is brown.", ""),
        ("changed", "Numbers", "2022 | 2841", "2022 | 2962"),
    ]
    assert changes[0].marked == "Its fur is [-very -]dense[-, the densest of all animals-]."


def test_chinese_is_compared_by_characters() -> None:
    before, after = (
        "<h1>海獭</h1><p>海獭的毛皮非常浓密。</p>",
        "<h1>海獭</h1><p>海獭的毛皮很密。</p>",
    )
    (change,) = compare(page(before), page(after))
    assert change.marked == "海獭的毛皮[-非常浓-]{+很+}密。"


def test_another_picture_under_the_same_name_is_a_change() -> None:
    assert compare(page(ARTICLE), page(ARTICLE)) == []
    (change,) = compare(page(ARTICLE), page(ARTICLE, PNG + b"\0"))
    assert change.after == "[Counts]"


def test_long_articles_that_share_nothing_are_compared_in_time() -> None:
    one = "".join(f"<p>old {number}</p>" for number in range(20_000))
    two = "".join(f"<p>{number} new</p>" for number in range(20_000))
    began = perf_counter()
    assert len(compare(page(one), page(two))) >= 20_000
    assert perf_counter() - began < 20


def test_a_page_that_is_taken_apart_makes_the_same_page() -> None:
    first = page(ARTICLE)
    taken = unpack(first, "en", files={"chart.png": PNG, "counts.xlsx": b"PK"}, folder="data/p")
    assert "base64" not in taken.html
    assert 'src="chart.png"' in taken.html
    assert 'href="counts.xlsx"' in taken.html
    (drawing,) = taken.pictures
    assert drawing.endswith(".svg")
    files = {"chart.png": PNG, **taken.pictures}
    again = make_page(taken.html, resolve=files.get, files=["counts.xlsx"]).html
    assert compare(first, again) == []
    assert again.split() == first.split()


@pytest.mark.parametrize("hostile", ["<article>" * 400, "<p>" + "a " * 100_000])
def test_any_page_can_be_compared_with_itself(hostile: str) -> None:
    made = page(f"<h1>x</h1><p>y</p>{hostile}")
    assert compare(made, made) == []
