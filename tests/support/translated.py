"""Documents with formatting, made by the libraries that people make them with."""

import io
from pathlib import Path

import docx
import openpyxl
import pptx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Pt, RGBColor
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.table import Table as SheetTable
from openpyxl.worksheet.worksheet import Worksheet
from PIL import Image as Picture
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Image, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

LINK = "https://example.com/report"
SENTENCE = "The quick brown fox jumps over the lazy dog and goes <b>home</b> to rest. "


def word_report(path: Path) -> None:
    """Header, heading, mixed runs with a link, list, table with a merged cell, picture."""
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Annual header"
    document.add_heading("The annual report", 1)
    paragraph = document.add_paragraph("This year was ")
    paragraph.add_run("very good").bold = True
    run = paragraph.add_run(" and quite surprising")
    run.italic = True
    run.font.color.rgb = RGBColor(255, 0, 0)
    paragraph.add_run(". See ")
    paragraph._p.append(_hyperlink(document, "our site"))
    paragraph.add_run(" for more of these numbers.")
    document.add_paragraph("First item", style="List Bullet")
    table = document.add_table(rows=2, cols=3)
    table.style = "Light Grid Accent 1"
    for column, text in enumerate(["Region", "Revenue", "Remark"]):
        table.cell(0, column).text = text
    table.cell(1, 0).merge(table.cell(1, 1)).text = "North | South"
    table.cell(1, 2).text = "1200"
    document.add_picture(picture(), width=Inches(1))
    centered = document.add_paragraph()
    centered.alignment = WD_ALIGN_PARAGRAPH.CENTER
    centered.add_run("中文 and large").font.size = Pt(20)
    document.save(str(path))


def workbook(path: Path) -> None:
    """Two sheets: styles, formulas across sheets, an Excel table, merged cells, chart, comment."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert isinstance(sheet, Worksheet)
    sheet.title = "Sales data"
    for row in (["Region", "Amount"], ["North", 100], ["South", 200.5]):
        sheet.append(row)
    for cell in sheet[1]:
        cell.font = Font(bold=True, color="FFFFFF")
        cell.fill = PatternFill("solid", fgColor="4472C4")
    sheet.add_table(SheetTable(displayName="Sales", ref="A1:B3"))
    sheet["B5"] = "=SUM(Sales[Amount])"
    sheet["A7"] = "Merged title"
    sheet.merge_cells("A7:B7")
    sheet.column_dimensions["A"].width = 33
    sheet["A2"].comment = Comment("Check this", "Ann")
    chart = BarChart()
    chart.title = "Sales by region"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E2")  # type: ignore[call-arg]
    summary = book.create_sheet("Summary")
    summary["A1"] = "North"
    summary["B1"] = "='Sales data'!B5*2"
    book.save(path)


def pdf_report(path: Path, *, password: str | None = None) -> None:
    """Two pages: title, paragraph of several lines, ruled table, picture, coloured remark."""
    styles = getSampleStyleSheet()
    ruled = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    table = Table([["Region", "Revenue"], ["North", "100"], ["South", "200"]], style=ruled)
    story = [
        Paragraph("The annual report", styles["Title"]),
        Paragraph(SENTENCE * 5, styles["BodyText"]),
        Spacer(1, 10),
        table,
        Image(picture(), 120, 60),
        Paragraph("<font color='red'>Red remark</font>", styles["BodyText"]),
        PageBreak(),
        Paragraph("Second page", styles["Heading1"]),
    ]
    SimpleDocTemplate(str(path), encrypt=password).build(story)


def presentation(path: Path) -> None:
    """One slide with a title, levels, a table and notes."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Strategy"
    frame = slide.placeholders[1].text_frame
    frame.text = "First"
    deeper = frame.add_paragraph()
    deeper.text, deeper.level = "Deeper", 1
    cells = slide.shapes.add_table(1, 2, 0, 0, Inches(3), Inches(1)).table
    cells.cell(0, 0).text, cells.cell(0, 1).text = "Key", "Value"
    slide.notes_slide.notes_text_frame.text = "Say hello"
    deck.save(str(path))


def picture() -> io.BytesIO:
    """A red PNG."""
    data = io.BytesIO()
    Picture.new("RGB", (120, 60), (200, 30, 30)).save(data, "PNG")
    data.seek(0)
    return data


def _hyperlink(document: "docx.document.Document", text: str) -> object:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), document.part.relate_to(LINK, kind, is_external=True))
    run = OxmlElement("w:r")
    style = OxmlElement("w:rPr")
    style.append(OxmlElement("w:u"))
    run.append(style)
    content = OxmlElement("w:t")
    content.text = text
    run.append(content)
    link.append(run)
    return link
