"""An article as slides (.pptx), made of its own headings, lists, tables and pictures."""

import re
from importlib.util import find_spec

from .errors import MissingExtraError, TextTooLongError
from .html import Page
from .outline import outline_of

MAX_CHARACTERS = 200_000
"""Maximum length of the article without its images; its layout takes seconds."""

_IMAGES = re.compile(r"data:[^\"]*")


def make_slides(page: Page) -> bytes:
    """Create a presentation: a title, and a slide for each `h2`, or several if it is long.

    Raises:
        MissingExtraError: python-pptx is not installed.
        TextTooLongError: the article exceeds `MAX_CHARACTERS`.
    """
    if (length := len(_IMAGES.sub("", page.body))) > MAX_CHARACTERS:
        raise TextTooLongError(length=length, limit=MAX_CHARACTERS)
    if find_spec("pptx") is None:
        raise MissingExtraError(format="PPTX")
    from .deck import Deck

    return Deck(outline_of(page)).to_pptx()
