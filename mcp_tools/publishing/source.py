"""Extraction of HTML from a model's text: a document, a fragment, a fenced block, or Markdown.

The HTML is returned as the model wrote it; it is not safe. No pattern scans the same characters
from many starting points, since a text may be as long as an article, and crafted to keep a pattern
busy for hours.
"""

import re

from .errors import MissingExtraError, TooIntricateError

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_WRAPPED_MARKDOWN = re.compile(
    r"\A\s*(`{3,})(?:markdown|md)[ \t]*\n(.*?)\n?\1\s*+\Z", re.DOTALL | re.IGNORECASE
)
_HTML_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*html?[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_DOCUMENT = re.compile(r"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_DOCUMENT_END = re.compile(r"</html\s*>", re.IGNORECASE)
_BLOCK = (
    "article|aside|body|div|figure|footer|h[1-6]|header|main|nav|ol|p|section|style|table|title|ul"
)
_FRAGMENT = re.compile(rf"^[ \t]*<(?:{_BLOCK})(?:\s[^<>]*)?>", re.MULTILINE | re.IGNORECASE)
_BLOCK_END = re.compile(rf"</(?:{_BLOCK})\s*>", re.IGNORECASE)
_PRE = re.compile(r"<pre[\s>].*?(?:</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKDOWN_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_MOSTLY = 0.6
_SIGNS = "[]<>!*_`~&|\\\n"
"""Characters at which a Markdown parser stops; embedded images contain none of them."""
_MOST_SIGNS = 500_000


def html_of(written: str) -> str:
    """Find the article in a reply.

    Raises:
        MissingExtraError: it is Markdown, and markdown-it-py is not installed.
        TooIntricateError: it is Markdown that its parser would need minutes for.
    """
    text = _THOUGHT.sub("", written)
    if wrapped := _WRAPPED_MARKDOWN.match(text):
        text = wrapped[2]
    for find in (_document, _fenced, _fragment):
        if (found := find(text)) is not None:
            return found
    return _from_markdown(text)


def _document(text: str) -> str | None:
    begin = _DOCUMENT.search(text)
    if begin is None or _MARKDOWN_HEADING.search(text[: begin.start()]):
        return None
    if ends := list(_DOCUMENT_END.finditer(text, begin.end())):
        return text[begin.start() : ends[-1].end()]
    return _until_fence(text, begin.start()) if _HTML_FENCE.search(text) else text[begin.start() :]


def _fenced(text: str) -> str | None:
    """The block of HTML in a reply; not where it is an example in an article of Markdown."""
    begin = _HTML_FENCE.search(text)
    if begin is None or _MARKDOWN_HEADING.search(_FENCE.sub(_blank, text)):
        return None
    return _until_fence(text, begin.end())


def _fragment(text: str) -> str | None:
    """A piece of HTML that is most of the reply."""
    without_code = _PRE.sub(_blank, _FENCE.sub(_blank, text))
    begin = _FRAGMENT.search(without_code)
    if begin is None or _MARKDOWN_HEADING.search(without_code):
        return None
    end = max((one.end() for one in _BLOCK_END.finditer(without_code)), default=len(text))
    fragment = text[begin.start() : end]
    return fragment if len(fragment) > _MOSTLY * len(text.strip()) else None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _until_fence(text: str, begin: int) -> str:
    end = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE).search(text, begin)
    return text[begin : end.start() if end else len(text)]


def _from_markdown(text: str) -> str:
    if sum(map(text.count, _SIGNS)) > _MOST_SIGNS:
        raise TooIntricateError
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError(format="HTML") from error
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    html: str = markdown.render(text)
    return html
