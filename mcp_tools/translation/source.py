"""The programs that translate, as sources for a sandbox, and what they need to be told."""

from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Literal, get_args

Kind = Literal["docx", "xlsx", "pdf"]

_PROGRAMS = "mcp_tools.translation.programs"
_MAIN = "translator"


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
    names = (PurePosixPath(file.name) for file in resources.files(_PROGRAMS).iterdir())
    modules = {name.stem for name in names if name.suffix == ".py"} - {"__init__", _MAIN}
    return _source(_MAIN), {name: _source(name) for name in sorted(modules)}


def _source(name: str) -> str:
    """A module as it runs there, where they lie side by side, without a package."""
    text = (resources.files(_PROGRAMS) / f"{name}.py").read_text("utf-8")
    return text.replace("from .", "from ")
