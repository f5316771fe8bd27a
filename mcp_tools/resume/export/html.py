"""A resume as one page of HTML: no script, nothing loaded from elsewhere, fit to print."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from .errors import MissingExtraError
from .page import Page
from .themes import THEMES

if TYPE_CHECKING:
    from jinja2 import Template


def to_html(page: Page, template: str) -> bytes:
    """Write a page as HTML in UTF-8, everything escaped; `template` names a style sheet."""
    css = (THEMES / f"{template}.css").read_text("utf-8")
    digest = b64encode(sha256(css.encode()).digest()).decode()
    return _page_template().render(page=page, theme=template, css=css, css_hash=digest).encode()


@cache
def _page_template() -> "Template":
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError(format="HTML") from error
    environment = Environment(
        loader=FileSystemLoader(THEMES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html")
