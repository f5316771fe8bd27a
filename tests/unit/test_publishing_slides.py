"""Slides are made of an article's structure, and nothing falls off them."""

from io import BytesIO
from typing import Any

from pptx import Presentation

from mcp_tools.publishing.html import make_page
from mcp_tools.publishing.slides import make_slides
from mcp_tools.publishing.typesetting import wrap
from tests.support.pages import PNG

DECK = """<h1>季度总结</h1><p>本季度三件大事。</p>
<h2>议程</h2><ol start="3"><li>成果</li><li>指标<ul><li>收入 <b>增长</b></li></ul></li></ol>
<aside>先说一分钟。</aside>
<h2>图</h2><figure><img src="a.png" alt="收入图"><figcaption>图 1</figcaption></figure>
<h2>坏图</h2><img src="b.png" alt="坏的">
<h2>谢谢</h2>"""
BROKEN = PNG[:20]


def slides_of(written: str) -> list[Any]:
    page = make_page(written, resolve={"a.png": PNG, "b.png": BROKEN}.get)
    return list(Presentation(BytesIO(make_slides(page))).slides)


def texts(slide: Any) -> list[str]:
    return [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame and shape.text]


def test_letters_without_a_width_are_one_word() -> None:
    word = "a" + "\u0301" * 200_000
    assert wrap(f"{word} b", 40) == [f"{word} b"]


def test_each_heading_begins_a_slide() -> None:
    cover, agenda, chart, broken, end = slides_of(DECK)
    assert texts(cover) == ["季度总结", "本季度三件大事。"]
    assert texts(agenda) == ["议程", "成果\n指标\n收入 增长", "2"]
    assert agenda.notes_slide.notes_text_frame.text == "先说一分钟。"
    body = agenda.placeholders[1].text_frame.paragraphs
    assert [paragraph.level for paragraph in body] == [0, 0, 1]
    assert [run.font.bold for run in body[2].runs] == [False, True]
    assert 'startAt="3"' in body[0]._p.xml and "buChar" in body[2]._p.xml
    assert texts(chart) == ["图", "图 1", "3"]
    assert [shape.image.blob for shape in chart.shapes if hasattr(shape, "image")] == [PNG]
    assert texts(broken) == ["坏图", "[坏的]", "4"]
    assert texts(end) == ["谢谢"]


def test_long_sections_go_on_and_lose_nothing() -> None:
    items = [f"第 {number} 点：{'很长的说明，' * 12}" for number in range(30)]
    rows = [[f"行 {number}", "x" * 40, "说明文字" * 8] for number in range(40)]
    slides = slides_of(
        f"<h1>长</h1><h2>列表</h2><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
        "<h2>表</h2><table><tr><th>甲</th><th>乙</th><th>丙</th></tr>"
        + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        + f"</table><h2>段</h2><p>{'一句话，没有别的。' * 300}</p>"
    )
    listed, tabled = [], []
    for slide in slides[1:]:
        for shape in slide.shapes:
            assert (
                shape.top + shape.height
                <= slide.part.package.presentation_part.presentation.slide_height
            )
            if shape.has_table:
                head, *body = [[cell.text for cell in row.cells] for row in shape.table.rows]
                assert head == ["甲", "乙", "丙"]
                tabled += body
            elif shape.is_placeholder and shape.placeholder_format.idx == 1:
                listed += shape.text_frame.text.split("\n")
    assert listed[:30] == items
    assert "".join(listed[30:]) == "一句话，没有别的。" * 300
    assert tabled == rows
    titles = [slide.shapes.title.text for slide in slides]
    lists = [title for title in titles if title.startswith("列表")]
    assert lists[0] == f"列表 (1/{len(lists)})" and len(lists) > 2
