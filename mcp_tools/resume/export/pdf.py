"""A resume as PDF, set by Typst.

What a resume says reaches the templates as JSON, never as Typst code; the compiler may read the
folder of the templates and nothing else.
"""

import json
import re
from dataclasses import asdict
from typing import Any

from .errors import MissingExtraError, MissingFontError
from .fonts import choose_fonts
from .page import Page
from .text import has_cjk
from .themes import THEMES

_UNBREAKABLE = re.compile("[!-.0-~\u00c0-\u024f]{24,}")
_BREAK_HERE = "\u200b"


def to_pdf(page: Page, template: str) -> bytes:
    """Set a page on A4; `template` names a Typst file.

    Raises:
        MissingExtraError: typst is not installed.
        MissingFontError: the page has Chinese, Japanese or Korean and no font shows it.
    """
    try:
        import typst

        choice = choose_fonts(serif=template == "classic")
    except ImportError as error:
        raise MissingExtraError(format="PDF") from error
    content = asdict(page)
    if not choice.cjk and has_cjk(json.dumps(content, ensure_ascii=False)):
        raise MissingFontError
    families = {"latin": choice.latin, "cjk": choice.cjk}
    inputs = {"page": _dumped(_wrapping(content)), "fonts": _dumped(families)}
    return typst.compile(
        THEMES / f"{template}.typ", root=THEMES, font_paths=choice.fonts, sys_inputs=inputs
    )


def _wrapping(value: Any) -> Any:
    """Let what has no place for a line break, such as an address, break anywhere."""
    if isinstance(value, str):
        return _UNBREAKABLE.sub(lambda found: _BREAK_HERE.join(found[0]), value)
    if isinstance(value, dict):
        return {name: item if name == "url" else _wrapping(item) for name, item in value.items()}
    return [_wrapping(item) for item in value] if isinstance(value, list | tuple) else value


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
