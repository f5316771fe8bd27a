"""A resume as DOCX is fit for further editing: real styles, no leftovers."""

import io
import zipfile

import docx
import pytest
from docx.oxml.ns import qn

from mcp_tools.resume import load_resume
from mcp_tools.resume.export import Template, render
from tests.support.full_resumes import CHINESE, ENGLISH

TEMPLATES: tuple[Template, ...] = ("classic", "modern")


@pytest.mark.parametrize("template", TEMPLATES)
def test_paragraphs_have_the_styles_of_what_they_are(template: Template) -> None:
    content = render(load_resume(ENGLISH), "docx", template=template).content
    document = docx.Document(io.BytesIO(content))
    styled: dict[str, list[str]] = {}
    for paragraph in document.paragraphs:
        styled.setdefault(str(paragraph.style and paragraph.style.name), []).append(paragraph.text)
    assert styled["Title"] == ["Eleanor Whitfield"]
    assert styled["Subtitle"] == ["Site Reliability Engineer"]
    assert styled["Heading 1"][:3] == ["Summary", "Work Experience", "Projects"]
    assert styled["Heading 2"][:2] == [
        "Google\tMar 2019 – Present",
        "Monzo Bank\tSep 2015 – Feb 2019",
    ]
    assert styled["Entry Detail"][0] == "Senior Site Reliability Engineer\tLondon, UK"
    assert "Mentored five engineers, three of whom lead teams today" in styled["List Bullet"]


@pytest.mark.parametrize(
    ("template", "han"), [("classic", "SimSun"), ("modern", "Microsoft YaHei")]
)
def test_every_style_names_a_font_for_chinese(template: Template, han: str) -> None:
    content = render(load_resume(CHINESE), "docx", template=template).content
    for style in docx.Document(io.BytesIO(content)).styles:
        fonts = style.element.find(f".//{qn('w:rFonts')}")
        if fonts is not None and not str(style.name).endswith("Char"):
            assert fonts.get(qn("w:eastAsia")) == han
            assert fonts.get(qn("w:asciiTheme")) is None


def test_the_properties_are_the_persons_and_nothing_is_left_of_the_librarys_template() -> None:
    content = render(load_resume(CHINESE), "docx").content
    properties = docx.Document(io.BytesIO(content)).core_properties
    assert (properties.title, properties.author) == ("林晓雨 · 简历", "林晓雨")
    assert (properties.comments, properties.keywords, properties.language) == ("", "", "zh-CN")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert not [name for name in archive.namelist() if "thumbnail" in name or "custom" in name]
        assert not [name for name in archive.namelist() if b"python-docx" in archive.read(name)]


def test_it_is_on_a4() -> None:
    section = docx.Document(io.BytesIO(render(load_resume(ENGLISH), "docx").content)).sections[0]
    assert section.page_width is not None
    assert section.page_height is not None
    assert (round(section.page_width.mm), round(section.page_height.mm)) == (210, 297)
