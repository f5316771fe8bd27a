"""A published page as its author may go on with it: plain HTML, and the pictures as files."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from urllib.parse import unquote

from .allowed import FILES
from .tree import Element, parse

_BEGIN, _END = "<article>", "</article>"
_SUFFIXES = {"jpeg": "jpg", "svg+xml": "svg"}


@dataclass(frozen=True)
class Unpacked:
    """A page without its look."""

    html: str
    pictures: Mapping[str, bytes]
    """Those that lie nowhere else, by the paths under which the page names them."""


def unpack(page: str, language: str, *, files: Mapping[str, bytes], folder: str) -> Unpacked:
    """Take a page of `make_page` apart; making a page of the result gives the same article.

    Args:
        page: The whole document.
        language: That of the article.
        files: Files beside the article; a picture that is one of them has its name.
        folder: The folder for the other pictures.
    """
    names = {content: name for name, content in files.items()}
    pictures: dict[str, bytes] = {}
    root = parse(article_in(page))

    def plain(element: Element) -> Element:
        source = element.attributes.get("src", "")
        if element.tag == "img" and source.startswith("data:"):
            head, _, body = source.partition(",")
            data = b64decode(body)
            kind = head.removeprefix("data:image/").partition(";")[0]
            own = f"{folder}/{sha256(data).hexdigest()[:12]}.{_SUFFIXES.get(kind, kind)}"
            name = names.get(data, own)
            if name == own:
                pictures[own] = data
            element.attributes["src"] = name
        elif element.tag == "a":
            target = element.attributes.get("href", "")
            element.attributes = {"href": unquote(target.removeprefix(FILES))}
        elif element.tag == "div" and element.attributes.get("class") == "table":
            return next((one for one in element.children if isinstance(one, Element)), element)
        return element

    root.replace(plain)
    head = f'<!doctype html>\n<html lang="{escape(language)}">\n<body>\n'
    return Unpacked(f"{head}{root.inner_html().strip()}\n</body>\n</html>\n", pictures)


def text_of(html: str) -> str:
    """Return the words of a page or an article, a line for each block."""
    lines = (" ".join(line.split()) for line in parse(html).raw_text().split("\n"))
    return "\n".join(filter(None, lines))


def article_in(page: str) -> str:
    """Return the article in a page of `make_page`."""
    begin = page.find(_BEGIN)
    end = page.rfind(_END)
    return page[begin + len(_BEGIN) : end] if 0 <= begin < end else page
