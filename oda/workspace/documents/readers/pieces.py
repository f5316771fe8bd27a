"""A document as pieces of Markdown, and what is taken of them."""

from collections.abc import Iterable, Iterator, Sequence

MAX_CELL = 500
"""Most characters of a table's cell that are shown."""


class UnreadableError(Exception):
    """Raised when a file cannot be read.

    `code` is the reason, `found` the actual type of the file.
    """

    def __init__(self, code: str, found: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.found = found


def take(pieces: Iterable[str], offset: int, limit: int) -> tuple[str, bool]:
    """Return `limit` characters from `offset` on, and whether there are more.

    Pieces behind that are not made.
    """
    taken: list[str] = []
    position, end = 0, offset + limit
    for piece in _separated(pieces):
        taken.append(piece[max(0, offset - position) : max(0, end - position)])
        position += len(piece)
        if position > end:
            return "".join(taken), True
    return "".join(taken), False


def _separated(pieces: Iterable[str]) -> Iterator[str]:
    separator = ""
    for piece in pieces:
        if text := piece.strip("\n"):
            yield separator + text
            separator = "\n\n"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; its first row is the head."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    shown = " ".join(text.split()) if len(text) <= MAX_CELL else text[:MAX_CELL] + " […]"
    return shown.replace("|", "\\|").replace("\n", " ")
