"""What models write becomes a page that runs nothing and needs nothing from elsewhere."""

from base64 import b64decode, b64encode

import pytest

from mcp_tools.publishing.errors import NothingToPublishError, TooIntricateError
from mcp_tools.publishing.html import make_page
from mcp_tools.publishing.images import MAX_IMAGE_BYTES, names_of
from mcp_tools.publishing.source import html_of
from tests.support.pages import PNG, faults, svg_faults

CHART = b"""<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"
"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
viewBox="0 0 9 8">
<style>*{stroke-linejoin: round}</style><defs><path id="p" d="M0 0"/></defs>
<use xlink:href="#p" clip-path="url(#c)"/><script>alert(1)</script></svg>"""


@pytest.mark.parametrize(
    "written",
    [
        "<!doctype html><html><body><h1>Tea</h1><p>It is green.</p></body></html>",
        "Sure!\n\n```html\n<html><body><h1>Tea</h1><p>It is green.</p></body></html>\n```\nBye!",
        "```html\n<h1>Tea</h1>\n<p>It is green.</p>",
        "Here it is:\n<h1>Tea</h1>\n<p>It is green.</p>\n<ul><li>yes</li></ul>\nBye",
        "# Tea\n\nIt is green.\n",
        "```markdown\n# Tea\n\nIt is green.\n```",
        "<think>Let me <b>think</b></think># Tea\n\nIt is green.",
        "<p>It is green.</p><title>Tea</title>",
    ],
)
def test_article_is_found_in_whatever_is_around_it(written: str) -> None:
    page = make_page(written)
    assert (page.title, page.summary) == ("Tea", "It is green.")
    assert "<h1>Tea</h1>" in page.body
    assert not any(word in page.body for word in ("Sure", "Bye", "Here it is", "think", "```"))


def test_example_of_html_in_a_tutorial_stays_an_example() -> None:
    page = make_page(
        "# Pages\n\nWrite:\n\n```html\n<!doctype html>\n<p>hi</p>\n```\n\n## Next\n\nx"
    )
    assert page.title == "Pages"
    assert "&lt;!doctype html&gt;\n&lt;p&gt;hi&lt;/p&gt;" in page.body
    assert "<h2>Next</h2>" in page.body


def test_document_that_was_cut_off_is_still_shown() -> None:
    assert make_page("```html\n<html><body><h1>Tea</h1><p>It is gr").summary == "It is gr"


def test_images_go_into_the_page_by_what_they_are() -> None:
    files = {"charts/a.png": PNG, "c.svg": CHART, "b.png": b"no image"}
    page = make_page(
        '<h1>图表</h1><p>如下。</p><img src="output/charts/a.png" alt="甲">'
        '<img src="c.svg"><img src="b.png"><img src="none.png" alt="乙">'
        '<img src="https://x.example/t.png" alt="丙">',
        resolve=files.get,
    )
    assert f'src="data:image/png;base64,{b64encode(PNG).decode()}" alt="甲"' in page.body
    drawing = b64decode(page.body.partition("data:image/svg+xml;base64,")[2].partition('"')[0])
    assert svg_faults(drawing) == []
    assert b'href="#p"' in drawing and b"stroke-linejoin" in drawing and b'width="9"' in drawing
    assert "[无法显示的图片：b.png]" in page.body
    assert "[找不到图片：none.png] 乙" in page.body
    assert ">丙</span>" in page.body
    assert "x.example" not in page.html
    assert faults(page.html) == []


def test_large_images_are_left_out_and_said() -> None:
    page = make_page("![a](a.png)", resolve=lambda _: PNG + bytes(MAX_IMAGE_BYTES))
    assert "[This image is too large: a.png] a" in page.body


def test_drawing_in_the_page_becomes_an_image_of_it() -> None:
    page = make_page(
        '<h1>x</h1><svg viewBox="0 0 4 2" aria-label="A line"><path d="M0 0" onclick="x()"/>'
        "<text>a&nbsp;b</text><svg><g/></svg></svg><p>after</p>"
    )
    assert 'alt="A line"' in page.body
    drawing = b64decode(page.body.partition("base64,")[2].partition('"')[0])
    assert svg_faults(drawing) == []
    assert "<text>a\u00a0b</text>" in drawing.decode()
    assert "<p>after</p>" in page.body


def test_links_lead_to_the_web_the_page_and_the_files_beside_it() -> None:
    page = make_page(
        '<h1>x</h1><p><a href="https://a.example/?x=1&y=2" onclick="x()">web</a>'
        '<a href="#s1">1</a>'
        '<a href="output/my data.xlsx">file</a><a href="/etc/passwd">no</a>'
        '<a href="java\tscript:alert(1)">no</a></p><h2>Sources</h2><ol><li id="s1">S</li></ol>',
        files=["my data.xlsx"],
    )
    rel = 'rel="noopener noreferrer nofollow"'
    assert f'<a href="https://a.example/?x=1&amp;y=2" target="_blank" {rel}>web</a>' in page.body
    assert f'<a href="#s1" {rel}>1</a>' in page.body
    assert f'<a href="files/my%20data.xlsx" {rel}>file</a>' in page.body
    assert page.body.count("<span>no</span>") == 2
    assert '<h2>Sources</h2><ol><li id="s1">S</li></ol>' in page.body


