"""Preloading of data for which the first recitation would otherwise wait."""

from .compare import compare
from .library import texts
from .likeness import is_recitation
from .sounds import sounds_of
from .tips import memory_tips


def warm_up() -> None:
    """Load the data and the sounds of the common characters, those of GB 2312; takes 0.2 s."""
    for row in range(0xB0, 0xF8):
        for cell in range(0xA1, 0xFF):
            for character in bytes((row, cell)).decode("gb2312", errors="ignore"):
                sounds_of(character)
    first = texts()[0].text
    memory_tips(compare(first, "").errors, first)
    is_recitation(first, first)
