"""Conversion of a model's text to a self-contained HTML page without scripts.

The page is the same for the same input. The sanitizer runs last: everything added around its output
is our own, and escaped.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape, unescape
from pathlib import Path

from .allowed import keep_safe, keep_structure
from .errors import NothingToPublishError, TextTooLongError, TooIntricateError
from .images import Resolve
from .language import language_of
from .naming import name_page, summary_of
from .references import References
from .source import html_of
from .tree import VOID, Element, parse
from .typesetting import fit_text, one_line

MAX_CHARACTERS = 30 * 2**20
"""Maximum size of a model's text, including embedded images, in characters."""
_LANG = re.compile(r"<html\b[^<>]*?\slang\s*=\s*[\"']?([A-Za-z0-9-]+)", re.IGNORECASE)
_SVG_TAG = re.compile(r"<(/?)svg(?=[\s>/])[^<>]*?(/?)>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)", re.IGNORECASE)
_CLOSED_BY_OTHERS = VOID | {"p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead", "tfoot"}
_REOPENED = frozenset(
    {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "u"}
)
"""Elements that the parser opens again in each block, until they are closed."""
_DEEPEST = 500
_MOST_ELEMENTS = 300_000
_IN_PAGE = "data:image/svg+xml;base64,"


@dataclass(frozen=True)
class Page:
    """A page, ready to be shown, and what lists say about it."""

    title: str
    """One line of at most 200 characters."""
    summary: str
    """The first paragraph, at most 300 characters; may be empty."""
    language: str
    """BCP 47, such as `zh` or `en-GB`."""
    html: str
    """A whole document."""
    body: str
    """The article in it, safe by itself."""


Amend = Callable[[Element, str], None]
"""Changes an article, given its language."""


def nothing(name: str) -> bytes | None:
    """There are no files."""
    return None


def make_page(
    written: str,
    *,
    resolve: Resolve = nothing,
    files: Collection[str] = (),
    title: str | None = None,
    amend: Amend | None = None,
) -> Page:
    """Make a page of a document, a fragment, a fenced block with words around it, or Markdown.

    Args:
        written: What the model wrote.
        resolve: Gives the images that it names.
        files: Files that will lie beside the article; links to others are taken out.
        title: For an article that does not say what it is called.
        amend: Changes the article when all in it has been settled; it is made safe afterwards.

    Raises:
        NothingToPublishError: it shows nothing.
        TextTooLongError: it is longer than `MAX_CHARACTERS`.
        TooIntricateError: it has too many elements, or too many in one another.
        MissingExtraError: the extra `researcher` is not installed.
    """
    if len(written) > MAX_CHARACTERS:
        raise TextTooLongError(length=len(written), limit=MAX_CHARACTERS)
    source = _drawings_as_images(html_of(fit_text(written)))
    _check_work(source)
    root = parse(keep_structure(source))
    text = root.text()
    if not text and root.find("img") is None:
        raise NothingToPublishError
    declared = _LANG.search(source)
    language = language_of(text, declared[1] if declared else None)
    References(resolve, files, language).settle(root)
    heading = name_page(root, source, title, language)
    summary = summary_of(root)
    if amend is not None:
        amend(root, language)
    body = keep_safe(root.inner_html())
    return Page(heading, summary, language, _document(heading, summary, language, body), body)


def _check_work(html: str) -> None:
    """A look at what parsing will take, which for hostile HTML grows with its square."""
    depth = reopened = elements = 0
    for tag in _TAG.finditer(html):
        name, step = tag[2].lower(), -1 if tag[1] else 1
        if name not in _CLOSED_BY_OTHERS:
            depth = max(0, depth + step)
        if name in _REOPENED:
            reopened = max(0, reopened + step)
        elements += 1 + reopened
        if depth > _DEEPEST or elements > _MOST_ELEMENTS:
            raise TooIntricateError


def _drawings_as_images(html: str) -> str:
    """Replace each inline SVG by an image."""
    parts: list[str] = []
    done = depth = begin = 0
    for tag in _SVG_TAG.finditer(html):
        if not tag[1] and not tag[2]:
            begin = tag.start() if depth == 0 else begin
            depth += 1
        elif tag[1] and depth:
            depth -= 1
            if depth == 0:
                parts += [html[done:begin], _image_of(html[begin : tag.end()])]
                done = tag.end()
    return "".join((*parts, html[done:]))


def _image_of(svg: str) -> str:
    label = re.search(r"<title[^<>]*>([^<]*)</title>|\saria-label=\"([^\"]*)\"", svg)
    name = escape(one_line(unescape((label[1] or label[2] or "") if label else "")))
    return f'<img alt="{name}" src="{_IN_PAGE}{b64encode(svg.encode()).decode()}">'


def _document(title: str, summary: str, language: str, body: str) -> str:
    css, policy = _style()
    return f"""<!doctype html>
<html lang="{escape(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="description" content="{escape(summary)}">
<title>{escape(title)}</title>
<style>{css}</style>
</head>
<body>
<article>
{body}
</article>
</body>
</html>
"""


@cache
def _style() -> tuple[str, str]:
    """Our style sheet, and the policy that allows nothing else."""
    css = Path(__file__).with_name("article.css").read_text("utf-8")
    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src 'sha256-{digest}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return css, policy
