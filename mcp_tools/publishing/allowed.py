"""The elements an article may contain; everything else is removed."""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import MissingExtraError
from .tree import INLINE

if TYPE_CHECKING:
    from nh3 import Cleaner

_BLOCKS = """address article aside blockquote br caption col colgroup dd details div dl dt
    figcaption figure footer h1 h2 h3 h4 h5 h6 header hr img li main nav ol p pre section
    summary table tbody td tfoot th thead tr ul"""
_TAGS = INLINE | frozenset(_BLOCKS.split())
_ACTIVE = """audio button canvas datalist embed frame frameset iframe math noembed noframes noscript
    object option script select style svg template textarea title video"""
"""Taken out with what is in them; of other elements the text is kept."""
_ATTRIBUTES = {
    "*": {"class", "dir", "id", "lang", "style", "title"},
    "a": {"href", "target"},
    "col": {"span"},
    "colgroup": {"span"},
    "details": {"open"},
    "img": {"alt", "height", "src", "width"},
    "li": {"value"},
    "ol": {"reversed", "start", "type"},
    "td": {"colspan", "headers", "rowspan"},
    "th": {"colspan", "headers", "rowspan", "scope"},
    "time": {"datetime"},
}
_NUMERIC = frozenset({"colspan", "height", "rowspan", "span", "start", "value", "width"})
_CLASSES = re.compile(r"language-[A-Za-z0-9+#_-]{1,20}|table|note")
_LENGTH = r"\d{1,4}(\.\d{1,3})?(px|em|rem|%|ch)"
_STYLES = {
    "font-style": "italic|normal",
    "font-weight": "bold|bolder|lighter|normal|[1-9]00",
    "max-width": _LENGTH,
    "text-align": "left|right|center|justify|start|end",
    "text-decoration": "none|underline|line-through",
    "vertical-align": "top|middle|bottom|baseline|sub|super",
    "white-space": "normal|nowrap|pre|pre-wrap",
    "width": _LENGTH,
}
"""Properties and their values. Colours are ours: a page is read on light and dark grounds."""
FILES = "files/"
"""Path of the files beside the article, relative to its page."""
_FILE_LINK = re.compile(rf"{FILES}(?!(?:.*/)?\.{{1,2}}(?:/|$))[A-Za-z0-9._~%/-]+")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]*={0,2}")


def keep_structure(html: str) -> str:
    """Well-formed HTML of allowed elements. Addresses are still the author's, so it is not safe.

    Raises:
        MissingExtraError: nh3 is not installed.
    """
    return _cleaner(None).clean(html)


def keep_safe(html: str) -> str:
    """HTML that runs nothing and loads nothing, whatever it was."""
    return _cleaner(_safe_attribute).clean(html)


def safe_link(address: str) -> str | None:
    """An address that a reader may follow: on the web, by mail, or a place on the same page."""
    link = re.sub(r"[\x00-\x20\x7f-\xa0]+", "", address)
    if link.startswith("#"):
        return link if len(link) > 1 else None
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    is_web = parts.scheme in ("http", "https") and bool(parts.netloc)
    return link if is_web or (parts.scheme == "mailto" and parts.path) else None


@cache
def _cleaner(attribute_filter: Callable[[str, str, str], str | None] | None) -> "Cleaner":
    try:
        from nh3 import Cleaner
    except ImportError as error:
        raise MissingExtraError(format="HTML") from error
    last = attribute_filter is not None
    return Cleaner(
        tags=_TAGS,
        clean_content_tags=frozenset(_ACTIVE.split()),
        attributes=_ATTRIBUTES,
        attribute_filter=attribute_filter,
        url_schemes={"http", "https", "mailto", "data", "file", "sandbox"},
        link_rel="noopener noreferrer nofollow" if last else None,
    )


def _safe_attribute(tag: str, name: str, value: str) -> str | None:
    match name:
        case "href":
            return value if _FILE_LINK.fullmatch(value) else safe_link(value)
        case "src":
            return value if _PICTURE.fullmatch(value) else None
        case "style":
            return _safe_style(value)
        case "class":
            return " ".join(one for one in value.split() if _CLASSES.fullmatch(one)) or None
        case "target":
            return value if value == "_blank" else None
        case _ if name in _NUMERIC:
            return value if re.fullmatch(r"\d{1,4}", value) else None
        case _:
            return value


def _safe_style(style: str) -> str | None:
    kept = []
    for declaration in style.lower().split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in _STYLES and re.fullmatch(_STYLES[name], value):
            kept.append(f"{name}: {value}")
    return "; ".join(kept) or None
