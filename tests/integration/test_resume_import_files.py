"""Resumes that people make in Word and other programs, in several layouts."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from docx import Document
from docx.enum.text import WD_TAB_ALIGNMENT
from docx.shared import Inches, Pt
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

from mcp_tools.resume.importing import import_resume
from tests.support.resume_facts import missed


def english_word_file() -> bytes:
    """Direct formatting, dates at a right tab, bullets of a list style, contact in the header."""
    document = Document()
    document.sections[0].header.paragraphs[0].text = "nora.lind@example.se | +46 70 555 0123"
    name = document.add_paragraph().add_run("Nora Lind")
    name.font.size, name.bold = Pt(24), True
    document.add_paragraph("Data Analyst")
    for heading, jobs in (
        (
            "Experience",
            [
                ("Klarna\tAug 2020 – Present", "Data Analyst", ["Built the weekly revenue report"]),
                ("IKEA\tJan 2017 – Jul 2020", "Junior Analyst", ["Forecast demand for 40 stores"]),
            ],
        ),
        ("Education", [("Lund University\t2013 – 2016", "B.Sc. in Statistics", [])]),
    ):
        document.add_paragraph().add_run(heading).bold = True
        for head, below, bullets in jobs:
            paragraph = document.add_paragraph()
            paragraph.paragraph_format.tab_stops.add_tab_stop(Inches(6), WD_TAB_ALIGNMENT.RIGHT)
            paragraph.add_run(head)
            document.add_paragraph().add_run(below).italic = True
            for bullet in bullets:
                document.add_paragraph(bullet, style="List Bullet")
    document.add_paragraph().add_run("Skills").bold = True
    document.add_paragraph("SQL, Python, Tableau")
    return saved(document)


ENGLISH_WORD: Any = {
    "basics": {
        "name": "Nora Lind",
        "label": "Data Analyst",
        "email": "nora.lind@example.se",
        "phone": "+46 70 555 0123",
    },
    "work": [
        {
            "name": "Klarna",
            "position": "Data Analyst",
            "startDate": "2020-08",
            "highlights": ["Built the weekly revenue report"],
        },
        {
            "name": "IKEA",
            "position": "Junior Analyst",
            "startDate": "2017-01",
            "endDate": "2020-07",
            "highlights": ["Forecast demand for 40 stores"],
        },
    ],
    "education": [
        {
            "institution": "Lund University",
            "studyType": "B.Sc.",
            "area": "Statistics",
            "startDate": "2013",
            "endDate": "2016",
        }
    ],
    "skills": [{"name": "SQL"}, {"name": "Python"}, {"name": "Tableau"}],
}


def chinese_word_file() -> bytes:
    """Facts in a table, headings of a style, jobs in a table of three columns."""
    document = Document()
    document.add_heading("个人简历", 0)
    table = document.add_table(rows=2, cols=4)
    cells = ["姓名", "周婷", "性别", "女", "电话", "13655556666", "邮箱", "zt@example.cn"]
    for index, text in enumerate(cells):
        table.rows[index // 4].cells[index % 4].text = text
    document.add_heading("工作经历", 1)
    jobs = document.add_table(rows=2, cols=3)
    for row, texts in enumerate(
        [
            ("2019.05-至今", "顺丰速运有限公司", "供应链经理"),
            ("2015.07-2019.04", "海尔集团", "采购专员"),
        ]
    ):
        for column, text in enumerate(texts):
            jobs.rows[row].cells[column].text = text
    document.add_heading("教育背景", 1)
    document.add_paragraph("2011.09-2015.06  华中科技大学  物流管理  本科")
    document.add_heading("技能特长", 1)
    document.add_paragraph("熟练使用 SAP、Excel", style="List Bullet")
    return saved(document)


CHINESE_WORD: Any = {
    "basics": {"name": "周婷", "phone": "13655556666", "email": "zt@example.cn"},
    "work": [
        {"name": "顺丰速运有限公司", "position": "供应链经理", "startDate": "2019-05"},
        {
            "name": "海尔集团",
            "position": "采购专员",
            "startDate": "2015-07",
            "endDate": "2019-04",
        },
    ],
    "education": [
        {
            "institution": "华中科技大学",
            "area": "物流管理",
            "studyType": "本科",
            "startDate": "2011-09",
            "endDate": "2015-06",
        }
    ],
    "skills": [{"name": "SAP", "level": "熟练使用"}, {"name": "Excel", "level": "熟练使用"}],
}


def saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def two_columns() -> bytes:
    """A sidebar on the left, jobs on the right, the name above both."""
    buffer = io.BytesIO()
    page = canvas.Canvas(buffer, pagesize=A4)
    page.setFont("Helvetica-Bold", 22)
    page.drawString(40, 780, "Maria Garcia")
    page.setFont("Helvetica", 11)
    page.drawString(40, 760, "Product Designer")
    draw(page, 40, SIDEBAR)
    draw(page, 220, JOBS)
    page.save()
    return buffer.getvalue()


SIDEBAR = [
    "# CONTACT",
    "maria@garcia.example",
    "+34 600 123 456",
    "Barcelona, Spain",
    "# SKILLS",
    "Figma",
    "Sketch",
    "User research",
    "# LANGUAGES",
    "Spanish (native)",
    "English (C1)",
]
JOBS = [
    "# PROFILE",
    "Designer with six years of experience in mobile products, who likes to",
    "measure what she makes.",
    "# EXPERIENCE",
    "* Senior Product Designer",
    "Glovo, Barcelona | 06/2020 – Present",
    "• Designed the checkout of the courier app, used by 60,000 couriers in",
    "   24 countries.",
    "• Ran weekly tests with users.",
    "* UX Designer",
    "Typeform, Barcelona | 01/2017 – 05/2020",
    "• Made the form builder accessible.",
    "# EDUCATION",
    "* Universitat de Barcelona",
    "BA in Design, 2012 – 2016",
]
TWO_COLUMNS: Any = {
    "basics": {
        "name": "Maria Garcia",
        "label": "Product Designer",
        "email": "maria@garcia.example",
        "phone": "+34 600 123 456",
        "summary": "Designer with six years of experience in mobile products, who likes to "
        "measure what she makes.",
        "location": {"city": "Barcelona", "region": "Spain"},
    },
    "work": [
        {
            "name": "Glovo",
            "position": "Senior Product Designer",
            "location": "Barcelona",
            "startDate": "2020-06",
            "highlights": [
                "Designed the checkout of the courier app, used by 60,000 couriers in "
                "24 countries.",
                "Ran weekly tests with users.",
            ],
        },
        {
            "name": "Typeform",
            "position": "UX Designer",
            "location": "Barcelona",
            "startDate": "2017-01",
            "endDate": "2020-05",
            "highlights": ["Made the form builder accessible."],
        },
    ],
    "education": [
        {
            "institution": "Universitat de Barcelona",
            "studyType": "BA",
            "area": "Design",
            "startDate": "2012",
            "endDate": "2016",
        }
    ],
    "skills": [{"name": "Figma"}, {"name": "Sketch"}, {"name": "User research"}],
    "languages": [
        {"language": "Spanish", "fluency": "native"},
        {"language": "English", "fluency": "C1"},
    ],
}


def draw(page: canvas.Canvas, x: float, lines: Sequence[str]) -> None:
    y = 722.0
    for line in lines:
        y -= 28 if line.startswith("# ") else 14
        bold = line.startswith(("# ", "* "))
        size = 12 if line.startswith("# ") else 10
        page.setFont("Helvetica-Bold" if bold else "Helvetica", size)
        page.drawString(x, y, line.removeprefix("# ").removeprefix("* "))


LONG = (
    "负责支付系统的自动化测试，用例覆盖率由百分之四十提升到百分之八十五，并把回归时间缩短到一小时"
)


def chinese_pdf() -> bytes:
    """A font that is not in the file, as many programs write Chinese; columns by position."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    buffer = io.BytesIO()
    page = canvas.Canvas(buffer, pagesize=A4)
    rows: list[tuple[float, float, Sequence[str]]] = [
        (24, 780, ["吴磊"]),
        (10, 760, ["17712345678 | wulei@example.cn | 西安"]),
        (14, 730, ["工作经历"]),
        (10, 710, ["2018.07-至今", "西安华科软件有限公司", "测试工程师"]),
        (
            10,
            694,
            ["● " + LONG[:-5]],
        ),
        (10, 680, ["   " + LONG[-5:]]),
        (10, 664, ["● 编写测试框架"]),
        (14, 636, ["教育背景"]),
        (10, 616, ["2014.09-2018.06", "西北工业大学", "软件工程 本科"]),
        (14, 588, ["语言能力"]),
        (10, 568, ["英语（CET-6）"]),
    ]
    for size, y, texts in rows:
        page.setFont("STSong-Light", size)
        for column, text in enumerate(texts):
            page.drawString(60 + 150 * column, y, text)
    page.save()
    return buffer.getvalue()