def test_style_keeps_what_lays_out_and_nothing_that_loads_or_covers() -> None:
    page = make_page(
        '<table><tr><td style="text-align:right; position:fixed; background:url(//x)">1</td></tr>'
        "</table>"
    )
    assert '<td style="text-align: right">1</td>' in page.body


@pytest.mark.parametrize(
    ("written", "language"),
    [
        ('<html lang="en"><p>新能源汽车市场正在增长。</p>', "zh"),
        ('<html lang="zh-TW"><p>新能源汽車市場正在增長。</p>', "zh-TW"),
        ("<p>これはテストです。とても良い。</p>", "ja"),
        ("<p>한국어 문장입니다.</p>", "ko"),
        ('<html lang="fr"><p>Bonjour à tous.</p>', "fr"),
        ('<html lang="&quot;><script>"><p>Plain words here.</p>', "en"),
    ],
)
def test_language_is_that_of_the_text(written: str, language: str) -> None:
    assert make_page(written).language == language


def test_title_and_summary_come_from_what_the_article_says() -> None:
    page = make_page(
        "<title>Not this</title><h1>Wind &amp; <em>sun</em></h1><p>2026-05-04</p>"
        f"<p>{'The wind blew more often than in any year before. ' * 9}<sup>[1]</sup></p>"
    )
    assert page.title == "Wind & sun"
    assert page.summary.startswith("The wind blew") and len(page.summary) <= 300
    assert page.summary.endswith("before.")
    assert "<title>Wind &amp; sun</title>" in page.html


def test_article_without_a_title_gets_one() -> None:
    assert make_page("<h2>Only this</h2><p>a</p>").body == "<h1>Only this</h1><p>a</p>"
    page = make_page("<p>没有标题的文章。</p>", title="写一篇文章")
    assert page.body.startswith("<h1>写一篇文章</h1>")
    assert make_page("<p>没有标题的文章。还有一句。</p>").title == "没有标题的文章"
    assert make_page("<img src=x>", resolve=lambda _: PNG).title == "Untitled"


def test_same_input_makes_the_same_page() -> None:
    written = '# A\n\n![x](x.svg)\n\n<td style="width:10%">b'
    assert make_page(written, resolve=lambda _: CHART) == make_page(
        written, resolve=lambda _: CHART
    )


@pytest.mark.parametrize("written", ["", "   ", "<script>alert(1)</script>", "```html\n\n```"])
def test_empty_article_is_refused(written: str) -> None:
    with pytest.raises(NothingToPublishError):
        make_page(written)


@pytest.mark.parametrize(
    "written",
    [
        "<div>" * 100_000 + "x",
        "".join(f"<b id={i}><p>" for i in range(2000)) + "x",
        "![" * 2_000_000,
    ],
)
def test_what_would_take_minutes_is_refused(written: str) -> None:
    with pytest.raises(TooIntricateError):
        make_page(written)


@pytest.mark.parametrize(
    "hostile",
    [
        "`" * 200_000,
        "<svg>" + "<title" * 100_000 + "</svg>",
        "<html</html" * 50_000,
        "<title></title <" * 50_000,
        f"<title>{'<' * 200_000}</title>",
    ],
)
def test_no_text_keeps_a_pattern_busy_for_hours(hostile: str) -> None:
    assert make_page(f"<html><body><h1>Tea</h1><p>Green.</p>\n{hostile}").title == "Tea"
    assert html_of(f"Tea\n{hostile}")
    assert html_of(f"```md\nTea\n```{' ' * 200_000}x")


def test_an_image_that_is_named_often_is_cleaned_once() -> None:
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<script/>" * 300_000 + b"</svg>"
    images = "".join(f"<img src=a.svg?{number}>" for number in range(1_000))
    assert make_page(f"<p>Tea</p>{images}", resolve={"a.svg": drawing}.get).title == "Tea"


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ("./a%20b.png?v=1#x", ["a b.png"]),
        ("output/charts/a.png", ["output/charts/a.png", "charts/a.png"]),
        ("sandbox:/box/output/a.png", ["box/output/a.png", "a.png"]),
        ("C:\\box\\output\\a.png", ["C:/box/output/a.png", "a.png"]),
        ("../data/a.png", ["data/a.png"]),
        ("../../etc/passwd", []),
        ("output/../../../x", []),
        ("", []),
    ],
)
def test_reference_names_files_below_the_workspace_only(reference: str, names: list[str]) -> None:
    assert names_of(reference) == names
