"""Sources of the translation programs for a sandbox, and their arguments."""

from functools import cache
from pathlib import PurePosixPath
from typing import Literal, get_args

from mcp_tools.apart import sources_of

Kind = Literal["docx", "xlsx", "pdf"]

_PROGRAMS = "mcp_tools.translation.programs"
_MAIN = "import sys; from programs.translator import main; main(*sys.argv[1:])"


def kind_of(path: str) -> Kind | None:
    """The kind of a document by its suffix; None if it cannot be translated."""
    suffix = PurePosixPath(path).suffix.lower().removeprefix(".")
    return next((kind for kind in get_args(Kind) if kind == suffix), None)


@cache
def program() -> tuple[str, dict[str, str]]:
    """The main program, and the sources of its modules by name; see `programs/translator.py`.

    It is called with `segments KIND SOURCE OUT`, `apply KIND SOURCE TEXTS TARGET` or `preview KIND
    SOURCE OUT`, paths relative to its working directory, and needs lxml, openpyxl, pdfminer, pypdf,
    reportlab, fontTools and pypdfium2, each for its kind only.
    """
    return _MAIN, sources_of(_PROGRAMS)
