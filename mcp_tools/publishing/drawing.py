"""Drawing on slides: text in our fonts, bars, backgrounds. Lengths are in points."""

from typing import TYPE_CHECKING, Any

from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.oxml.xmlchemy import OxmlElement
from pptx.util import Pt

from .paging import INDENT

if TYPE_CHECKING:
    from pptx.slide import Slide
    from pptx.text.text import TextFrame

INK, QUIET, DARK, ACCENT, SHADE = "1D2129", "5C6573", "12294A", "2F73D9", "F2F5F9"
WHITE, PALE, MIST = "FFFFFF", "9CC3FF", "C9D6EA"
MONOSPACED = "Consolas"
_LATIN, _CJK = "Calibri", "Microsoft YaHei"

_Rgb: Any = RGBColor  # python-pptx has no types for its constructor
Place = tuple[float, float, float, float]
"""Left, top, width, height."""


def write(
    shape: Any, text: str, size: float, place: Place, colour: str, *, bold: bool = False
) -> None:
    """Put a shape into its place, with one paragraph in the middle of it."""
    move(shape, place)
    frame = shape.text_frame
    plain(frame)
    frame.vertical_anchor = MSO_ANCHOR.MIDDLE
    frame.paragraphs[0].alignment = PP_ALIGN.LEFT
    run(frame.paragraphs[0], text, size, colour, bold=bold)


def label(
    slide: "Slide", text: str, size: float, place: Place, colour: str, *, align: PP_ALIGN
) -> None:
    """A text of its own."""
    left, top, width, height = map(Pt, place)
    frame = slide.shapes.add_textbox(left, top, width, height).text_frame
    plain(frame)
    frame.paragraphs[0].alignment = align
    run(frame.paragraphs[0], text, size, colour)


def run(paragraph: Any, text: str, size: float, colour: str, *, bold: bool = False) -> Any:
    """Add words to a paragraph, with fonts for Latin and Chinese letters."""
    added = paragraph.add_run()
    added.text = text
    font = added.font
    font.size, font.bold, font.name = Pt(size), bold, _LATIN
    font.color.rgb = _colour(colour)
    east_asian = OxmlElement("a:ea")
    east_asian.set("typeface", _CJK)
    font._element.append(east_asian)
    return added


def plain(frame: "TextFrame") -> None:
    """A text box whose text begins at its edge and keeps its size."""
    frame.word_wrap = True
    frame.auto_size = MSO_AUTO_SIZE.NONE
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = Pt(0)


def mark(paragraph: Any, *, level: int, bullet: str = "", number: int = 0) -> None:
    """Indent a paragraph, with a bullet or a number before it if one is given."""
    hanging = INDENT if bullet or number else 0.0
    properties = paragraph._p.get_or_add_pPr()
    properties.set("marL", str(int(Pt(INDENT * level + hanging))))
    properties.set("indent", str(int(Pt(-hanging))))
    if not hanging:
        properties.append(OxmlElement("a:buNone"))
        return
    colour, value = OxmlElement("a:buClr"), OxmlElement("a:srgbClr")
    value.set("val", ACCENT)
    colour.append(value)
    sign = OxmlElement("a:buChar" if bullet else "a:buAutoNum")
    if bullet:
        sign.set("char", bullet)
    else:
        sign.set("type", "arabicPeriod")
        sign.set("startAt", str(min(number, 32767)))
    font = OxmlElement("a:buFont")
    font.set("typeface", "Arial")
    for element in (colour, font, sign):
        properties.append(element)


def move(shape: Any, place: Place) -> None:
    shape.left, shape.top, shape.width, shape.height = map(Pt, place)


def bar(slide: "Slide", place: Place, colour: str) -> None:
    """A filled rectangle."""
    left, top, width, height = map(Pt, place)
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, left, top, width, height)
    paint(shape.fill, colour)
    shape.line.fill.background()
    shape.shadow.inherit = False


def paint(fill: Any, colour: str) -> None:
    fill.solid()
    fill.fore_color.rgb = _colour(colour)


def _colour(digits: str) -> RGBColor:
    colour: RGBColor = _Rgb(*bytes.fromhex(digits))
    return colour
