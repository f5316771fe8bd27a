"""The programs of ours that run inside of sandboxes: they are sent there as text."""

from functools import cache
from pathlib import Path
from typing import Literal


@cache
def source_of(program: Literal["boot", "warm_up", "hostile", "carrier"]) -> str:
    """The source of a program of this package; a frozen host must ship it as a file."""
    return Path(__file__).with_name(f"{program}.py").read_text(encoding="utf-8")
