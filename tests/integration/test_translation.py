"""Documents are translated round by round by the tools of the agent; their layout is kept."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pdfplumber
import pytest
from google.adk.tools.tool_context import ToolContext
from openpyxl.worksheet.worksheet import Worksheet

from agents.researcher.translation import read_segments, write_translations
from oda.workspace.workspace import Workspace
from tests.support.tool_calls import tool_call
from tests.support.translated import LINK, pdf_report, word_report, workbook

pytestmark = pytest.mark.sandbox

_WORD = re.compile(r"(?<![<\w/])[A-Za-z]+(?!>)")


def in_chinese(text: str) -> str:
    """Each word as 译 with its first letter; markers stay."""
    return _WORD.sub(lambda word: f"译{word[0][0]}", text)


@pytest.fixture
async def call(tmp_path: Path) -> AsyncIterator[tuple[ToolContext, Workspace]]:
    async with tool_call(tmp_path) as context_and_workspace:
        yield context_and_workspace


@pytest.fixture
def context(call: tuple[ToolContext, Workspace]) -> ToolContext:
    return call[0]


@pytest.fixture
def workspace(call: tuple[ToolContext, Workspace]) -> Workspace:
    return call[1]


async def translate(path: str, target: str, context: ToolContext) -> dict[str, Any]:
    """Do what a model does: read, translate, write, until nothing is left."""
    for _ in range(20):
        read = await read_segments(path, context)
        texts = {one["id"]: in_chinese(one["text"]) for one in read["segments"]}
        answer = await write_translations(path, target, texts, context)
        if answer["written"]:
            return answer
    raise AssertionError("it does not end")


async def test_a_word_document_keeps_runs_links_tables_pictures_and_headers(
    workspace: Workspace, context: ToolContext
) -> None:
    word_report(workspace.path / "input" / "a.docx")
    answer = await translate("input/a.docx", "output/a.docx", context)
    assert answer["written"] == ["output/a.docx", "output/a.preview.html"]
    new = docx.Document(str(workspace.path / "output" / "a.docx"))
    assert new.sections[0].header.paragraphs[0].text == "译A 译h"
    heading, mixed = new.paragraphs[:2]
    assert heading.style is not None
    assert (heading.text, heading.style.name) == ("译T 译a 译r", "Heading 1")
    assert mixed.text == "译T 译y 译w 译v 译g 译a 译q 译s. 译S 译o 译s 译f 译m 译o 译t 译n."
    bold = next(run for run in mixed.runs if run.bold)
    italic = next(run for run in mixed.runs if run.italic)
    assert (bold.text, italic.text) == ("译v 译g", "译a 译q 译s")
    assert str(italic.font.color.rgb) == "FF0000"
    [link] = mixed.hyperlinks
    assert (link.text, link.url) == ("译o 译s", LINK)
    [table] = new.tables
    assert [cell.text for cell in table.rows[0].cells] == ["译R", "译R", "译R"]
    assert [cell.text for cell in table.rows[1].cells] == ["译N | 译S", "译N | 译S", "1200"]
    assert len(new.inline_shapes) == 1
    large = new.paragraphs[-1]
    assert (large.text, large.alignment) == ("中文 译a 译l", 1)
    assert large.runs[0].font.size is not None and large.runs[0].font.size.pt == 20
    preview = await workspace.read("output/a.preview.html")
    assert "<h1>译T 译a 译r</h1>".encode() in preview
    assert b"data:image/png;base64," in preview


async def test_a_workbook_keeps_styles_formulas_tables_charts_and_widths(
    workspace: Workspace, context: ToolContext
) -> None:
    workbook(workspace.path / "input" / "a.xlsx")
    await translate("input/a.xlsx", "output/a.xlsx", context)
    new = openpyxl.load_workbook(workspace.path / "output" / "a.xlsx")
    assert new.sheetnames == ["译S 译d", "译S"]
    sheet = new["译S 译d"]
    assert isinstance(sheet, Worksheet)
    assert [cell.value for cell in sheet["A"]][:3] == ["译R", "译N", "译S"]
    assert (sheet["B2"].value, sheet["B3"].value) == (100, 200.5)
    assert sheet["A1"].font.bold and sheet["A1"].fill.fgColor.rgb == "004472C4"
    assert [column.name for column in sheet.tables["Sales"].tableColumns] == ["译R", "译A"]
    assert sheet["B5"].value == "=SUM(Sales[译A])"
    assert new["译S"]["B1"].value == "='译S 译d'!B5*2"
    assert sheet["A7"].value == "译M 译t"
    assert [str(area) for area in sheet.merged_cells.ranges] == ["A7:B7"]
    assert sheet.column_dimensions["A"].width == 33
    assert sheet["A2"].comment is not None and sheet["A2"].comment.text == "译C 译t"
    [chart] = sheet._charts  # type: ignore[attr-defined]
    assert chart.title.tx.rich.p[0].r[0].t == "译S 译b 译r"
    assert chart.series[0].val.numRef.f == "'译S 译d'!$B$2:$B$3"


async def test_a_pdf_keeps_pages_pictures_places_and_colours_and_loses_the_old_text(
    workspace: Workspace, context: ToolContext
) -> None:
    pdf_report(workspace.path / "input" / "a.pdf")
    answer = await translate("input/a.pdf", "output/a.pdf", context)
    assert answer["notes"] == []
    with (
        pdfplumber.open(workspace.path / "input" / "a.pdf") as old,
        pdfplumber.open(workspace.path / "output" / "a.pdf") as new,
    ):
        assert len(new.pages) == len(old.pages) == 2
        before, after = old.pages[0], new.pages[0]
        text = after.extract_text()
        assert "译T 译a 译r" in text
        assert not re.search(r"annual|quick|Region", "".join(char["text"] for char in after.chars))
        assert after.extract_tables() == [[["译R", "译R"], ["译N", "100"], ["译S", "200"]]]
        assert len(after.images) == len(before.images) == 1
        assert after.edges and len(after.edges) == len(before.edges)
        title_before, title_after = before.chars[0], after.search("译T 译a 译r")[0]["chars"][0]
        assert title_after["size"] == pytest.approx(title_before["size"])
        assert title_after["y0"] == pytest.approx(title_before["y0"], abs=4)
        red = after.search("译R 译r")[0]["chars"][0]
        assert red["non_stroking_color"] == (1, 0, 0)
        assert "译S 译p" in new.pages[1].extract_text()


async def test_what_is_translated_is_kept_and_half_a_document_can_be_had(
    workspace: Workspace, context: ToolContext
) -> None:
    word_report(workspace.path / "input" / "a.docx")
    read = await read_segments("input/a.docx", context)
    first = read["segments"][0]
    unknown = {first["id"]: "Eins", "document:999": "?"}
    refused = await write_translations("input/a.docx", "output/a.docx", unknown, context)
    assert "document:999" in refused["error"]["message"]
    kept = await write_translations("input/a.docx", "output/a.docx", {first["id"]: "Eins"}, context)
    assert (kept["left"], kept["written"]) == (read["total"] - 1, [])
    again = await read_segments("input/a.docx", context)
    assert first["id"] not in [one["id"] for one in again["segments"]]
    outside = await write_translations("input/a.docx", "input/b.docx", {}, context, finish=True)
    assert outside["error"]["code"] == "workspace_error"
    half = await write_translations("input/a.docx", "output/a.docx", {}, context, finish=True)
    assert half["notes"] == [f"{read['total'] - 1} of {read['total']} segments are not translated"]
    new = docx.Document(str(workspace.path / "output" / "a.docx"))
    assert new.paragraphs[0].text == "Eins"
    assert "very good" in new.paragraphs[1].text


async def test_documents_that_cannot_be_translated_say_why(
    workspace: Workspace, context: ToolContext
) -> None:
    pdf_report(workspace.path / "input" / "locked.pdf", password="secret")
    await workspace.write("input/a.docx", b"PK\x03\x04 no archive")
    for path, reason in {
        "input/locked.pdf": "protected by a password",
        "input/a.docx": "damaged or incomplete",
        "input/a.pptx": "cannot be translated",
    }.items():
        answer = await read_segments(path, context)
        assert reason in answer["error"]["message"]
