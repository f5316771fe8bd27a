"""Plain lines on stdout."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from oda.cli.narration import printable


def print_lines(lines: Iterable[str | Text]) -> None:
    """Print lines that a pipe gets as they are, and by which nobody can steer a terminal."""
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in lines:
        console.print(printable(line) if isinstance(line, str) else line)
