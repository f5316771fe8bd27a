"""Fonts for new texts in PDFs: one that looks alike, and has the letters."""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont as FontFile  # type: ignore[import-untyped]
from fontTools.varLib import instancer  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from .pdf_lines import is_wide
from .pdf_page import Look

_BUILT_IN = {
    "sans": ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique"),
    "serif": ("Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic"),
    "mono": ("Courier", "Courier-Bold", "Courier-Oblique", "Courier-BoldOblique"),
}
"""The fonts that each viewer has: plain, bold, italic, both."""
_DEJAVU = {
    "sans": ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
    "serif": (
        "DejaVuSerif",
        "DejaVuSerif-Bold",
        "DejaVuSerif-Italic",
        "DejaVuSerif-BoldItalic",
    ),
    "mono": (
        "DejaVuSansMono",
        "DejaVuSansMono-Bold",
        "DejaVuSansMono-Oblique",
        "DejaVuSansMono-BoldOblique",
    ),
}
"""Latin, Greek and Cyrillic letters beyond those of Western Europe; they come with Matplotlib."""
_NOTO = {
    "sc": "notosanssc/NotoSansSC[wght].ttf",
    "jp": "notosansjp/NotoSansJP[wght].ttf",
    "kr": "notosanskr/NotoSansKR[wght].ttf",
}
_NOTO_PACKAGE = "justmytype_intl_cjk"
_WEIGHTS = {False: 400, True: 700}


class Fonts:
    """Fonts that have all letters of some texts; `missing` are those that no font has."""

    def __init__(self, texts: Iterable[tuple[str, Look]]) -> None:
        self.missing: set[str] = set()
        self._ours: dict[str, str] = {}
        wide: dict[bool, set[str]] = defaultdict(set)
        letters: set[str] = set()
        for text, look in texts:
            letters.update(text)
            if _only_built_in(text):
                continue
            wide[look.bold].update(text)
        self._script = _script(letters)
        self._wide = {
            bold: _noto(self._script, chars, bold)
            for bold, chars in wide.items()
            if any(is_wide(char) for char in chars)
        }

    def runs(self, text: str, look: Look) -> Iterator[tuple[str, str]]:
        """A text as `(font, piece)`; a word keeps to one font where one has all of it."""
        font, piece = "", ""
        for char in text:
            chosen = self._font(char, look, font)
            if chosen != font and piece:
                yield font, piece
                piece = ""
            font, piece = chosen, piece + char
        if piece:
            yield font, piece

    def width(self, text: str, look: Look, size: float) -> float:
        """The width of a text in points."""
        return sum(
            float(pdfmetrics.stringWidth(piece, font, size))
            for font, piece in self.runs(text, look)
        )

    def _font(self, char: str, look: Look, last: str) -> str:
        style = look.bold + 2 * look.italic
        if char.isspace() and last:
            return last
        if _only_built_in(char):
            return _BUILT_IN[look.family][style]
        wide = self._wide.get(look.bold)
        if wide is not None and ord(char) in wide[1]:
            return wide[0]
        dejavu = _DEJAVU[look.family][style]
        if ord(char) not in _register(dejavu):
            self.missing.add(char)
        return dejavu


@cache
def _only_built_in(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _script(letters: set[str]) -> str:
    if any("\uac00" <= char <= "\ud7af" for char in letters):
        return "kr"
    return "jp" if any("\u3040" <= char <= "\u30ff" for char in letters) else "sc"


@cache
def _register(name: str) -> frozenset[int]:
    """Make a DejaVu font known; returns the letters that it has."""
    font = TTFont(name, str(_folder("matplotlib") / f"mpl-data/fonts/ttf/{name}.ttf"))
    pdfmetrics.registerFont(font)
    return frozenset(font.face.charToGlyph)


def _noto(script: str, letters: set[str], bold: bool) -> tuple[str, frozenset[int]]:
    """A font of just these letters, cut out of one that has all weights and 30,000 letters."""
    options = subset.Options()
    options.layout_features = []
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "BASE", "STAT", "vhea", "vmtx"]
    options.notdef_outline = True
    file = FontFile(_folder(_NOTO_PACKAGE) / "fonts/ofl" / _NOTO[script], lazy=True)
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(letters))
    cutter.subset(file)
    name = f"Noto{script}{_WEIGHTS[bold]}"
    instance = instancer.instantiateVariableFont(file, {"wght": _WEIGHTS[bold]})
    for record in instance["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = name
    data = io.BytesIO()
    instance.save(data)
    data.seek(0)
    font = TTFont(name, data)
    pdfmetrics.registerFont(font)
    return name, frozenset(font.face.charToGlyph)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.submodule_search_locations[0])
