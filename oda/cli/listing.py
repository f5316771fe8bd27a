"""Plain lines on stdout."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from oda.cli.narration import printable


def print_lines(lines: Iterable[str | Text]) -> None:
    """Print lines without wrapping or terminal control characters, and as plain text if piped."""
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in lines:
        console.print(printable(line) if isinstance(line, str) else line)
