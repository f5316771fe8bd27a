"""Title and summary of an article."""

import re
from html import unescape

from .tree import Element
from .typesetting import one_line, shortened, text_width

_TITLE_LENGTH = 200
_SUMMARY_LENGTH = 300
_PARAGRAPH_WIDTH = 20
"""Ems of a first paragraph that says something; a shorter one is a date or a name."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BEGINNINGS = (*_HEADINGS, "p", "ul", "ol", "table", "blockquote", "pre")
_TITLE = re.compile(r"<title[^<>]*>", re.IGNORECASE)
_TITLE_END = re.compile(r"</title\s*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_UNTITLED = {"zh": "未命名文章"}


def name_page(root: Element, source: str, given: str | None, language: str) -> str:
    """The title of an article, which gets a main heading if it has none.

    Args:
        root: The article.
        source: The same as its author wrote it, perhaps with a `title`.
        given: A title for one that does not say what it is called.
        language: Of the article.
    """
    main = root.find("h1")
    if main and (title := main.text()):
        return shortened(title, _TITLE_LENGTH)
    title = _declared(source)
    first = next((one for one in root.walk() if one.tag in _BEGINNINGS and one.text()), None)
    if not title and first and first.tag in _HEADINGS:
        first.tag = "h1"
        return shortened(first.text(), _TITLE_LENGTH)
    title = title or one_line(given or "") or _first_sentence(root)
    title = shortened(title, _TITLE_LENGTH) or _UNTITLED.get(language.split("-")[0], "Untitled")
    root.children.insert(0, Element("h1", {}, [title]))
    return title


def summary_of(root: Element) -> str:
    """The first paragraph that says something, else the first one, else the first words."""
    texts = [text for one in root.walk() if one.tag == "p" and (text := one.text("sup"))]
    long = (text for text in texts if text_width(text) >= _PARAGRAPH_WIDTH)
    found = next(long, None) or next(iter(texts), None)
    return shortened(found or root.text("sup", *_HEADINGS), _SUMMARY_LENGTH)


def _declared(source: str) -> str:
    """Return the text of the `title` element."""
    begin = _TITLE.search(source)
    end = _TITLE_END.search(source, begin.end()) if begin else None
    if begin is None or end is None:
        return ""
    return one_line(unescape(_TAG.sub("", source[begin.end() : end.start()])))


def _first_sentence(root: Element) -> str:
    return shortened(re.split(r"[。！？]|[.!?](?:\s|$)", root.text("sup"), maxsplit=1)[0], 60)
