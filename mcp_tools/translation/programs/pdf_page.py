"""The content of a PDF page: shapes, and characters, each with the operator that shows it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pdfminer.converter import PDFLayoutAnalyzer
from pdfminer.layout import LTChar, LTContainer, LTCurve, LTImage, LTItem, LTPage
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage

from .failure import UnreadableError

MAX_CHARACTERS = 100_000
"""Maximum number of characters of a page."""

_INVISIBLE = (3, 7)
"""Rendering modes of text that is only there to be found."""

_BOLD = re.compile(r"bold|black|heavy|demi", re.IGNORECASE)
_ITALIC = re.compile(r"italic|oblique|slanted", re.IGNORECASE)
_MONO = re.compile(r"courier|mono|consol|typewriter", re.IGNORECASE)
_SERIF = re.compile(
    r"times|(?<!sans)serif|roman|georgia|garamond|cambria|palatino|minion|bookman|song|ming|^cmr",
    re.IGNORECASE,
)

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points from the lower left corner of the page as it is seen."""

ShowId = tuple[tuple[int, ...], int]
"""Which operator shows a text: the forms that are drawn to get there, each by its number among
those of its stream, and its own number among the text operators of that stream."""


@dataclass(frozen=True)
class Look:
    """How a piece of text looks."""

    family: str
    """`sans`, `serif` or `mono`."""
    bold: bool
    italic: bool
    size: float
    color: tuple[float, ...]
    """Gray, red-green-blue or cyan-magenta-yellow-black, each from 0 to 1."""


@dataclass(frozen=True)
class Character:
    """One character."""

    text: str
    x0: float
    x1: float
    baseline: float
    look: Look
    show: ShowId
    visible: bool
    """Whether it is painted; the text layer of a scan is not."""


@dataclass
class PageContent:
    """A page."""

    width: float
    height: float
    characters: list[Character] = field(default_factory=list)
    shapes: list[Box] = field(default_factory=list)
    """Lines, areas and pictures."""
    shown: dict[ShowId, "Shown"] = field(default_factory=dict)
    turned: int = 0
    """Characters that do not run from left to right; they are left as they are."""


@dataclass(frozen=True)
class Shown:
    """A text operator: its bytes, and how far it moves on in thousandths of the font's size."""

    data: bytes
    advance: float


def read_page(page: PDFPage) -> PageContent:
    """Read one page."""
    resources = PDFResourceManager()
    device = _Device(resources)
    _Interpreter(resources, device).process_page(page)
    return device.content


class _Interpreter(PDFPageInterpreter):
    """Tells the device where in the streams it is."""

    def render_contents(self, *arguments: Any, **named: Any) -> None:
        self._forms = 0
        super().render_contents(*arguments, **named)

    def do_TJ(self, seq: Any) -> None:  # all other operators for text come here
        state = self.textstate
        before = state.linematrix
        self.device.begin_show(state)  # type: ignore[attr-defined]
        super().do_TJ(seq)
        scale = state.fontsize * state.scaling * 0.01
        advance = (state.linematrix[0] - before[0]) / scale * 1000 if scale else 0.0
        data = b"".join(piece for piece in seq if isinstance(piece, bytes))
        self.device.end_show(Shown(data, advance))  # type: ignore[attr-defined]

    def do_Do(self, xobjid_arg: Any) -> None:
        self._forms += 1
        self.device.enter(self._forms)  # type: ignore[attr-defined]
        super().do_Do(xobjid_arg)
        self.device.leave()  # type: ignore[attr-defined]


class _Device(PDFLayoutAnalyzer):
    """Keeps characters with their operators; layout analysis is done elsewhere."""

    def __init__(self, resources: PDFResourceManager) -> None:
        super().__init__(resources, laparams=None)
        self._path: tuple[int, ...] = ()
        self._counts: dict[tuple[int, ...], int] = {}
        self._visible = True
        self._shows: dict[int, tuple[ShowId, bool]] = {}
        self._show: ShowId = ((), 0)
        self._all: dict[ShowId, Shown] = {}
        self.content = PageContent(0, 0)

    def enter(self, form: int) -> None:
        self._path = (*self._path, form)

    def leave(self) -> None:
        self._path = self._path[:-1]

    def begin_show(self, state: Any) -> None:
        number = self._counts.get(self._path, 0)
        self._counts[self._path] = number + 1
        self._show = (self._path, number)
        self._visible = state.render not in _INVISIBLE

    def end_show(self, shown: Shown) -> None:
        self._all[self._show] = shown

    def render_char(self, *arguments: Any, **named: Any) -> float:
        advance = super().render_char(*arguments, **named)
        item = self.cur_item._objs[-1]
        self._shows[id(item)] = (self._show, self._visible)
        return advance

    def receive_layout(self, ltpage: LTPage) -> None:
        self.content = PageContent(ltpage.width, ltpage.height, shown=self._all)
        for item in _items(ltpage):
            if isinstance(item, LTChar):
                self._take(item)
            elif isinstance(item, (LTCurve, LTImage)):  # lines and rectangles are curves
                self.content.shapes.append(item.bbox)
        if len(self.content.characters) > MAX_CHARACTERS:
            raise UnreadableError("too_large")

    def _take(self, item: LTChar) -> None:
        a, b, c, d, _, y = item.matrix
        if a <= 0 or d <= 0 or abs(b) > 0.01 * a or abs(c) > 0.01 * d:
            self.content.turned += bool(item.get_text().strip())
            return
        show, visible = self._shows[id(item)]
        text = item.get_text()
        text = "" if text.startswith("(cid:") else text  # nobody can tell what it says
        look = _look(item)
        self.content.characters.append(Character(text, item.x0, item.x1, y, look, show, visible))


def _look(item: LTChar) -> Look:
    name = item.fontname.rpartition("+")[2]
    family = "mono" if _MONO.search(name) else "serif" if _SERIF.search(name) else "sans"
    color = item.graphicstate.ncolor
    values = color if isinstance(color, (tuple, list)) else (color,)
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    is_known = len(numbers) == len(values) and len(numbers) in (1, 3, 4)
    return Look(
        family=family,
        bold=_BOLD.search(name) is not None,
        italic=_ITALIC.search(name) is not None,
        size=round(item.size, 1),
        color=tuple(min(1.0, max(0.0, one)) for one in numbers) if is_known else (0.0,),
    )


def _items(container: LTContainer[Any]) -> Iterator[LTItem]:
    for item in container:
        if isinstance(item, LTContainer) and not isinstance(item, LTChar):
            yield from _items(item)
        else:
            yield item
