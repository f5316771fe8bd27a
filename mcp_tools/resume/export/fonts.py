"""The fonts of a PDF, chosen in the same order on every machine.

Typst brings Libertinus Serif, which has no Chinese. `oda[resume]` brings Noto Sans SC, and KR for
its proportional quotes: the package `justmytype-intl-cjk` (30 MB, SIL Open Font License) contains
only fonts, and only its files are used. Chinese, Japanese and Korean thus work without installed
fonts.

The classic look prefers a Song typeface if one is installed (Debian: fonts-noto-cjk) or is in a
folder listed in the environment variable TYPST_FONT_PATHS; otherwise Noto Sans SC is used. Emoji
need an installed font as well (Debian: fonts-noto-color-emoji). TYPST_IGNORE_SYSTEM_FONTS=true
excludes installed fonts, so that a PDF looks the same on all machines; both variables are Typst's.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typst import Fonts

_SERIF = (
    "Noto Serif SC",
    "Noto Serif CJK SC",
    "Source Han Serif SC",
    "Source Han Serif CN",
    "Songti SC",
    "SimSun",
)
_SANS = (
    "Noto Sans SC",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
)
_LATIN_SANS = (
    "Noto Sans KR",
    "Noto Sans CJK KR",
    "Source Sans 3",
    "Liberation Sans",
    "DejaVu Sans",
)
_FOLDERS = "TYPST_FONT_PATHS"
_WITHOUT_INSTALLED = "TYPST_IGNORE_SYSTEM_FONTS"
_FONT_PACKAGE = "justmytype_intl_cjk"


@dataclass(frozen=True)
class FontChoice:
    """The fonts that Typst may use, and the preferred families; `cjk` is empty if there is none."""

    fonts: "Fonts"
    latin: str
    cjk: str


def choose_fonts(*, serif: bool) -> FontChoice:
    """Choose among the fonts there are; a serif one for Chinese where there is one, if asked for.

    Raises:
        ImportError: typst is not installed.
    """
    folders = [Path(name) for name in os.environ.get(_FOLDERS, "").split(os.pathsep) if name]
    fonts = _fonts(*folders, installed=os.environ.get(_WITHOUT_INSTALLED, "").lower() != "true")
    families = frozenset(fonts.families())
    known = (*_SERIF, *_SANS) if serif else (*_SANS, *_SERIF)
    cjk = _first((*known, *_families_in(folders, fonts)), families)
    latin = "Libertinus Serif" if serif else _first(_LATIN_SANS, families) or cjk
    return FontChoice(fonts, latin or "Libertinus Serif", cjk)


def _first(wanted: Sequence[str], there: frozenset[str]) -> str:
    return next((family for family in wanted if family in there), "")


def _families_in(folders: Sequence[Path], fonts: "Fonts") -> list[str]:
    """Fonts of any name will do that lie where an operator says that there are fonts."""
    named = {
        font.family
        for font in fonts.fonts()
        if font.path and any(Path(font.path).is_relative_to(folder) for folder in folders)
    }
    return sorted(named)


@cache
def _fonts(*folders: Path, installed: bool) -> "Fonts":
    from typst import Fonts

    return Fonts(include_system_fonts=installed, font_paths=[*folders, *_packaged()])


def _packaged() -> list[Path]:
    spec = find_spec(_FONT_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    return [Path(folder) for folder in folders or ()]
