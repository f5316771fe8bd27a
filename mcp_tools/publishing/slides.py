"""An article as slides (.pptx), made of its own headings, lists, tables and pictures."""

from importlib.util import find_spec

from .errors import MissingExtraError
from .html import Page
from .outline import outline_of


def make_slides(page: Page) -> bytes:
    """Make a presentation: a title, and a slide for each `h2`, more where it is long.

    Raises:
        MissingExtraError: python-pptx is not installed.
    """
    if find_spec("pptx") is None:
        raise MissingExtraError(format="PPTX")
    from .deck import Deck

    return Deck(outline_of(page)).to_pptx()
