"""The styles of a DOCX: two looks, fonts for Latin and Chinese text, properties of the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from docx import Document as new_document
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_TAB_ALIGNMENT
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement
from docx.shared import Cm, Pt, RGBColor

from .page import Page

_WIDTH, _HEIGHT, _MARGIN = Cm(21), Cm(29.7), Cm(2)
_LEFT_OUT = ("w:asciiTheme", "w:hAnsiTheme", "w:eastAsiaTheme", "w:cstheme")
_LEFTOVERS = ("/thumbnail", "/extended-properties", "/customXml", "/stylesWithEffects")
_STYLES_KEPT = frozenset(
    {
        *("Normal", "Title", "Subtitle", "Heading 1", "Heading 2", "List Bullet", "Strong"),
        *("Title Char", "Subtitle Char", "Heading 1 Char", "Heading 2 Char"),
        *("Default Paragraph Font", "Normal Table", "No List"),
    }
)
_UNDATED = datetime(2000, 1, 1)  # noqa: DTZ001 - the format has no time zone
"""Fixed creation time, so that equal resumes give equal files."""


@dataclass(frozen=True)
class _Look:
    latin: str
    east_asian: str
    ink: str
    accent: str
    soft: str
    rule: str
    head: WD_ALIGN_PARAGRAPH


_LOOKS: Mapping[str, _Look] = MappingProxyType(
    {
        "classic": _Look(
            *("Times New Roman", "SimSun", "1C1C1C", "1C1C1C", "555555", "8A8A8A"),
            WD_ALIGN_PARAGRAPH.CENTER,
        ),
        "modern": _Look(
            *("Calibri", "Microsoft YaHei", "1F2933", "14617A", "5A6875", "C4D6DD"),
            WD_ALIGN_PARAGRAPH.LEFT,
        ),
    }
)


def styled_document(page: Page, template: str) -> Document:
    """Make an empty A4 document whose styles and properties are set."""
    document = new_document()
    look = _LOOKS[template]
    _drop_leftovers(document)
    _set_page(document)
    _set_properties(document, page)
    _set_styles(document, look, page)
    return document


def _drop_leftovers(document: Document) -> None:
    """Take out what the library's own template carries: its picture, its author, other styles."""
    for relations in (document.part.package.rels, document.part.rels):
        for key, relation in list(relations.items()):
            if relation.reltype.endswith(_LEFTOVERS):
                del relations[key]
    for style in list(document.styles):
        if style.name not in _STYLES_KEPT:
            style.delete()


def _set_page(document: Document) -> None:
    section = document.sections[0]
    section.page_width, section.page_height = _WIDTH, _HEIGHT
    section.left_margin = section.right_margin = _MARGIN
    section.top_margin = section.bottom_margin = Cm(1.8)


def _set_properties(document: Document, page: Page) -> None:
    properties = document.core_properties
    properties.title, properties.author = page.title[:255], page.name[:255]
    properties.last_modified_by = page.name[:255]
    properties.language = "zh-CN" if page.language == "zh" else "en"
    properties.comments = properties.subject = properties.keywords = properties.category = ""
    properties.created = properties.modified = _UNDATED
    properties.revision = 1


def _set_styles(document: Document, look: _Look, page: Page) -> None:
    styles = document.styles
    for name in ("Contact", "Entry Detail"):
        styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH).base_style = styles["Normal"]
    for name in ("Quiet", "Hyperlink"):
        styles.add_style(name, WD_STYLE_TYPE.CHARACTER)
    for language in styles.element.iter(qn("w:lang")):
        language.set(qn("w:eastAsia"), "zh-CN")
    emphasis = page.language == "en" and look.head == WD_ALIGN_PARAGRAPH.CENTER

    _text(styles["Normal"], look, 10.5, look.ink)
    _text(styles["Title"], look, 24, look.accent, bold=True)
    _text(styles["Subtitle"], look, 12, look.soft)
    _text(styles["Contact"], look, 10, look.ink)
    _text(styles["Heading 1"], look, 13, look.accent, bold=True)
    _text(styles["Heading 2"], look, 11, look.ink, bold=True)
    _text(styles["Entry Detail"], look, 10.5, look.soft, italic=emphasis)
    _text(styles["List Bullet"], look, 10.5, look.ink)
    _text(styles["Quiet"], look, None, look.soft, bold=False, italic=False)
    _text(styles["Hyperlink"], look, None, look.accent)

    leading = 1.0 if page.language == "zh" else 1.15
    _space(styles["Normal"], leading, after=3)
    _space(styles["Title"], leading, after=2)
    _space(styles["Subtitle"], leading, after=4)
    _space(styles["Contact"], leading, after=4)
    _space(styles["Heading 1"], leading, before=14, after=5)
    _space(styles["Heading 2"], leading, before=6, after=1)
    _space(styles["Entry Detail"], leading, after=3)
    _space(styles["List Bullet"], leading, after=2)
    for name in ("Title", "Subtitle", "Contact"):
        styles[name].paragraph_format.alignment = look.head
    for name in ("Heading 2", "Entry Detail"):
        form = styles[name].paragraph_format
        form.keep_with_next = True
        form.tab_stops.add_tab_stop(_WIDTH - 2 * _MARGIN, WD_TAB_ALIGNMENT.RIGHT)
    _rule_under(styles["Title"], None)
    _rule_under(styles["Heading 1"], look.rule)


def _text(
    style: Any,
    look: _Look,
    size: float | None,
    colour: str,
    *,
    bold: bool | None = None,
    italic: bool | None = False,
) -> None:
    font = style.font
    font.name, font.bold, font.italic = look.latin, bold, italic
    font.size = Pt(size) if size else None
    font.color.rgb = RGBColor.from_string(colour)
    fonts = style.element.rPr.rFonts
    for theme in _LEFT_OUT:
        fonts.attrib.pop(qn(theme), None)
    fonts.set(qn("w:eastAsia"), look.east_asian)
    for spacing in style.element.rPr.findall(qn("w:spacing")):
        style.element.rPr.remove(spacing)


def _space(style: Any, leading: float, *, before: float = 0, after: float = 0) -> None:
    form = style.paragraph_format
    form.space_before, form.space_after, form.line_spacing = Pt(before), Pt(after), leading


def _rule_under(style: Any, colour: str | None) -> None:
    """Draw a line under the paragraphs of a style, or take away the one that is there."""
    properties = style.element.get_or_add_pPr()
    for border in properties.findall(qn("w:pBdr")):
        properties.remove(border)
    if colour is not None:
        border, line = OxmlElement("w:pBdr"), OxmlElement("w:bottom")
        for name, value in {"val": "single", "sz": "6", "space": "2", "color": colour}.items():
            line.set(qn(f"w:{name}"), value)
        border.append(line)
        properties.insert_element_before(
            border, "w:shd", "w:tabs", "w:suppressAutoHyphens", "w:spacing", "w:ind", "w:jc",
            "w:outlineLvl", "w:rPr",
        )  # fmt: skip