CHINESE_PDF: Any = {
    "basics": {
        "name": "吴磊",
        "phone": "17712345678",
        "email": "wulei@example.cn",
        "location": {"city": "西安"},
    },
    "work": [
        {
            "name": "西安华科软件有限公司",
            "position": "测试工程师",
            "startDate": "2018-07",
            "highlights": [
                LONG,
                "编写测试框架",
            ],
        }
    ],
    "education": [
        {
            "institution": "西北工业大学",
            "area": "软件工程",
            "studyType": "本科",
            "startDate": "2014-09",
            "endDate": "2018-06",
        }
    ],
    "languages": [{"language": "英语", "fluency": "CET-6"}],
}


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        pytest.param(english_word_file(), "docx", ENGLISH_WORD, id="an English Word file"),
        pytest.param(chinese_word_file(), "docx", CHINESE_WORD, id="a Chinese Word file of tables"),
        pytest.param(two_columns(), "pdf", TWO_COLUMNS, id="a PDF of two columns"),
        pytest.param(chinese_pdf(), "pdf", CHINESE_PDF, id="a Chinese PDF"),
    ],
)
async def test_a_file_is_understood(content: bytes, kind: str, expected: Any) -> None:
    imported = await import_resume(content, filename="anything.exe")
    assert imported.format == kind
    assert missed(expected, imported.resume.to_json()) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
async def test_text_is_read_in_the_encodings_that_people_use(encoding: str) -> None:
    text = "张伟\n电话：13800138000\n\n专业技能\nGo、Java\n"
    imported = await import_resume(text.encode(encoding), filename="简历.txt")
    assert imported.resume.to_json() == {
        "basics": {"name": "张伟", "phone": "13800138000"},
        "skills": [{"name": "Go"}, {"name": "Java"}],
    }
